# TCP NewReno between wireless nodes and hosts behind wires. ns hybrid.tcl -nodes "0 0 200 0" -flows "0 1 up" -wires 3
# nodes: x y ... in m; flows: wireless end, gateway, up (to the host) or down (from it) ...; each flow has a wire of its
# own behind its gateway: so many links of 10 Mbit/s and 40 ms, with a drop-tail queue of 50 packets at each. A wire is
# Queues and DelayLinks between the gateway's node and an agent there: ns-2's wired nodes would need its hierarchical
# addresses, which change the routing. Measured over `seconds` after `warmup`, which counts from the flows' start.
# Prints the segments acknowledged in that time, per flow. For studies: sense in m, basic (rate of control frames, Mbit/s),
# minrto and tick of TCP's timer in s, and by how many s each flow starts later than the one before it.
source [file join [file dirname [info script]] common.tcl]
options {nodes "0 0 200 0" flows "0 1 up" wires 3 rate 11 window 64 seed 1 warmup 20 seconds 100 rts on routing static
    sense 550 basic 1 minrto 0.2 tick 0.01 later 0}
air $opt(rate) $opt(rts) $opt(sense)
Mac/802_11 set basicRate_ $opt(basic)e6
Agent/TCP set minrto_ $opt(minrto)
Agent/TCP set tcpTick_ $opt(tick)
simulator $opt(seed) ""
wireless_nodes $opt(nodes) $opt(routing)

# wire links target -> where packets enter: links of 10 Mbit/s and 40 ms, the last of which ends at the target
proc wire {links target} {
    for {set i 0} {$i < $links} {incr i} {
        set link [new DelayLink]
        $link set bandwidth_ 10Mb
        $link set delay_ 40ms
        $link target $target
        set target [new Queue/DropTail]
        $target set limit_ 50
        $target target $link
        $target drop-target [new Agent/Null]
    }
    return $target
}

# hang_behind agent gateway links: what it sends and what is sent to it crosses a wire
proc hang_behind {agent gateway links} {
    [$gateway demux] install [$agent set agent_port_] [wire $links $agent]
    $agent target [wire $links [$gateway entry]]
}

set start [expr {$opt(routing) == "static" ? 100.0 : 1.0}]
set agents {}
foreach {end gateway direction} $opt(flows) {
    set ends [expr {$direction == "up" ? [list $end $gateway] : [list $gateway $end]}]
    set tcp [tcp_flow [lindex $ends 0] [lindex $ends 1] $opt(window) [expr $start + $opt(later) * [llength $agents]]]
    hang_behind [expr {$direction == "up" ? $sink_of($tcp) : $tcp}] $node($gateway) $opt(wires)
    lappend agents $tcp
}
proc acknowledged {tcp} { return [expr [$tcp set ack_] > 0 ? [$tcp set ack_] : 0] }
$ns at [expr $start + $opt(warmup)] { foreach tcp $agents { set before($tcp) [acknowledged $tcp] } }
$ns at [expr $start + $opt(warmup) + $opt(seconds)] {
    puts -nonewline "acknowledged"
    foreach tcp $agents { puts -nonewline " [expr [acknowledged $tcp] - $before($tcp)]" }
    puts ""
    exit 0
}
$ns run
