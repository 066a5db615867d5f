//! When the caller must look again, for callers that pay for each look: in real time every step is an awakening.
//!
//! Steps may be taken late (see `Air::step`), so only what leaves the air has a date: a packet at its receiver. A
//! countdown that ends, a SIFS that is over can wait until the frame that follows is through.

use crate::agenda::{NEVER, Ns};
use crate::air::Air;
use crate::frame::{Kind, Packet};
use crate::station::Station;

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
