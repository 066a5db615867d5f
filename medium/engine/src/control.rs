//! Changes to an air that is running. Frames under way keep their course; a packet in service keeps its rate and RTS.

use crate::agenda::Ns;
use crate::air::Air;
use crate::propagation::Propagation;

impl Air {
    /// Sets the data rate of one station from now on; rates set for a link outweigh it.
    pub fn set_station_rate(&mut self, station: u32, rate_bps: u32) {
        self.config.data_rates_bps[station as usize] = rate_bps;
    }

    /// Sets from which size on, MAC header included, frames are protected by RTS/CTS.
    pub fn set_rts_threshold(&mut self, bytes: u32) {
        self.config.rts_threshold_bytes = bytes;
    }

    /// Sets powers and ranges, and the power ratio at which the stronger of two frames survives.
    pub fn set_propagation(&mut self, propagation: Propagation, capture_ratio: f64) {
        self.config.propagation = propagation;
        self.config.capture_ratio = capture_ratio;
        for station in 0..self.links.len() {
            self.links[station] = self.links_on_channel(station as u32);
        }
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
