//! Changes to a running air, and when a caller must step it again.
//!
//! A change does not affect frames on the air. A packet in service keeps its rate and its RTS.

use std::sync::Arc;

use pacelab_air_config::{PhyKind, Propagation};

use crate::air::{Air, contentions};
use crate::block_ack::Originator;
use crate::event_queue::{NEVER, Ns};
use crate::frame::{Kind, Packet};
use crate::ids::{IdVec, PacketId, StationId};
use crate::phy::Phy;
use crate::propagation::{Link, replace_link};
use crate::rules::Rules;
use crate::station::Station;

impl Air {
    /// Sets the data rate of one station. A rate that was set for a link takes precedence.
    pub fn set_station_rate(&mut self, id: StationId, rate_bps: u32) {
        self.config.data_rates_bps[id] = rate_bps;
    }

    /// Sets the RTS threshold: frames of at least this size, MAC header included, use RTS/CTS.
    pub fn set_rts_threshold(&mut self, bytes: u32) {
        self.config.radio.rts_threshold_bytes = bytes;
    }

    /// Sets the propagation model: powers, ranges, and the power ratio at which the stronger of two frames survives.
    pub fn set_propagation(&mut self, propagation: Propagation) {
        self.capture_ratio = propagation.capture_ratio();
        self.config.radio.propagation = propagation;
        self.config.links = None;
        self.redraw_all_links();
    }

    /// Replaces all links. `links` are by sender, and for each sender in the order of receivers.
    pub fn set_all_links(&mut self, links: IdVec<StationId, Vec<Link>>) {
        self.config.links = Some(links);
        self.redraw_all_links();
    }

    fn redraw_all_links(&mut self) {
        for id in self.rows.ids() {
            self.rows[id] = self.row_on_channel(id);
        }
    }

    /// Replaces all links of one station: those from it, in the order of receivers, and the link of each station to it.
    /// Has no effect unless the links of the air were given.
    pub fn set_links(&mut self, id: StationId, leaving: Vec<Link>, arriving: impl IntoIterator<Item = Option<Link>>) {
        let Some(rows) = &mut self.config.links else { return };
        for (row, link) in rows.iter_mut().zip(arriving) {
            replace_link(row, id, link);
        }
        rows[id] = leaving;
        self.redraw_links(id);
    }

    /// Sets the physical layer of one station. In a new air all stations have the same layer. A running countdown
    /// continues with the new slots. A frame at a rate that its receiver's physical layer lacks is only energy to that
    /// receiver. With `mcs_per_frame` frames may also have an MCS (see `Mcs`), and packets of chains with `aggregates`
    /// are sent under Block Ack agreements. The preset must not be ns-2's.
    pub fn set_phy(&mut self, id: StationId, kind: PhyKind, mcs_per_frame: bool) {
        let phy = Phy { mcs_per_frame, ..Rules::phy_of(&self.config.radio, kind) };
        self.catch_up(id, self.now);
        let station = &mut self.stations[id];
        Arc::make_mut(&mut station.rules).phy = phy;
        for (place, category) in station.categories.iter_mut().enumerate().filter(|_| mcs_per_frame) {
            category.block_ack.get_or_insert_with(|| Box::new(Originator::new(place)));
        }
        self.phys_differ = true;
        station.eifs_ns = phy.eifs_ns();
        station.eifs_nav_ns = station.rules.nav_ns(station.eifs_ns);
        for (category, contention) in station.categories.iter_mut().zip(contentions(&phy, self.config.radio.edca)) {
            let widened = category.cw != category.contention.cw_min;
            category.cw =
                if widened { category.cw.clamp(contention.cw_min, contention.cw_max) } else { contention.cw_min };
            category.contention = contention;
        }
        self.reschedule(id);
    }

    /// Sets how many packets wait at one station at most, per access category.
    pub fn set_queue_limit(&mut self, id: StationId, pkts: u32) {
        self.stations[id].queue_pkts = Some(pkts);
    }

    /// Makes these stations monitors, and no others: each data frame for another station that a monitor decodes is an
    /// event.
    pub fn set_monitors(&mut self, monitors: Vec<StationId>) {
        // The fast path for frames that a station overhears reports nothing.
        self.overhears &= monitors.is_empty();
        self.monitors = monitors;
    }

    /// Rate of the present attempt of a packet, and whether its data frame was sent before. None if the packet is not in
    /// service at the station, as a broadcast that is over.
    pub fn attempt(&self, id: StationId, packet: PacketId) -> Option<(u32, bool)> {
        self.stations[id].categories.iter().find_map(|category| {
            let mut mpdus = category.block_ack.iter().flat_map(|originator| &originator.mpdus);
            if let Some(mpdu) = mpdus.find(|mpdu| mpdu.packet.id == packet) {
                return Some((category.in_service?.rate_bps, mpdu.sent > 1));
            }
            let frame = category.in_service.filter(|frame| frame.packet.id == packet)?;
            let failed = if frame.uses_rts { category.long_retries } else { category.short_retries };
            Some((frame.rate_bps, failed > 0))
        })
    }

    /// Position of a station in m.
    pub fn position_m(&self, id: StationId) -> [f64; 2] {
        self.config.positions_m[id]
    }

    /// The time of the last step or call.
    pub fn now(&self) -> Ns {
        self.now
    }
}

// When to step again, for callers in real time, where every step costs a wake-up of the process.
//
// Steps may be late (see `Air::step`), so only the arrival of a packet at its receiver has a deadline. The end of a
// countdown or of a SIFS can be handled when the frame that follows is over.

impl Air {
    /// A time before which no packet is received unless something is enqueued or changed; it may be in the past.
    /// `NEVER`: no packet will be received.
    pub fn no_reception_before(&self) -> Ns {
        let under_way = self.stations.iter().filter_map(reception).min();
        let next_at = self.next_at();
        if next_at == NEVER {
            return under_way.unwrap_or(NEVER);
        }
        let airtime_ns = self.stations.ids().filter_map(|id| self.shortest_airtime_ns(id)).min();
        let later = airtime_ns.map_or(NEVER, |airtime_ns| next_at + airtime_ns);
        under_way.map_or(later, |end| end.min(later))
    }

    /// Airtime of the shortest data frame that the station may send next: a packet in service, or the first waiting
    /// one.
    fn shortest_airtime_ns(&self, id: StationId) -> Option<Ns> {
        let phy = self.phy(id);
        let categories = self.stations[id].categories.iter();
        let airtimes = categories.flat_map(|category| {
            let frame = category.in_service.map(|frame| phy.airtime_ns(frame.frame_bytes, frame.rate_bps));
            let waiting = category.queue.front().map(|packet| self.airtime_ns(id, packet));
            frame.into_iter().chain(waiting)
        });
        airtimes.min()
    }

    fn airtime_ns(&self, id: StationId, packet: &Packet) -> Ns {
        let bytes = packet.bytes + self.rules.overhead_bytes;
        self.phy(id).airtime_ns(bytes, self.first_rate_bps(id, packet))
    }
}

/// End of the first data frame for the station that it may decode.
fn reception(id: &Station) -> Option<Ns> {
    let arrivals = id.lock.iter().map(|lock| &lock.arrival).chain(id.pending.iter());
    let delivers = |kind| matches!(kind, Kind::Data | Kind::Aggregate | Kind::BlockAckRequest);
    let data = arrivals.filter(|arrival| delivers(arrival.header.kind) && arrival.addressed);
    data.map(|arrival| arrival.end()).min()
}
