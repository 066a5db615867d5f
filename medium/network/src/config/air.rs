//! From an air configuration to the engine's.

use pacelab_engine::{AirConfig, MacAckRate, PhyKind, Preset, Propagation};

use super::{Config, MacAckRateName, Node, PhyName, PresetName, PropagationName};

impl Config {
    /// The engine's configuration. Stations are the wireless nodes, in order.
    pub fn air(&self) -> AirConfig {
        let wireless: Vec<(usize, &Node)> = self.nodes.iter().enumerate().filter(|(_, node)| node.wireless).collect();
        let station = |node: u32| wireless.iter().position(|&(index, _)| index == node as usize).map(|at| at as u32);
        let (propagation, capture_db) = match &self.radio.propagation {
            PropagationName::TwoRay { capture_db } => (Propagation::TwoRay, *capture_db),
            PropagationName::Range { decode_m, sense_m, capture_db } => {
                (Propagation::Range { decode_m: *decode_m, sense_m: *sense_m }, *capture_db)
            }
            PropagationName::LogDistance {
                exponent,
                reference_loss_db,
                tx_power_dbm,
                shadowing_db,
                decode_dbm,
                sense_dbm,
                capture_db,
            } => (
                Propagation::LogDistance {
                    exponent: *exponent,
                    reference_loss_db: *reference_loss_db,
                    tx_power_dbm: *tx_power_dbm,
                    shadowing_db: *shadowing_db,
                    decode_dbm: *decode_dbm,
                    sense_dbm: *sense_dbm,
                },
                *capture_db,
            ),
            PropagationName::Matrix { capture_db, links } => {
                let stations = links.iter().filter_map(|&(a, b, power_w)| Some((station(a)?, station(b)?, power_w)));
                (Propagation::Matrix(stations.collect()), *capture_db)
            }
        };
        AirConfig {
            preset: match self.radio.preset {
                PresetName::Ns2 => Preset::Ns2,
                PresetName::Standard => Preset::Standard,
                PresetName::Sinr => Preset::Sinr,
            },
            phy: match self.radio.phy {
                PhyName::B => PhyKind::B,
                PhyName::A => PhyKind::A,
                PhyName::G => PhyKind::G,
            },
            edca: self.radio.edca,
            voice_first: self.radio.voice_first,
            seed: self.seed,
            positions_m: wireless.iter().map(|(_, node)| node.position_m.unwrap_or([0.0, 0.0])).collect(),
            propagation,
            capture_ratio: ratio_from_db(capture_db),
            basic_rate_bps: self.radio.basic_rate_bps,
            data_rates_bps: wireless
                .iter()
                .map(|(_, node)| node.data_rate_bps.unwrap_or(self.radio.data_rate_bps))
                .collect(),
            link_rates_bps: self
                .link_rates_bps
                .iter()
                .filter_map(|&(a, b, rate)| Some((station(a)?, station(b)?, rate)))
                .collect(),
            mac_ack_rate: match self.radio.mac_ack_rate {
                MacAckRateName::Basic => MacAckRate::Basic,
                MacAckRateName::Data => MacAckRate::Data,
                MacAckRateName::Mandatory => MacAckRate::Mandatory,
            },
            rts_threshold_bytes: self.radio.rts_threshold_bytes,
            short_retry_limit: self.radio.short_retry_limit,
            long_retry_limit: self.radio.long_retry_limit,
            queue_pkts: self.radio.queue_pkts,
            overhead_bytes: None,
            tap: self.tap || self.capture.is_some(),
        }
    }
}

fn ratio_from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}
