# What every script here shares: options, the radio, nodes, TCP and UDP flows. For ns-2 2.35 (Debian: apt install ns2).

# options {name default ...} -> global array opt, overridden by "-name value" on the command line
proc options {defaults} {
    global opt argv
    array set opt $defaults
    foreach {flag value} $argv {
        set name [string range $flag 1 end]
        if {![info exists opt($name)]} { puts stderr "unknown option $flag; known: [lsort [array names opt]]"; exit 2 }
        set opt($name) $value
    }
}

# Received power of ns-2's two-ray ground model in W at a distance in m, as this machine's ns computes it: a sense
# range is set through the threshold that just admits that distance.
proc two_ray_power {distance_m} {
    set height_m 1.5
    set wavelength_m [expr 299792458.0 / 914e6]
    set pi [expr acos(-1)]
    set power_w 0.28183815
    if {$distance_m < 4 * $pi * $height_m * $height_m / $wavelength_m} {
        return [expr $power_w * pow($wavelength_m / (4 * $pi * $distance_m), 2)]
    }
    return [expr $power_w * pow($height_m, 4) / pow($distance_m, 4)]
}

# air rate_mbps on|off sense_m: 802.11b with long preamble, control frames at 1 Mbit/s, retry limits 7 and 4
proc air {rate_mbps rts sense_m} {
    Mac/802_11 set dataRate_ ${rate_mbps}e6
    Mac/802_11 set basicRate_ 1e6
    Mac/802_11 set RTSThreshold_ [expr {$rts == "on" ? 0 : 3000}]
    if {$sense_m == 250} {
        Phy/WirelessPhy set CSThresh_ [Phy/WirelessPhy set RXThresh_]
    } elseif {$sense_m != 550} {
        Phy/WirelessPhy set CSThresh_ [expr 0.9999 * [two_ray_power $sense_m]]
    }
}

# simulator seed trace_file: an empty name traces nothing
proc simulator {seed trace} {
    global ns
    ns-random $seed
    set ns [new Simulator]
    $ns trace-all [open [expr {$trace == "" ? "/dev/null" : $trace}] w]
}

# wireless_nodes positions routing: positions is a flat list x y x y ...; routing aodv, none (neighbours only) or
# static. ns-2 has no static routes for radios: static is DSDV with link-failure detection off and routes that never
# time out, which falls silent before second 100: start the traffic there. It adds a second IP header to TCP, which is
# taken away beforehand, so frames are as long as under AODV.
proc wireless_nodes {positions routing} {
    global ns node opt
    array set agent {aodv AODV none DumbAgent static DSDV}
    set topo [new Topography]
    $topo load_flatgrid 20000 20000
    set n [expr [llength $positions] / 2]
    create-god $n
    if {$routing == "static"} {
        Agent/DSDV set use_mac_ 0
        Agent/DSDV set min_update_periods_ 1000000
        Agent/DSDV set perup_ 2
        Agent/DSDV set wst0_ 1
        Agent/TCP set tcpip_base_hdr_size_ 20
        Agent/TCPSink set packetSize_ 20
        $ns at 90.0 {foreach i [array names node] { [$node($i) set ragent_] set perup_ 1e9 }}
    }
    $ns node-config -adhocRouting $agent($routing) -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue \
        -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
        -channel [new Channel/WirelessChannel] -topoInstance $topo -macTrace OFF -movementTrace OFF \
        -agentTrace [expr {[info exists opt(agents)] ? $opt(agents) : "OFF"}] \
        -routerTrace [expr {[info exists opt(trace)] && $opt(trace) != "" ? "ON" : "OFF"}]
    set i 0
    foreach {x y} $positions {
        set node($i) [$ns node]
        $node($i) random-motion 0
        $node($i) set X_ [expr 10.0 + $x]
        $node($i) set Y_ [expr 10.0 + $y]
        $node($i) set Z_ 0
        incr i
    }
}

# tcp_flow source destination window start_s -> agent: NewReno, 1460-byte segments, an ACK per segment, backlogged;
# sink_of($agent) is its receiver
proc tcp_flow {source destination window start_s} {
    global ns node sink_of
    set tcp [new Agent/TCP/Newreno]
    $tcp set packetSize_ 1460
    $tcp set window_ $window
    set sink [new Agent/TCPSink]
    $ns attach-agent $node($source) $tcp
    $ns attach-agent $node($destination) $sink
    $ns connect $tcp $sink
    set sink_of($tcp) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start_s "$ftp start"
    return $tcp
}

# udp_flow source destination start_s payload -> sink: one packet at second 0.1 (it resolves ARP), then 12 Mbit/s of packets of
# `payload` bytes
proc udp_flow {source destination start_s payload} {
    global ns node
    set udp [new Agent/UDP]
    $udp set packetSize_ $payload
    set sink [new Agent/LossMonitor]
    $ns attach-agent $node($source) $udp
    $ns attach-agent $node($destination) $sink
    $ns connect $udp $sink
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $payload
    $cbr set rate_ 12Mb
    $cbr attach-agent $udp
    $ns at [expr 0.1 + 0.1 * $source] "$udp send $payload"
    $ns at $start_s "$cbr start"
    return $sink
}
