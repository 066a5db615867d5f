# TCP NewReno flows over any layout, AODV. ns layout.tcl -file F -rate 11 -window 32 -seed 1 -seconds 60
# F: a Tcl list of lines "node X Y" (in m) and "flow SOURCE DESTINATION START_S".
# Prints the delivered segments of each flow, in the file's order, at the given second.
source [file join [file dirname [info script]] common.tcl]
options {file layout.txt rate 11 window 32 seed 1 seconds 60 rts on routing aodv trace ""}
set positions {}
set flows {}
set input [open $opt(file)]
while {[gets $input line] >= 0} {
    if {[lindex $line 0] == "node"} { lappend positions [lindex $line 1] [lindex $line 2] }
    if {[lindex $line 0] == "flow"} { lappend flows [lrange $line 1 end] }
}
air $opt(rate) $opt(rts) 550
simulator $opt(seed) $opt(trace)
wireless_nodes $positions $opt(routing)
set agents {}
foreach flow $flows { lappend agents [tcp_flow [lindex $flow 0] [lindex $flow 1] $opt(window) [lindex $flow 2]] }
$ns at $opt(seconds) {
    puts -nonewline "delivered"
    foreach tcp $agents { puts -nonewline " [expr [$tcp set ack_] > 0 ? [$tcp set ack_] : 0]" }
    puts ""
    $ns flush-trace
    exit 0
}
$ns run
