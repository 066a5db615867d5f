"""The wired side as a software-defined network: an OpenFlow 1.3 controller that knows flows, calls and stations.

    commands       `pacelab controller`
    network_file   the file of --network
    switches/      Open vSwitch in a private folder; the self-test
    web/           REST (OpenAPI), the event stream and the page, on loopback with a token
    openflow/      the controller as an os-ken (Ryu) application: messages to events, actions to messages
    core/          what the controller knows and decides, without I/O and without a clock: events in, actions out
      controller   handle, poll_action, deadline, handle_timeout
      forwarding   rules for flows, in a safe order; ARP between hosts
      policy       scheme and limits of each gateway
      flows        flows with class (TCP, voice, other), rules, counters and rates
      network      switches, ports, links (found by LLDP), shortest paths; which address is where
      frames       Ethernet, ARP, IPv4, TCP, UDP, LLDP: bytes to fields and back
      messages     events and actions; the journal of what happened, which streams read

Each part imports only parts below it (import-linter checks this).

Invariants
1. Nothing is flooded over a link between switches: a packet with an unknown destination leaves only on ports with
   hosts. So a ring of switches has no loop, and no spanning tree is needed.
2. A packet with a known destination meets the rules of one path at a time. A rule that changes is replaced by one
   message, and new rules are installed before old ones are removed. So nothing is lost and nothing is sent twice.
3. All memory is bounded. Flows beyond the limit are forwarded by address pair and counted.
4. Rules stay in the switches when the controller ends. A new controller finds them.
5. Messages from switches and hosts are claims: malformed or contradictory ones are counted, and refused with a reason
   in the journal.
"""
