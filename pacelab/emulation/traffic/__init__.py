"""Traffic of real hosts: iperf3, datagrams, voice."""
