# Voice calls along a line. ns calls.tcl -x "0 200 400" -calls "0 2 0.003 0.011" -rate 2 -rts on -sense 550 -seed 1 -trace FILE
# calls: one end, other end, when in the 20 ms each of them sends ...; packets of 60 bytes with IP, UDP and RTP for 20 s from
# second 100 on, over routes as in chain.tcl's static. FILE gets each packet that an agent sends or receives.
source [file join [file dirname [info script]] common.tcl]
options {x "0 200 400" calls "0 2 0.003 0.011" rate 2 rts on sense 550 seed 1 trace "" agents ON}
air $opt(rate) $opt(rts) $opt(sense)
simulator $opt(seed) $opt(trace)
set positions {}
foreach x $opt(x) { lappend positions $x 0 }
wireless_nodes $positions static
# DSDV adds 20 bytes of IP
proc direction {source destination phase_s} {
    global ns node
    set udp [new Agent/UDP]
    $udp set packetSize_ 40
    set sink [new Agent/LossMonitor]
    $ns attach-agent $node($source) $udp
    $ns attach-agent $node($destination) $sink
    $ns connect $udp $sink
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 40
    $cbr set interval_ 0.02
    $cbr attach-agent $udp
    $ns at [expr 100.0 + $phase_s] "$cbr start"
    $ns at 120.0 "$cbr stop"
}
foreach {one other first second} $opt(calls) {
    direction $one $other $first
    direction $other $one $second
}
$ns at 131.0 { $ns flush-trace; exit 0 }
$ns run
