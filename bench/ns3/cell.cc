// A saturated cell of 802.11n: stations on a circle of 10 m around their receiver, with the models of ns-3.37.
// cell --stations=10 --seconds=10 --seed=1 prints "delivered PACKETS goodput_kbps RATE".
//
// 20 MHz, MCS 7, long guard interval, A-MPDUs of up to 64 packets, no RTS, UDP packets of 1460 bytes. Each station is
// offered 8 Mbit/s, which is more than its share: the rest is dropped at its queue, above the MAC.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <iostream>

using namespace ns3;

namespace
{

const uint32_t kPayloadBytes = 1460;
const char* const kOffered = "8Mbps";
const double kStart = 1;

NetDeviceContainer
InstallWifi(const NodeContainer& nodes)
{
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::LogDistancePropagationLossModel");
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "BE_MaxAmpduSize", UintegerValue(65535));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211n);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("HtMcs7"),
                                 "ControlMode",
                                 StringValue("OfdmRate6Mbps"));
    return wifi.Install(phy, mac, nodes);
}

void
Place(const NodeContainer& nodes)
{
    auto positions = CreateObject<ListPositionAllocator>();
    positions->Add(Vector(0, 0, 0));
    const uint32_t stations = nodes.GetN() - 1;
    for (uint32_t i = 0; i < stations; ++i)
    {
        const double angle = 2 * M_PI * i / stations;
        positions->Add(Vector(10 * std::cos(angle), 10 * std::sin(angle), 0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t stations = 10;
    double seconds = 10;
    uint32_t seed = 1;
    CommandLine command;
    command.AddValue("stations", "stations", stations);
    command.AddValue("seconds", "simulated seconds", seconds);
    command.AddValue("seed", "run number", seed);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("100p")));

    NodeContainer nodes(stations + 1);
    Place(nodes);
    auto devices = InstallWifi(nodes);
    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    auto interfaces = addresses.Assign(devices);

    const uint16_t port = 5000;
    const InetSocketAddress receiver(interfaces.GetAddress(0), port);
    PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    auto sinks = sink.Install(nodes.Get(0));
    OnOffHelper source("ns3::UdpSocketFactory", receiver);
    source.SetConstantRate(DataRate(kOffered), kPayloadBytes);
    for (uint32_t i = 1; i <= stations; ++i)
    {
        source.Install(nodes.Get(i)).Start(Seconds(kStart));
    }

    Simulator::Stop(Seconds(kStart + seconds));
    Simulator::Run();
    const uint64_t bytes = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    std::cout << "delivered " << bytes / kPayloadBytes << " goodput_kbps " << bytes * 0.008 / seconds << "\n";
    Simulator::Destroy();
    return 0;
}
