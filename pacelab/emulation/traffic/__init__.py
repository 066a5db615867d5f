"""What real hosts send: iperf3, datagrams, voice."""
