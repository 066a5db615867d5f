"""The wired side as a software-defined network: an OpenFlow 1.3 controller that knows flows, calls and stations.

    core/      what it knows and decides; no I/O and no clock: events in, actions out
      brain      the one door: handle, poll_action, deadline, handle_timeout
      network    switches, ports, links (found by LLDP), shortest paths; which address is where
      flows      flows with class (TCP, voice, other), rules and counters; rates
      forwarding from a flow and the network to rules, in the order in which they are safe; ARP from host to host
      policy     scheme and limits of each gateway
      messages   events and actions; the journal of what happened, which streams read
      frames     Ethernet, ARP, IPv4, TCP, UDP, LLDP: bytes to fields and back
    openflow/  the same as an os-ken (Ryu) application: messages to events, actions to messages
    web/       REST (OpenAPI), the event stream and the page, on loopback with a token
    switches/  Open vSwitch in a private directory; the self test

Invariants
1. Nothing is flooded over a link between switches: what has no known place goes out of ports with hosts only. So a
   ring of switches makes no loop, and no spanning tree is needed.
2. A packet with a place to go meets rules of one path at a time: a rule that changes is replaced by one message;
   new rules stand before old ones go, so nothing is lost and nothing is sent twice.
3. All memory is bounded; what finds no room is forwarded by address pair and counted.
4. Rules outlive the controller. It finds them again when it comes back.
5. What comes from a switch or a host is a claim: malformed or contradictory ones are counted, and refused with a
   reason in the journal.
"""
