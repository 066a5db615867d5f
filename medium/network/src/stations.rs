//! From nodes to the engine's stations: the wireless ones, in order.

use pacelab_air_config::{Config, Node, Propagation};
use pacelab_engine::AirConfig;

/// The engine's configuration.
pub(crate) fn air(config: &Config) -> AirConfig {
    let wireless: Vec<(usize, &Node)> = config.nodes.iter().enumerate().filter(|(_, node)| node.wireless).collect();
    let station = |node: u32| wireless.iter().position(|&(index, _)| index == node as usize).map(|at| at as u32);
    let mut radio = config.radio.clone();
    if let Propagation::Matrix { links, .. } = &mut radio.propagation {
        *links = links.iter().filter_map(|&(a, b, power_w)| Some((station(a)?, station(b)?, power_w))).collect();
    }
    let rates = config.link_rates_bps.iter().filter_map(|&(a, b, rate)| Some((station(a)?, station(b)?, rate)));
    AirConfig {
        seed: config.seed,
        positions_m: wireless.iter().map(|(_, node)| node.position_m.unwrap_or([0.0, 0.0])).collect(),
        links: None,
        data_rates_bps: wireless.iter().map(|(_, node)| node.data_rate_bps.unwrap_or(radio.data_rate_bps)).collect(),
        link_rates_bps: rates.collect(),
        overhead_bytes: None,
        tap: config.tap || config.capture.is_some(),
        radio,
    }
}
