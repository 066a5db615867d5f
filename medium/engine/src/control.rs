//! Who runs an air: its changes while it runs, and when to look again.
//!
//! Of a change: frames under way keep their course; a packet in service keeps its rate and RTS.

use std::sync::Arc;

use pacelab_air_config::{PhyKind, Propagation};

use crate::agenda::{NEVER, Ns};
use crate::air::{Air, contentions};
use crate::frame::{Kind, Packet};
use crate::propagation::{Link, replace_link};
use crate::rules::Rules;
use crate::station::Station;

impl Air {
    /// Sets the data rate of one station from now on; rates set for a link outweigh it.
    pub fn set_station_rate(&mut self, station: u32, rate_bps: u32) {
        self.config.data_rates_bps[station as usize] = rate_bps;
    }

    /// Sets from which size on, MAC header included, frames are protected by RTS/CTS.
    pub fn set_rts_threshold(&mut self, bytes: u32) {
        self.config.radio.rts_threshold_bytes = bytes;
    }

    /// Sets powers and ranges, and the power ratio at which the stronger of two frames survives.
    pub fn set_propagation(&mut self, propagation: Propagation) {
        self.capture_ratio = propagation.capture_ratio();
        self.config.radio.propagation = propagation;
        self.config.links = None;
        self.redraw_all_links();
    }

    /// Puts these links, by sender and in the order of receivers, in the place of all that there are.
    pub fn set_all_links(&mut self, links: Vec<Vec<Link>>) {
        self.config.links = Some(links);
        self.redraw_all_links();
    }

    fn redraw_all_links(&mut self) {
        for station in 0..self.rows.len() {
            self.rows[station] = self.row_on_channel(station as u32);
        }
    }

    /// Puts all links of one station in the place of those it has, where links were given: those that leave it, by
    /// receiver, and of each other station the one to it.
    pub fn set_links(&mut self, station: u32, leaving: Vec<Link>, arriving: impl IntoIterator<Item = Option<Link>>) {
        let Some(rows) = &mut self.config.links else { return };
        for (row, link) in rows.iter_mut().zip(arriving) {
            replace_link(row, station, link);
        }
        rows[station as usize] = leaving;
        self.redraw_links(station);
    }

    /// The physical layer of `station` from now on; that of a new air is everybody's. A countdown that runs goes on by
    /// the new slots. A frame at a rate that its receiver's physical layer lacks is energy there.
    pub fn set_phy(&mut self, station: u32, kind: PhyKind) {
        let phy = Rules::phy_of(&self.config.radio, kind);
        self.catch_up(station, self.now);
        let here = &mut self.stations[station as usize];
        Arc::make_mut(&mut here.rules).phy = phy;
        self.phys_differ = true;
        here.eifs_ns = phy.eifs_ns();
        here.eifs_nav_ns = here.rules.nav_ns(here.eifs_ns);
        for (access, contention) in here.accesses.iter_mut().zip(contentions(&phy, self.config.radio.edca)) {
            let widened = access.cw != access.contention.cw_min;
            access.cw = if widened { access.cw.clamp(contention.cw_min, contention.cw_max) } else { contention.cw_min };
            access.contention = contention;
        }
        self.reschedule(station);
    }

    /// Where `station` is, in m.
    pub fn position_m(&self, station: u32) -> [f64; 2] {
        self.config.positions_m[station as usize]
    }

    /// The moment of the last step or call.
    pub fn now(&self) -> Ns {
        self.now
    }
}

// When to look again, for callers that pay for each look: in real time every step is an awakening.
//
// Steps may be taken late (see `Air::step`), so only what leaves the air has a date: a packet at its receiver. A
// countdown that ends, a SIFS that is over can wait until the frame that follows is through.

impl Air {
    /// No packet is received before this, if nothing is enqueued or changed until then; it may be in the past.
    /// `NEVER`: none at all.
    pub fn no_reception_before(&self) -> Ns {
        let under_way = self.stations.iter().filter_map(reception).min();
        let next_at = self.next_at();
        if next_at == NEVER {
            return under_way.unwrap_or(NEVER);
        }
        let airtime_ns = (0..self.stations.len() as u32).filter_map(|station| self.shortest_airtime_ns(station)).min();
        let later = airtime_ns.map_or(NEVER, |airtime_ns| next_at + airtime_ns);
        under_way.map_or(later, |end| end.min(later))
    }

    /// Airtime of the shortest data frame that the station may send next: one in service or the first that waits.
    fn shortest_airtime_ns(&self, station: u32) -> Option<Ns> {
        let phy = self.phy(station);
        let accesses = self.stations[station as usize].accesses.iter();
        let airtimes = accesses.flat_map(|access| {
            let current = access.current.map(|current| phy.airtime_ns(current.frame_bytes, current.rate_bps));
            let waiting = access.queue.front().map(|packet| self.airtime_ns(station, packet));
            current.into_iter().chain(waiting)
        });
        airtimes.min()
    }

    fn airtime_ns(&self, station: u32, packet: &Packet) -> Ns {
        let bytes = packet.bytes + self.rules.overhead_bytes;
        self.phy(station).airtime_ns(bytes, self.first_rate_bps(station, packet))
    }
}

/// End of the first data frame on its way to the station that it may decode.
fn reception(station: &Station) -> Option<Ns> {
    let arrivals = station.lock.iter().map(|lock| &lock.arrival).chain(station.pending.iter());
    let data = arrivals.filter(|arrival| arrival.header.kind == Kind::Data && arrival.addressed);
    data.map(|arrival| arrival.end()).min()
}
