# One TCP NewReno flow over a chain. ns chain.tcl -hops 7 -rate 2 -window 3 -seed 1 -seconds 300
# Prints: delivered segments, goodput in kbit/s over the seconds after the start, retransmitted segments.
source [file join [file dirname [info script]] common.tcl]
options {hops 7 rate 2 window 3 seed 1 seconds 300 routing aodv rts on spacing 200 trace ""}
air $opt(rate) $opt(rts) 550
simulator $opt(seed) $opt(trace)
set positions {}
for {set i 0} {$i <= $opt(hops)} {incr i} { lappend positions [expr $i * $opt(spacing)] 0 }
wireless_nodes $positions $opt(routing)
set start [expr {$opt(routing) == "static" ? 100.0 : 1.0}]
set tcp [tcp_flow 0 $opt(hops) $opt(window) $start]
$ns at [expr $start + $opt(seconds)] finish
proc finish {} {
    global tcp opt ns
    set acked [expr [$tcp set ack_] > 0 ? [$tcp set ack_] : 0]
    $ns flush-trace
    puts "delivered $acked goodput_kbps [expr $acked * 11.68 / $opt(seconds)] retransmitted [$tcp set nrexmitpack_]"
    exit 0
}
$ns run
