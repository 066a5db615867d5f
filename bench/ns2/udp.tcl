# Saturated UDP between neighbours. ns udp.tcl -x "0 200 600 800" -flows "0 1 2 3" -sense 550 -rate 2 -rts on -seed 1
# x, y: positions in m, without y on a line; flows: source destination ...; payload: bytes in a packet of each flow, without it
# 1460; measured over `seconds` after `warmup` (saturation starts at 3 s).
# Prints one line: kbit/s of payload of each flow.
source [file join [file dirname [info script]] common.tcl]
options {x "0 200 600 800" y "" payload "" flows "0 1 2 3" sense 550 rate 2 rts on seed 1 warmup 6 seconds 20}
air $opt(rate) $opt(rts) $opt(sense)
simulator $opt(seed) ""
set positions {}
foreach x $opt(x) y $opt(y) { lappend positions $x [expr {$y == "" ? 0 : $y}] }
wireless_nodes $positions none
set sinks {}
foreach {source destination} $opt(flows) payload $opt(payload) {
    lappend sinks [udp_flow $source $destination 3.0 [expr {$payload == "" ? 1460 : $payload}]]
}
$ns at $opt(warmup) { foreach sink $sinks { set before($sink) [$sink set bytes_] } }
$ns at [expr $opt(warmup) + $opt(seconds)] {
    puts -nonewline "kbps"
    foreach sink $sinks { puts -nonewline " [expr ([$sink set bytes_] - $before($sink)) * 0.008 / $opt(seconds)]" }
    puts ""
    exit 0
}
$ns run
