// One TCP NewReno flow over an 802.11b chain on fixed routes, with the models that ns-3.37 brings along.
// chain --hops=7 --rate=2 --window=3 --seconds=30 --seed=1 prints "delivered SEGMENTS goodput_kbps RATE".
//
// 200 m spacing, two-ray ground; frames below 250 m's power are not locked on, energy above 550 m's power is sensed.
// For the comparison of speed only: reception follows ns-3's DSSS error model, not ns-2's rules.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <iostream>

using namespace ns3;

namespace
{

struct Options
{
    uint32_t hops = 7;
    uint32_t rate = 2; // Mbit/s: 1, 2 or 11
    uint32_t window = 3;
    double seconds = 30;
    uint32_t seed = 1;
};

const uint32_t kSegmentBytes = 1460;
const double kDecodeDbm = -64.37; // 250 m
const double kSenseDbm = -78.07;  // 550 m

Options
Parse(int argc, char* argv[])
{
    Options options;
    CommandLine command;
    command.AddValue("hops", "hops", options.hops);
    command.AddValue("rate", "data rate in Mbit/s", options.rate);
    command.AddValue("window", "window in segments", options.window);
    command.AddValue("seconds", "simulated seconds", options.seconds);
    command.AddValue("seed", "run number", options.seed);
    command.Parse(argc, argv);
    return options;
}

void
SetDefaults(const Options& options)
{
    RngSeedManager::SetRun(options.seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(options.window * kSegmentBytes));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("50p")));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(0));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(7));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSlrc", UintegerValue(4));
    Config::SetDefault("ns3::ThresholdPreambleDetectionModel::MinimumRssi", DoubleValue(kDecodeDbm));
}

void
Place(const NodeContainer& nodes)
{
    auto positions = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < nodes.GetN(); ++i)
    {
        positions->Add(Vector(200.0 * i, 0, 1.5));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
}

NetDeviceContainer
InstallWifi(const NodeContainer& nodes, const Options& options)
{
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::TwoRayGroundPropagationLossModel", "Frequency", DoubleValue(914e6));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("TxPowerStart", DoubleValue(24.5));
    phy.Set("TxPowerEnd", DoubleValue(24.5));
    phy.Set("RxSensitivity", DoubleValue(kSenseDbm));
    phy.Set("CcaEdThreshold", DoubleValue(kSenseDbm));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("DsssRate" + std::to_string(options.rate) + "Mbps"),
                                 "ControlMode",
                                 StringValue("DsssRate1Mbps"));
    return wifi.Install(phy, mac, nodes);
}

// Addresses and, at every node, a route through its neighbour towards either end.
Ipv4InterfaceContainer
InstallRoutes(const NodeContainer& nodes, const NetDeviceContainer& devices)
{
    Ipv4StaticRoutingHelper routing;
    InternetStackHelper internet;
    internet.SetRoutingHelper(routing);
    internet.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    auto interfaces = addresses.Assign(devices);
    const uint32_t last = nodes.GetN() - 1;
    for (uint32_t i = 0; i <= last; ++i)
    {
        auto table = routing.GetStaticRouting(nodes.Get(i)->GetObject<Ipv4>());
        if (i + 1 < last)
        {
            table->AddHostRouteTo(interfaces.GetAddress(last), interfaces.GetAddress(i + 1), 1);
        }
        if (i > 1)
        {
            table->AddHostRouteTo(interfaces.GetAddress(0), interfaces.GetAddress(i - 1), 1);
        }
    }
    return interfaces;
}

} // namespace

int
main(int argc, char* argv[])
{
    const Options options = Parse(argc, argv);
    SetDefaults(options);
    NodeContainer nodes(options.hops + 1);
    Place(nodes);
    auto interfaces = InstallRoutes(nodes, InstallWifi(nodes, options));

    const uint16_t port = 5000;
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(options.hops), port));
    source.SetAttribute("SendSize", UintegerValue(kSegmentBytes));
    source.Install(nodes.Get(0)).Start(Seconds(1));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    auto sinks = sink.Install(nodes.Get(options.hops));

    Simulator::Stop(Seconds(1 + options.seconds));
    Simulator::Run();
    const uint64_t bytes = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    std::cout << "delivered " << bytes / kSegmentBytes << " goodput_kbps " << bytes * 0.008 / options.seconds << "\n";
    Simulator::Destroy();
    return 0;
}
