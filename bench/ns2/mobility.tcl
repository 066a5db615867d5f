# CBR flows between nodes that walk, AODV. ns mobility.tcl -walks W -nodes 20 -flows "0 5 3 7" -rate 2 -seed 1 -seconds 200
# W: a file of ns-2's setdest. Prints the packets that each flow has delivered at the given second.
source [file join [file dirname [info script]] common.tcl]
options {walks "" nodes 20 flows "" rate 2 payload 1000 interval 0.1 seed 1 seconds 200 rts on}
air $opt(rate) $opt(rts) 550
simulator $opt(seed) ""
set positions {}
for {set i 0} {$i < $opt(nodes)} {incr i} { lappend positions $i $i }
wireless_nodes $positions aodv
set ns_ $ns
set god_ [God instance]
for {set i 0} {$i < $opt(nodes)} {incr i} { set node_($i) $node($i) }
source $opt(walks)
set sinks {}
set start_s 1.0
foreach {source destination} $opt(flows) {
    set udp [new Agent/UDP]
    $udp set packetSize_ $opt(payload)
    set sink [new Agent/LossMonitor]
    $ns attach-agent $node($source) $udp
    $ns attach-agent $node($destination) $sink
    $ns connect $udp $sink
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $opt(payload)
    $cbr set interval_ $opt(interval)
    $cbr attach-agent $udp
    $ns at $start_s "$cbr start"
    set start_s [expr $start_s + 0.01]
    lappend sinks $sink
}
$ns at $opt(seconds) {
    puts -nonewline "delivered"
    foreach sink $sinks { puts -nonewline " [$sink set npkts_]" }
    puts ""
    exit 0
}
$ns run
