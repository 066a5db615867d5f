//! Frames of the kernel's simulated radios: their stations, their rates, and their transmission status for the kernel.

use pacelab_air_config::{Category, Format, GuardInterval, Mode, Width};
use pacelab_engine::{AirConfig, Id, IdVec, Mcs, Packet, PacketId, RateChain, StationId};
use pacelab_hwsim::frame::{Class, Head as RadioHead, mcs_rate_bps, rate_bps};
use pacelab_hwsim::message::{
    ACKED, NO_ACK, STAGE_40_MHZ, STAGE_80_MHZ, STAGE_160_MHZ, STAGE_IS_HT, STAGE_IS_VHT, STAGE_SHORT_GUARD, STAGES,
    Stage,
};

use crate::config::Mac;
use crate::frames::pool::FRAME_BYTES;
use crate::frames::{DropCause, FrameFormat, FrameHead, TxStatus};

/// Bytes that the MAC adds to a frame of the kernel: the FCS.
const OVERHEAD_BYTES: u32 = pacelab_hwsim::frame::FCS_BYTES;
/// A coordinate beyond those of all stations.
const FAR_M: f64 = 1e9;
/// Further addresses of one radio's interfaces.
const ADDRESSES_MAX: usize = 16;
/// LLC and SNAP, before the ethertype.
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];

/// The kernel's data for a frame.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // as pacelab_hwsim::message::Sent has them
pub struct Tag {
    pub transmitter: Mac,
    pub flags: u32,
    pub frequency_mhz: u32,
    pub chain: [Stage; STAGES],
    pub stage_flags: [u16; STAGES],
    pub cookie: u64,
}

impl Tag {
    /// Legacy rate of a stage, or the legacy rate that replaces its MCS.
    pub fn rate_bps(&self, stage: usize) -> Option<u32> {
        let (index, flags) = (self.chain[stage].rate_index, self.stage_flags[stage]);
        if self.is_mcs(stage) {
            mcs_rate_bps(index, flags & STAGE_IS_VHT != 0)
        } else {
            rate_bps(self.frequency_mhz, index)
        }
    }

    /// The MCS of a stage. None if it has none, or one that the air lacks.
    pub fn mcs(&self, stage: usize) -> Option<Mcs> {
        let (index, flags) = (u8::try_from(self.chain[stage].rate_index).ok()?, self.stage_flags[stage]);
        let width = match flags {
            _ if flags & STAGE_160_MHZ != 0 => return None,
            _ if flags & STAGE_80_MHZ != 0 => Width::Mhz80,
            _ if flags & STAGE_40_MHZ != 0 => Width::Mhz40,
            _ => Width::Mhz20,
        };
        let guard_interval = if flags & STAGE_SHORT_GUARD != 0 { GuardInterval::Short } else { GuardInterval::Long };
        let (format, streams, index) = match flags {
            _ if flags & STAGE_IS_VHT != 0 => (Format::Vht, (index >> 4) + 1, index & 15),
            _ if flags & STAGE_IS_HT != 0 => (Format::Ht, index / 8 + 1, index % 8),
            _ => return None,
        };
        Mcs::new(Mode { format, width, streams, guard_interval }, index)
    }

    /// Whether a stage has an MCS, also one that the air lacks.
    pub fn is_mcs(&self, stage: usize) -> bool {
        self.stage_flags[stage] & (STAGE_IS_HT | STAGE_IS_VHT) != 0
    }

    /// The name of the rate of the first attempt.
    pub fn wanted(&self) -> String {
        let Some((stage, Stage { rate_index, .. })) = used(&self.chain).next() else { return "no rate".into() };
        let rate_index = rate_index as u8;
        if self.stage_flags[stage] & STAGE_IS_VHT != 0 {
            format!("VHT MCS {} with {} streams", rate_index & 15, (rate_index >> 4) + 1)
        } else if self.is_mcs(stage) {
            format!("HT MCS {rate_index}")
        } else {
            self.rate_bps(stage).map_or("an unknown rate".into(), |bps| format!("{} Mbit/s", f64::from(bps) / 1e6))
        }
    }

    /// The flags that report the transmission status to the kernel. The kernel counts a frame without ACKED and NO_ACK
    /// as failed, so a frame that was never sent is reported in this way.
    pub fn status_flags(&self, fate: TxStatus) -> u32 {
        match fate {
            TxStatus::Acknowledged => self.flags | ACKED,
            TxStatus::Failed => self.flags,
            TxStatus::Sent | TxStatus::Refused => self.flags | NO_ACK,
        }
    }
}

impl Default for Tag {
    fn default() -> Self {
        let chain = [Stage::UNUSED; STAGES];
        Tag { transmitter: Mac([0; 6]), flags: 0, frequency_mhz: 0, chain, stage_flags: [0; STAGES], cookie: 0 }
    }
}

/// The addresses of all stations.
#[derive(Debug)]
pub struct Radios {
    /// Addresses of each station's interfaces. The first is the configured address. Empty if the station was removed.
    addresses: IdVec<StationId, Vec<Mac>>,
    /// Rates of each station's physical layer, ascending.
    rates_bps: IdVec<StationId, &'static [u32]>,
    /// Whether the air has frames with an MCS of each station.
    high_throughput: IdVec<StationId, bool>,
}

impl Radios {
    /// Stations with these addresses, on a physical layer with these rates.
    pub fn new(macs: impl IntoIterator<Item = Option<Mac>>, rates_bps: &'static [u32]) -> Self {
        let addresses: IdVec<StationId, Vec<Mac>> = macs.into_iter().map(|mac| mac.into_iter().collect()).collect();
        Radios {
            rates_bps: IdVec::filled(rates_bps, addresses.len()),
            high_throughput: IdVec::filled(false, addresses.len()),
            addresses,
        }
    }

    /// Sets the legacy rates of a station's physical layer, and whether its frames may have an MCS.
    pub fn set_rates(&mut self, station: StationId, rates_bps: &'static [u32], high_throughput: bool) {
        self.rates_bps[station] = rates_bps;
        self.high_throughput[station] = high_throughput;
    }

    /// The station with this address.
    pub fn station_of(&self, address: Mac) -> Option<StationId> {
        let place = self.addresses.iter().position(|addresses| addresses.contains(&address));
        place.map(StationId::from_index)
    }

    /// The configured address of a station.
    pub fn address_of(&self, station: StationId) -> Option<Mac> {
        self.addresses[station].first().copied()
    }

    /// Sets the only address of a station, or removes the station.
    pub fn set(&mut self, station: StationId, mac: Option<Mac>) {
        self.addresses[station] = mac.into_iter().collect();
    }

    /// Adds an address to a station.
    pub fn add(&mut self, station: StationId, address: Mac) {
        let addresses = &mut self.addresses[station];
        if !addresses.contains(&address) && addresses.len() < ADDRESSES_MAX {
            addresses.push(address);
        }
    }

    /// Removes an address of a station, unless it is the configured one.
    pub fn remove(&mut self, station: StationId, address: Mac) {
        let mut place = 0;
        self.addresses[station].retain(|&other| {
            place += 1;
            place == 1 || other != address
        });
    }

    /// A station out of reach of all others. Frames to unknown addresses are sent to it.
    pub fn null_station(&self) -> StationId {
        StationId::from_index(self.addresses.len())
    }

    /// The rates on the air for the rates that the kernel requests.
    pub fn rates(&self, station: StationId, tag: &Tag, aggregates: bool) -> Option<RateChain> {
        let own_bps = self.rates_bps[station];
        let mut stages = [(0, 0); STAGES];
        for (place, (number, stage)) in used(&tag.chain).enumerate() {
            if let Some(mcs) = tag.mcs(number).filter(|_| self.high_throughput[station]) {
                stages[place] = (mcs.code(), stage.count);
                continue;
            }
            let wanted = tag.rate_bps(number).unwrap_or(0);
            let rate = own_bps.iter().rev().find(|&&rate| rate <= wanted).or(own_bps.first())?;
            stages[place] = (*rate, stage.count);
        }
        (stages[0].1 > 0).then_some(RateChain { stages, aggregates })
    }
}

/// The air with one more station out of reach of all others, for frames to unknown addresses. A frame of the kernel has
/// all headers except the FCS.
pub fn with_null_station(mut air: AirConfig) -> AirConfig {
    air.positions_m.push([FAR_M, FAR_M]);
    air.data_rates_bps.push(air.radio.basic_rate_bps);
    air.overhead_bytes = Some(OVERHEAD_BYTES);
    air
}

impl FrameFormat for Radios {
    type Tag = Tag;

    fn packet(&self, station: StationId, slot: PacketId, frame: &[u8], tag: &Tag) -> Result<(Packet, bool), DropCause> {
        let head = RadioHead::read(frame).filter(|_| frame.len() < FRAME_BYTES).ok_or(DropCause::Malformed)?;
        let to = if head.is_broadcast() || tag.flags & NO_ACK != 0 {
            None
        } else {
            let receiver = self.station_of(Mac(head.receiver)).filter(|&to| to != station);
            Some(receiver.unwrap_or_else(|| self.null_station()))
        };
        let is_management = head.class == Class::Management;
        let category = match head.priority {
            None if is_management => Category::Voice,
            Some(1 | 2) => Category::Background,
            Some(4 | 5) => Category::Video,
            Some(6 | 7) => Category::Voice,
            _ => Category::BestEffort,
        };
        // Linux aggregates the same frames: QoS data with an MCS, but no voice (net/mac80211/tx.c, ieee80211_aggr_check).
        let has_mcs =
            self.high_throughput[station] && used(&tag.chain).next().is_some_and(|(first, _)| tag.is_mcs(first));
        let aggregates = has_mcs && head.priority.is_some() && !head.is_null && category != Category::Voice;
        let rates = self.rates(station, tag, aggregates);
        Ok((Packet { id: slot, to, bytes: frame.len() as u32, category, rates }, is_management))
    }

    fn identity(&self, station: StationId) -> (String, Option<Mac>) {
        let address = self.addresses.get(station).and_then(|addresses| addresses.first().copied());
        (address.map_or_else(|| format!("station {}", station.0), |address| address.to_string()), address)
    }

    fn is_substituted(&self, station: StationId, tag: &Tag) -> bool {
        let mut wanted = used(&tag.chain).enumerate();
        self.rates(station, tag, false).is_some_and(|chain| {
            wanted.any(|(place, (stage, _))| {
                let rate = if tag.is_mcs(stage) { tag.mcs(stage).map(Mcs::code) } else { tag.rate_bps(stage) };
                rate != Some(chain.stages[place].0)
            })
        })
    }

    fn is_for(&self, station: StationId, frame: &[u8]) -> bool {
        let head = RadioHead::read(frame);
        head.is_some_and(|head| head.is_broadcast() || self.station_of(Mac(head.receiver)) == Some(station))
    }

    fn head(frame: &[u8]) -> FrameHead {
        packet_within(frame).map_or(FrameHead::of(&[]), |(ethertype, packet)| {
            let mut bytes = frame[4..16].to_vec(); // receiver, transmitter
            bytes.extend(ethertype);
            let length = bytes.len() + packet.len();
            bytes.extend(packet.iter().take(96));
            FrameHead::of_length(&bytes, length)
        })
    }
}

/// Ethertype and payload of an unencrypted data frame.
/// Source: IEEE 802.11-2020 Sec. 9.2.4.1 (frame control), 9.2.4.7.3 (mesh control).
fn packet_within(frame: &[u8]) -> Option<([u8; 2], &[u8])> {
    const DATA: u8 = 2;
    const PROTECTED: u8 = 0x40;
    let (kind, flags) = (*frame.first()?, *frame.get(1)?);
    if kind >> 2 & 3 != DATA || flags & PROTECTED != 0 {
        return None;
    }
    let mut at = if flags & 3 == 3 { 30 } else { 24 };
    if kind & 0x80 != 0 {
        let has_mesh_control = frame.get(at + 1)? & 1 == 1;
        at += 2;
        if has_mesh_control {
            at += 6 + 6 * usize::from(frame.get(at)? & 3);
        }
    }
    let body = frame.get(at..)?;
    let ethertype = body.get(6..8)?.try_into().ok()?;
    (body[..6] == SNAP).then_some((ethertype, &body[8..]))
}

/// Stages that allow an attempt, and their numbers.
fn used(chain: &[Stage; STAGES]) -> impl Iterator<Item = (usize, Stage)> {
    let asked = chain.iter().copied().take_while(|stage| stage.rate_index >= 0);
    asked.enumerate().filter(|(_, stage)| stage.count > 0)
}

/// The retry chain with the attempts that were made.
pub fn carried_out(chain: &[Stage; STAGES], attempts: u32) -> [Stage; STAGES] {
    let mut done = [Stage::UNUSED; STAGES];
    let mut left = attempts;
    let count = used(chain).count();
    for (place, (number, stage)) in used(chain).enumerate() {
        let all = if place + 1 == count { left } else { left.min(u32::from(stage.count)) };
        if all > 0 || place == 0 {
            done[number] = Stage { count: all.min(255) as u8, ..stage };
        }
        left -= all;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::line;
    use crate::frames::capture::Capture;
    use crate::frames::capture::tests::{Memory, Packet};
    use crate::frames::carrier::Carrier;
    use crate::frames::{CarrierHandler, Delivery, Event, TxStatus};
    use pacelab_air_config::{DSSS_RATES_BPS, PhyKind, Propagation};
    use pacelab_engine::{Link, Ns, Phy};
    use pacelab_hwsim::message::WANTS_STATUS;
    use proptest::prelude::*;
    use std::time::Duration;

    fn mac(last: u8) -> Mac {
        Mac([2, 0, 0, 0, last, 0])
    }

    fn radios() -> Radios {
        Radios::new([Some(mac(0)), Some(mac(1)), None], &DSSS_RATES_BPS)
    }

    fn chain(stages: &[(i8, u8)]) -> [Stage; STAGES] {
        let mut chain = [Stage::UNUSED; STAGES];
        for (place, &(rate_index, count)) in stages.iter().enumerate() {
            chain[place] = Stage { rate_index, count };
        }
        chain
    }

    /// Data of an IBSS with an IPv4 packet of 20 bytes, or management.
    fn frame(control: u8, to: Mac, from: Mac) -> Vec<u8> {
        let mut frame = vec![control, 0, 0, 0];
        frame.extend(to.0);
        frame.extend(from.0);
        frame.extend([9; 8]);
        frame.extend(SNAP);
        frame.extend([8, 0, 0x45, 0, 0, 20]);
        frame.extend([0; 16]);
        frame
    }

    #[test]
    fn a_frame_goes_to_who_has_the_address_and_else_to_nobody() {
        let radios = radios();
        let tag = Tag { frequency_mhz: 2412, chain: chain(&[(1, 2), (0, 3)]), ..Tag::default() };
        let to = |address: Mac, flags: u32| {
            let mut asked = tag;
            asked.flags = flags;
            radios.packet(StationId(0), PacketId(7), &frame(8, address, mac(0)), &asked).map(|(packet, _)| packet.to)
        };
        assert_eq!(to(mac(1), 0), Ok(Some(StationId(1))));
        assert_eq!(to(mac(9), 0), Ok(Some(StationId(3))));
        assert_eq!(to(mac(0), 0), Ok(Some(StationId(3)))); // to itself
        assert_eq!((to(Mac([0xff; 6]), 0), to(mac(1), NO_ACK)), (Ok(None), Ok(None)));
        let (packet, front) =
            radios.packet(StationId(0), PacketId(7), &frame(8, mac(1), mac(0)), &tag).expect("a packet");
        assert_eq!((packet.bytes, packet.category, front), (52, Category::BestEffort, false));
        let stages = [(2_000_000, 2), (1_000_000, 3), (0, 0), (0, 0)];
        assert_eq!(packet.rates, Some(RateChain { stages, aggregates: false }));
        assert!(
            radios.packet(StationId(0), PacketId(7), &frame(0x80, mac(1), mac(0)), &tag).is_ok_and(|(_, front)| front)
        );
        assert_eq!(radios.packet(StationId(0), PacketId(7), &[8; 15], &tag), Err(DropCause::Malformed));
    }

    /// A kernel that records the reports.
    #[derive(Default)]
    struct Kernel {
        got: Vec<(u32, u64)>,
        /// Rates and retry bits of the deliveries.
        attempts: Vec<(Option<u32>, bool)>,
        /// Stations that got a copy of a frame for another station or on another channel.
        copies: Vec<u32>,
        /// Cookie, attempts, status.
        reported: Vec<(u64, u32, TxStatus)>,
    }

    impl CarrierHandler<Tag> for Kernel {
        fn deliver(&mut self, station: StationId, delivery: Delivery<'_, Tag>) -> bool {
            self.got.push((station.0, delivery.tag.cookie));
            self.attempts.push((delivery.rate_bps, delivery.retry));
            self.copies.extend(delivery.is_copy.then_some(station.0));
            true
        }
        fn finish(&mut self, _: StationId, _: Ns, tag: &Tag, attempts: u32, fate: TxStatus) {
            self.reported.push((tag.cookie, attempts, fate));
        }
        fn listens(&self, _: u32) -> bool {
            true
        }
        fn send_event(&mut self, _: Event) {}
    }

    /// `count` stations 200 m apart, by ns-2's radio.
    fn carrier(count: u8) -> Carrier<Radios> {
        let air = with_null_station(line(usize::from(count), 200.0, "ns2").air());
        Carrier::new(air, Radios::new((0..count).map(|station| Some(mac(station))), &DSSS_RATES_BPS))
    }

    fn send(carrier: &mut Carrier<Radios>, kernel: &mut Kernel, now: Ns, station: u32, cookie: u64, frame: &[u8]) {
        carrier.advance(now, kernel);
        let slot = carrier.slot();
        let length = frame.len().min(carrier.space(slot).len());
        carrier.space(slot)[..length].copy_from_slice(&frame[..length]);
        let chain = chain(&[(1, 7)]);
        let transmitter = mac(station as u8);
        let tag = Tag { transmitter, flags: WANTS_STATUS, frequency_mhz: 2412, chain, cookie, ..Tag::default() };
        carrier.arrive(now, StationId(station), slot, length, tag, kernel);
    }

    #[test]
    fn the_kernel_learns_of_every_frame_what_became_of_it() {
        let (mut carrier, mut kernel) = (carrier(3), Kernel::default());
        send(&mut carrier, &mut kernel, 5_000_000, 0, 1, &frame(8, mac(1), mac(0)));
        carrier.advance(100_000_000, &mut kernel);
        send(&mut carrier, &mut kernel, 100_000_000, 0, 2, &frame(8, mac(9), mac(0)));
        carrier.advance(900_000_000, &mut kernel);
        send(&mut carrier, &mut kernel, 900_000_000, 1, 3, &frame(8, Mac([0xff; 6]), mac(1)));
        carrier.advance(990_000_000, &mut kernel);
        assert_eq!(kernel.got, [(1, 1), (0, 3), (2, 3)]);
        assert_eq!(kernel.reported, [(1, 1, TxStatus::Acknowledged), (2, 7, TxStatus::Failed), (3, 1, TxStatus::Sent)]);
    }

    #[test]
    fn a_radio_that_only_listens_hears_the_broadcasts_of_every_channel() {
        let (mut carrier, mut kernel) = (carrier(3), Kernel::default());
        [2437, 2412, 2437].iter().zip(0..).for_each(|(&mhz, station)| carrier.set_channel(StationId(station), mhz));
        send(&mut carrier, &mut kernel, 5_000_000, 0, 1, &frame(0x80, Mac([0xff; 6]), mac(0)));
        carrier.advance(100_000_000, &mut kernel);
        assert_eq!((&kernel.got[..], &kernel.copies[..]), (&[(1, 1)][..], &[1][..])); // station 2 is out of range
        send(&mut carrier, &mut kernel, 100_000_000, 0, 2, &frame(8, mac(1), mac(0)));
        carrier.advance(900_000_000, &mut kernel);
        assert_eq!(kernel.reported.last(), Some(&(2, 7, TxStatus::Failed))); // the ACK needs the same channel
        carrier.set_channel(StationId(1), 2437);
        send(&mut carrier, &mut kernel, 900_000_000, 0, 3, &frame(0x80, Mac([0xff; 6]), mac(0)));
        carrier.advance(990_000_000, &mut kernel);
        assert_eq!((kernel.got.last(), kernel.copies.len()), (Some(&(1, 3)), 1)); // one copy, by the air
        assert_eq!(carrier.in_air(), 0);
    }

    #[test]
    fn a_monitor_hears_unicast_frames_of_its_own_and_of_other_channels() {
        let (mut carrier, mut kernel) = (carrier(4), Kernel::default());
        [2437, 2437, 2437, 2412]
            .iter()
            .zip(0..)
            .for_each(|(&mhz, station)| carrier.set_channel(StationId(station), mhz));
        send(&mut carrier, &mut kernel, 5_000_000, 0, 1, &frame(8, mac(1), mac(0)));
        carrier.advance(100_000_000, &mut kernel);
        assert_eq!(kernel.got, [(1, 1)]);
        // Station 2 is 400 m from station 0, out of range, and 200 m from station 1; station 3 is 400 m from station 1.
        carrier.set_monitors(vec![StationId(2), StationId(3)]);
        send(&mut carrier, &mut kernel, 100_000_000, 0, 2, &frame(8, mac(1), mac(0)));
        send(&mut carrier, &mut kernel, 200_000_000, 1, 3, &frame(8, mac(0), mac(1)));
        send(&mut carrier, &mut kernel, 300_000_000, 2, 4, &frame(8, mac(1), mac(2)));
        carrier.advance(900_000_000, &mut kernel);
        assert_eq!(kernel.got[1..], [(1, 2), (0, 3), (2, 3), (1, 4), (3, 4)]);
        assert_eq!(kernel.copies, [2, 3]);
        let all = &kernel.reported;
        assert!(all.iter().all(|report| (report.1, report.2) == (1, TxStatus::Acknowledged)), "{all:?}");
        carrier.set_monitors(Vec::new());
        send(&mut carrier, &mut kernel, 900_000_000, 1, 5, &frame(8, mac(0), mac(1)));
        carrier.advance(990_000_000, &mut kernel);
        assert_eq!((kernel.got.last(), kernel.copies.len(), carrier.in_air()), (Some(&(0, 5)), 2, 0));
    }

    #[test]
    fn a_monitor_hears_each_attempt_and_sees_that_it_is_a_retry() {
        let mut air = with_null_station(line(3, 100.0, "ns2").air());
        let link = |to, loss| {
            let to = StationId(to);
            Link { to, delay_ns: 333, power_w: 1e-9, decodable: true, loss, fading: None }
        };
        let rows = vec![vec![link(1, 1.0), link(2, 0.0)], vec![link(0, 0.0)], vec![link(0, 0.0)], Vec::new()];
        air.links = Some(rows.into());
        let mut carrier = Carrier::new(air, Radios::new((0..3).map(|station| Some(mac(station))), &DSSS_RATES_BPS));
        let mut kernel = Kernel::default();
        carrier.set_monitors(vec![StationId(2)]);
        send(&mut carrier, &mut kernel, 5_000_000, 0, 1, &frame(8, mac(1), mac(0)));
        carrier.advance(900_000_000, &mut kernel);
        assert_eq!(kernel.reported, [(1, 7, TxStatus::Failed)]);
        let retries: Vec<bool> = kernel.attempts.iter().map(|attempt| attempt.1).collect();
        assert_eq!(retries, [false, true, true, true, true, true, true]);
        assert_eq!(kernel.copies, [2; 7]);
    }

    const OUT: u32 = 2;
    const IN: u32 = 1;
    const LOST: u32 = 1 | 1 << 24;

    /// The packets of a capture while hidden stations 0 and 2 send to station 1 at the same time.
    fn captured_collision(rts_threshold_bytes: u32) -> Vec<Packet> {
        let mut air = with_null_station(line(3, 200.0, "standard").air());
        air.trace = true;
        air.radio.rts_threshold_bytes = rts_threshold_bytes;
        air.radio.propagation = Propagation::Range { decode_m: 250.0, sense_m: 390.0, capture_db: 10.0 };
        let mut carrier = Carrier::new(air, Radios::new((0..3).map(|station| Some(mac(station))), &DSSS_RATES_BPS));
        let (memory, mut kernel) = (Memory::default(), Kernel::default());
        carrier.set_capture(Capture::new(Box::new(memory.clone()), Duration::ZERO).expect("a capture"));
        for (station, cookie) in [(0, 1), (2, 2)] {
            send(&mut carrier, &mut kernel, 5_000_000, station, cookie, &frame(8, mac(1), mac(station as u8)));
        }
        carrier.advance(900_000_000, &mut kernel);
        carrier.capture(900_000_000, true);
        assert!(kernel.reported.iter().all(|report| report.2 == TxStatus::Acknowledged), "{:?}", kernel.reported);
        memory.packets()
    }

    #[test]
    fn a_capture_has_collisions_retries_and_acks_on_an_interface_for_each_station() {
        let name = |station: u8| mac(station).to_string();
        let packets = captured_collision(u32::MAX);
        let sent = |station, retry| (name(station), 8, retry, OUT, String::new());
        assert_eq!(packets[..2], [sent(0, false), sent(2, false)]);
        let lost: Vec<_> = packets.iter().filter(|packet| packet.3 == LOST).collect();
        assert!(!lost.is_empty() && lost.iter().all(|packet| packet.0 == name(1)), "{packets:?}");
        assert!(lost[0].4.starts_with("collided with 02:00:00:00:0"), "{lost:?}");
        for station in [0, 2] {
            assert!(packets.contains(&sent(station, true)), "{packets:?}");
            assert!(packets.contains(&(name(station), 0xd4, false, IN, String::new())));
        }
        assert_eq!(packets.iter().filter(|packet| packet.1 == 0xd4 && packet.3 == OUT).count(), 2);
        assert!(packets.iter().all(|packet| [8, 0xd4].contains(&packet.1)));
    }

    #[test]
    fn a_capture_has_rts_and_cts() {
        let packets = captured_collision(0);
        for (first, direction) in [(0xb4, OUT), (0xb4, IN), (0xc4, OUT), (0xc4, IN), (8, OUT), (8, IN), (0xd4, IN)] {
            assert!(packets.iter().any(|packet| (packet.1, packet.3) == (first, direction)), "{first:x} {direction}");
        }
    }

    #[test]
    fn a_delivery_has_the_rate_and_the_retry_bit_of_the_attempt_that_arrived() {
        let mut air = with_null_station(line(2, 200.0, "ns2").air());
        let link = |to, loss| {
            let to = StationId(to);
            vec![Link { to, delay_ns: 667, power_w: 1e-9, decodable: true, loss, fading: None }]
        };
        air.links = Some(vec![link(1, 0.5), link(0, 0.0), Vec::new()].into());
        let mut carrier = Carrier::new(air, Radios::new((0..2).map(|station| Some(mac(station))), &DSSS_RATES_BPS));
        let mut kernel = Kernel::default();
        let chain = chain(&[(3, 1), (1, 6)]); // 11 Mbit/s once, then 2
        for cookie in 0..40 {
            let now = 5_000_000 + cookie * 200_000_000;
            carrier.advance(now, &mut kernel);
            let (slot, data) = (carrier.slot(), frame(8, mac(1), mac(0)));
            carrier.space(slot)[..data.len()].copy_from_slice(&data);
            let tag = Tag { frequency_mhz: 2412, flags: WANTS_STATUS, chain, cookie, ..Tag::default() };
            carrier.arrive(now, StationId(0), slot, data.len(), tag, &mut kernel);
        }
        carrier.advance(90_000_000_000, &mut kernel);
        let acknowledged = kernel.reported.iter().filter(|report| report.2 == TxStatus::Acknowledged);
        let expected: Vec<_> = acknowledged
            .map(|&(_, attempts, _)| if attempts == 1 { (Some(11_000_000), false) } else { (Some(2_000_000), true) })
            .collect();
        assert_eq!(kernel.attempts, expected);
        assert!([false, true].iter().all(|&retry| expected.iter().filter(|attempt| attempt.1 == retry).count() > 9));
    }

    #[test]
    fn a_full_queue_tells_at_once_and_gives_way_to_management() {
        let (mut carrier, mut kernel) = (carrier(2), Kernel::default());
        let data = frame(8, mac(1), mac(0));
        (0..52).for_each(|cookie| send(&mut carrier, &mut kernel, 5_000_000, 0, cookie, &data));
        assert_eq!(kernel.reported, [(51, 0, TxStatus::Refused)]); // one in service, fifty wait
        send(&mut carrier, &mut kernel, 5_000_000, 0, 99, &frame(0x80, Mac([0xff; 6]), mac(0)));
        assert_eq!(kernel.reported, [(51, 0, TxStatus::Refused), (50, 0, TxStatus::Refused)]);
        carrier.advance(9_000_000_000, &mut kernel);
        assert_eq!((kernel.got[0], kernel.got[1], kernel.reported.len()), ((1, 0), (1, 99), 53));
        assert_eq!(carrier.in_air(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn whatever_comes_is_told_of_once(
            frames in prop::collection::vec((0_u32..3, prop::collection::vec(any::<u8>(), 0..2500), 0_u64..3_000_000), 1..60),
        ) {
            let (mut carrier, mut kernel) = (carrier(3), Kernel::default());
            let mut now = 0;
            for (cookie, (station, frame, pause)) in frames.iter().enumerate() {
                now += pause;
                send(&mut carrier, &mut kernel, now, *station, cookie as u64, frame);
            }
            carrier.advance(now + 60_000_000_000, &mut kernel);
            let mut cookies: Vec<u64> = kernel.reported.iter().map(|&(cookie, ..)| cookie).collect();
            cookies.sort_unstable();
            prop_assert_eq!(cookies, (0..frames.len() as u64).collect::<Vec<_>>());
            prop_assert_eq!(carrier.in_air(), 0);
        }
    }

    #[test]
    fn rates_that_the_physical_layer_lacks_become_the_next_lower_one() {
        let rates = |stages| {
            radios().rates(StationId(0), &Tag { frequency_mhz: 2412, chain: chain(stages), ..Tag::default() }, false)
        };
        assert_eq!(rates(&[(11, 1)]).map(|chain| chain.stages[0]), Some((11_000_000, 1))); // 54
        assert_eq!(rates(&[(4, 1)]).map(|chain| chain.stages[0]), Some((5_500_000, 1))); // 6
        assert_eq!(rates(&[(77, 1)]).map(|chain| chain.stages[0]), Some((1_000_000, 1))); // no index of a legacy rate
        assert_eq!(rates(&[]), None);
    }

    #[test]
    fn an_mcs_is_not_taken_for_a_place_among_legacy_rates() {
        // 8 is 24 Mbit/s among the legacy rates; as an MCS it is BPSK 1/2 in two streams.
        let radios = Radios::new([Some(mac(0)), Some(mac(1))], Phy::of(PhyKind::Bg, true).rates_bps());
        let stage_flags = [STAGE_IS_HT, STAGE_IS_HT, 0, 0];
        let chain = chain(&[(8, 1), (4, 1), (8, 1)]);
        let tag = Tag { frequency_mhz: 2412, chain, stage_flags, ..Tag::default() };
        let rates = radios.rates(StationId(0), &tag, false);
        let expected = [(6_000_000, 1), (36_000_000, 1), (24_000_000, 1), (0, 0)];
        assert_eq!(rates, Some(RateChain { stages: expected, aggregates: false }));
    }

    #[test]
    fn what_the_air_has_not_is_named_and_counted() {
        let mut radios = Radios::new([Some(mac(0))], Phy::of(PhyKind::Bg, true).rates_bps());
        let tag = |index, flags| Tag {
            frequency_mhz: 2412,
            chain: chain(&[(index, 1)]),
            stage_flags: [flags, 0, 0, 0],
            ..Tag::default()
        };
        let (ofdm, ht, vht) = (tag(11, 0), tag(15, STAGE_IS_HT), tag(0x12, STAGE_IS_VHT));
        let substituted = |radios: &Radios| [ofdm, ht, vht].map(|tag| radios.is_substituted(StationId(0), &tag));
        assert_eq!(substituted(&radios), [false, true, true]);
        radios.set_rates(StationId(0), &DSSS_RATES_BPS, false);
        assert_eq!(substituted(&radios), [true; 3]);
        assert_eq!(radios.rates(StationId(0), &ofdm, false).map(|chain| chain.stages[0].0), Some(11_000_000));
        assert_eq!([ofdm, ht, vht].map(|tag| tag.wanted()), ["54 Mbit/s", "HT MCS 15", "VHT MCS 2 with 2 streams"]);
    }

    #[test]
    fn an_mcs_of_the_kernel_is_decoded_with_streams_width_and_guard_interval() {
        let mcs = |index, flags| {
            let tag = Tag { chain: chain(&[(index, 1)]), stage_flags: [flags, 0, 0, 0], ..Tag::default() };
            tag.mcs(0).map(|mcs| f64::from(mcs.rate_bps()) / 1e6)
        };
        // IEEE 802.11-2020 Tables 19-27 to 19-34, 21-29 to 21-59
        assert_eq!(mcs(8, STAGE_IS_HT), Some(13.0));
        assert_eq!(mcs(15, STAGE_IS_HT | STAGE_SHORT_GUARD | STAGE_40_MHZ), Some(300.0));
        assert_eq!(mcs(0x38, STAGE_IS_VHT | STAGE_SHORT_GUARD), Some(346.666_667)); // four streams of MCS 8
        assert_eq!(mcs(0x39, STAGE_IS_VHT | STAGE_SHORT_GUARD | STAGE_80_MHZ), Some(1_733.333_333));
        // None of the standard: MCS 32 and beyond of HT, HT at 80 MHz, MCS 9 at 20 MHz, five streams, MCS 10.
        for (index, flags) in [(32, 0), (76, 0), (7, STAGE_80_MHZ), (7, STAGE_160_MHZ), (-1, 0)] {
            assert_eq!(mcs(index, STAGE_IS_HT | flags), None, "{index}");
        }
        for index in [0x09, 0x40, 0x7f, 0x0a, -1, i8::MIN] {
            assert_eq!(mcs(index, STAGE_IS_VHT), None, "{index}");
        }
        assert_eq!(mcs(7, 0), None);
    }

    /// Stations of 802.11n and g in 2.4 GHz. Each link loses a frame with this probability.
    fn high_throughput(losses: [f64; 2]) -> Carrier<Radios> {
        let mut config = line(2, 10.0, "standard").air();
        (config.radio.phy, config.trace) = (PhyKind::Bg, true);
        let mut air = with_null_station(config);
        let link = |to, loss| {
            vec![Link { to: StationId(to), delay_ns: 33, power_w: 1e-9, decodable: true, loss, fading: None }]
        };
        air.links = Some(vec![link(1, losses[0]), link(0, losses[1]), Vec::new()].into());
        let rates_bps = Phy::of(PhyKind::Bg, true).rates_bps();
        let mut carrier = Carrier::new(air, Radios::new((0..2).map(|station| Some(mac(station))), rates_bps));
        for station in [StationId(0), StationId(1)] {
            carrier.set_phy(station, PhyKind::Bg, true);
            carrier.set_queue_limit(station, 120);
            carrier.format.set_rates(station, rates_bps, true);
        }
        carrier
    }

    /// Sends `count` QoS data frames of 1500 bytes at this MCS of HT at once.
    fn send_burst(carrier: &mut Carrier<Radios>, kernel: &mut Kernel, now: Ns, cookies: std::ops::Range<u64>, mcs: i8) {
        let mut data = frame(0x88, mac(1), mac(0));
        data.resize(1500, 0);
        carrier.advance(now, kernel);
        for cookie in cookies {
            let slot = carrier.slot();
            carrier.space(slot)[..data.len()].copy_from_slice(&data);
            let (chain, stage_flags) = (chain(&[(mcs, 4), (0, 4)]), [STAGE_IS_HT; STAGES]);
            let tag = Tag { frequency_mhz: 2412, flags: WANTS_STATUS, chain, stage_flags, cookie, ..Tag::default() };
            carrier.arrive(now, StationId(0), slot, data.len(), tag, kernel);
        }
    }

    #[test]
    fn frames_of_one_rate_to_one_receiver_are_one_aggregate() {
        let (mut carrier, mut kernel) = (high_throughput([0.0; 2]), Kernel::default());
        send_burst(&mut carrier, &mut kernel, 5_000_000, 0..21, 15);
        carrier.advance(900_000_000, &mut kernel);
        assert_eq!(kernel.got, (0..21).map(|cookie| (1, cookie)).collect::<Vec<_>>());
        assert_eq!(kernel.reported, (0..21).map(|cookie| (cookie, 1, TxStatus::Acknowledged)).collect::<Vec<_>>());
        assert!(kernel.attempts.iter().all(|&(rate, retry)| rate.is_some_and(Mcs::is_code) && !retry));
        // The first frame finds the medium idle and is sent as an aggregate of one a DIFS later, with all that arrived
        // at the same time: 21 x 1508 - 4 bytes, 520 bits a symbol: 40 us and 488 symbols.
        let counters = carrier.counters(900_000_000, StationId(0));
        assert_eq!((counters.data_sent, counters.airtime_ns), (21, 40_000 + 488 * 4_000 + 6_000));
        assert_eq!(carrier.counters(900_000_000, StationId(1)).ack_sent, 1);
        assert_eq!(carrier.in_air(), 0);
    }

    #[test]
    fn a_frame_of_another_rate_ends_the_aggregate() {
        let (mut carrier, mut kernel) = (high_throughput([0.0; 2]), Kernel::default());
        send_burst(&mut carrier, &mut kernel, 5_000_000, 0..10, 15);
        send_burst(&mut carrier, &mut kernel, 5_000_000, 10..11, 4);
        send_burst(&mut carrier, &mut kernel, 5_000_000, 11..20, 15);
        carrier.advance(900_000_000, &mut kernel);
        assert_eq!(kernel.got, (0..20).map(|cookie| (1, cookie)).collect::<Vec<_>>());
        assert_eq!(carrier.counters(900_000_000, StationId(1)).ack_sent, 3);
        let rates: Vec<u32> = kernel.attempts.iter().map(|&(rate, _)| rate.unwrap_or(0)).collect();
        assert!(rates[0] == rates[19] && rates[10] != rates[0] && rates[9] == rates[11], "{rates:x?}");
    }

    #[test]
    fn losses_are_repeated_frame_by_frame_and_delivered_in_order() {
        let (mut carrier, mut kernel) = (high_throughput([0.3, 0.1]), Kernel::default());
        for round in 0..20 {
            let cookies = 50 * round..50 * (round + 1);
            send_burst(&mut carrier, &mut kernel, 5_000_000 + round * 100_000_000, cookies, 15);
        }
        carrier.advance(9_000_000_000, &mut kernel);
        let acknowledged = kernel.reported.iter().filter(|report| report.2 == TxStatus::Acknowledged);
        let (mut delivered, count): (Vec<u64>, usize) =
            (kernel.got.iter().map(|got| got.1).collect(), kernel.got.len());
        assert!(delivered.is_sorted(), "in order");
        delivered.dedup();
        assert_eq!((delivered.len(), acknowledged.clone().count()), (count, count));
        assert!(count > 990, "{count}");
        // The reported attempts are those that a loss of 0.3 needs: 1 / 0.7, and a few for lost Block Acks.
        let attempts: u32 = acknowledged.map(|report| report.1).sum();
        let mean = f64::from(attempts) / count as f64;
        assert!((1.38..1.55).contains(&mean), "{mean}");
        let mut cookies: Vec<u64> = kernel.reported.iter().map(|report| report.0).collect();
        cookies.sort_unstable();
        assert_eq!(cookies, (0..1000).collect::<Vec<_>>());
        assert!(kernel.attempts.iter().any(|attempt| attempt.1), "retry bits");
    }

    #[test]
    fn a_capture_has_each_frame_of_an_aggregate_and_its_block_ack() {
        let (mut carrier, mut kernel, memory) = (high_throughput([0.3, 0.0]), Kernel::default(), Memory::default());
        carrier.set_capture(Capture::new(Box::new(memory.clone()), Duration::ZERO).expect("a capture"));
        send_burst(&mut carrier, &mut kernel, 5_000_000, 0..20, 15);
        carrier.advance(900_000_000, &mut kernel);
        carrier.capture(900_000_000, true);
        let packets = memory.packets();
        let count = |station: u8, first: u8, direction: u32| {
            let name = mac(station).to_string();
            let is_it = |packet: &&Packet| (&packet.0, packet.1, packet.3) == (&name, first, direction);
            packets.iter().filter(is_it).count() as u64
        };
        let sent = carrier.counters(900_000_000, StationId(0)).data_sent;
        let block_acks = packets.iter().filter(|packet| packet.1 == 0x94).count();
        assert_eq!((count(0, 0x88, OUT), count(1, 0x88, IN), count(1, 0x88, LOST)), (sent, 20, sent - 20));
        assert!(sent > 20 && block_acks >= 4, "{sent} {block_acks}");
        assert_eq!(count(1, 0x94, OUT), count(0, 0x94, IN));
        let repeated = packets.iter().filter(|packet| packet.2 && packet.3 == OUT).count() as u64;
        assert_eq!(repeated, sent - 20);
    }

    #[test]
    fn voice_management_and_null_frames_are_sent_alone() {
        let radios = high_throughput([0.0; 2]).format;
        let aggregates = |control: u8, tid: u8, index, flags| {
            let mut frame = frame(control, mac(1), mac(0));
            frame[24] = tid;
            let (chain, stage_flags) = (chain(&[(index, 1)]), [flags, 0, 0, 0]);
            let tag = Tag { frequency_mhz: 2412, chain, stage_flags, ..Tag::default() };
            let (packet, _) = radios.packet(StationId(0), PacketId(0), &frame, &tag).expect("a packet");
            packet.rates.is_some_and(|chain| chain.aggregates)
        };
        assert!(aggregates(0x88, 0, 7, STAGE_IS_HT) && aggregates(0x88, 5, 7, STAGE_IS_HT));
        assert!(!aggregates(0x88, 6, 7, STAGE_IS_HT)); // voice
        assert!(!aggregates(0xc8, 0, 7, STAGE_IS_HT)); // no data
        assert!(!aggregates(0x08, 0, 7, STAGE_IS_HT)); // no QoS
        assert!(!aggregates(0x88, 0, 7, 0) && !aggregates(0xd0, 0, 7, STAGE_IS_HT));
    }

    #[test]
    fn an_unknown_mcs_is_counted_and_sent_at_a_legacy_rate() {
        let (mut carrier, mut kernel) = (high_throughput([0.0; 2]), Kernel::default());
        send_burst(&mut carrier, &mut kernel, 5_000_000, 0..3, 77);
        carrier.advance(900_000_000, &mut kernel);
        assert_eq!(carrier.traffic(StationId(0)).substituted, 3);
        assert!(kernel.reported.iter().all(|report| report.2 == TxStatus::Acknowledged));
        assert_eq!(kernel.attempts, [(Some(48_000_000), false); 3]); // 77 modulo 8 is 64-QAM 2/3
    }

    #[test]
    fn only_what_failed_on_the_air_is_told_as_failed() {
        // mac80211 counts a frame as failed that has neither ACKED (4) nor NO_ACK (2).
        let tag = Tag { flags: WANTS_STATUS, ..Tag::default() };
        let reported = [TxStatus::Acknowledged, TxStatus::Failed, TxStatus::Sent, TxStatus::Refused]
            .map(|fate| tag.status_flags(fate));
        assert_eq!(reported, [5, 1, 3, 3]);
    }

    #[test]
    fn addresses_come_and_go_but_the_configured_one_stays() {
        let mut radios = radios();
        radios.add(StationId(1), mac(5));
        assert_eq!(radios.station_of(mac(5)), Some(StationId(1)));
        radios.remove(StationId(1), mac(5));
        radios.remove(StationId(1), mac(1));
        assert_eq!((radios.station_of(mac(5)), radios.station_of(mac(1))), (None, Some(StationId(1))));
        radios.set(StationId(1), None);
        assert_eq!(radios.station_of(mac(1)), None);
    }

    #[test]
    fn the_kernel_is_told_the_attempts_of_each_stage() {
        let asked = chain(&[(11, 2), (4, 1), (0, 1)]);
        assert_eq!(carried_out(&asked, 1), chain(&[(11, 1)]));
        assert_eq!(carried_out(&asked, 3), chain(&[(11, 2), (4, 1)]));
        assert_eq!(carried_out(&asked, 7), chain(&[(11, 2), (4, 1), (0, 4)]));
        assert_eq!(carried_out(&asked, 0), chain(&[(11, 0)])); // refused
        assert_eq!(carried_out(&chain(&[]), 3), chain(&[]));
    }

    #[test]
    fn listeners_see_the_ip_packet_inside() {
        let describe = |frame: &[u8]| serde_json::to_value(Radios::head(frame).describe()).expect("JSON");
        let plain = describe(&frame(8, mac(1), mac(0)));
        assert_eq!((&plain["bytes"], &plain["ethertype"]), (&20.into(), &0x0800.into()));
        assert_eq!(plain["ip"]["bytes"], 20);
        let mut mesh = frame(0x88, mac(1), mac(0));
        mesh.splice(24..24, [0, 1, 0, 31, 0, 0, 0, 0]); // QoS with mesh control, no further addresses
        assert_eq!(describe(&mesh), plain);
        assert!(describe(&frame(0x80, mac(1), mac(0))).is_null());
        (0..52).for_each(|length| {
            assert!(Radios::head(&frame(8, mac(1), mac(0))[..length]).describe().is_none() || length >= 32)
        });
    }
}
