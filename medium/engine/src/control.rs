//! Changes to an air that is running. Frames under way keep their course; a packet in service keeps its rate and RTS.

use std::sync::Arc;

use pacelab_air_config::{PhyKind, Propagation};

use crate::agenda::Ns;
use crate::air::{Air, contentions};
use crate::hearers::replace_link;
use crate::propagation::Link;
use crate::rules::Rules;

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
