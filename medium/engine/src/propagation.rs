//! Who receives whom, how strongly and how much later.
//!
//! Two-ray ground reflection with ns-2's constants: 914 MHz, Pt 0.28183815 W, unity gains, antennas 1.5 m high, no
//! system loss; Friis below the crossover 4 pi ht hr / lambda (86.14 m).
//! Source: T. Rappaport, Wireless Communications, Sec. 3.6; ns-2.35's defaults.

use crate::agenda::Ns;

/// Speed of light as ns-2 has it, m/s.
const LIGHT_M_PER_S: f64 = 3.0e8;
const FREQUENCY_HZ: f64 = 914.0e6;
const TRANSMIT_POWER_W: f64 = 0.281_838_15;
const ANTENNA_HEIGHT_M: f64 = 1.5;

/// Weakest signal that is decoded: 250 m in two-ray ground.
pub const DECODE_THRESHOLD_W: f64 = 3.652e-10;
/// Weakest signal that is sensed: 550 m in two-ray ground.
pub const SENSE_THRESHOLD_W: f64 = 1.559e-11;

/// How powers and ranges come about.
#[derive(Clone, Debug)]
pub enum Propagation {
    /// Powers decide: `DECODE_THRESHOLD_W`, `SENSE_THRESHOLD_W`.
    TwoRay,
    /// Two-ray powers (for capture), but these distances decide who decodes and who senses.
    Range {
        /// Decodable up to here, in m.
        decode_m: f64,
        /// Sensed up to here, in m.
        sense_m: f64,
    },
    /// Received power in W for each listed (from, to); nothing is received where nothing is listed.
    Matrix(Vec<(u32, u32, f64)>),
}

/// One directed link of the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The receiving station.
    pub to: u32,
    /// Propagation delay.
    pub delay_ns: Ns,
    /// Received power.
    pub power_w: f64,
    /// Strong enough to be decoded.
    pub decodable: bool,
}

/// Received power in W at `distance_m` by two-ray ground reflection.
pub fn two_ray_power_w(distance_m: f64) -> f64 {
    let wavelength_m = LIGHT_M_PER_S / FREQUENCY_HZ;
    let crossover_m = 4.0 * std::f64::consts::PI * ANTENNA_HEIGHT_M * ANTENNA_HEIGHT_M / wavelength_m;
    if distance_m < crossover_m {
        let ratio = wavelength_m / (4.0 * std::f64::consts::PI * distance_m);
        TRANSMIT_POWER_W * ratio * ratio
    } else {
        let ht_hr = ANTENNA_HEIGHT_M * ANTENNA_HEIGHT_M;
        let square = distance_m * distance_m;
        TRANSMIT_POWER_W * ht_hr * ht_hr / (square * square)
    }
}

/// The links that leave station `from`, nearest number first; stations beyond the sense range are left out.
pub fn links_from(propagation: &Propagation, positions_m: &[[f64; 2]], from: u32) -> Vec<Link> {
    if let Propagation::Matrix(entries) = propagation {
        let mut links: Vec<Link> = entries
            .iter()
            .filter(|&&(source, _, power_w)| source == from && power_w >= SENSE_THRESHOLD_W)
            .map(|&(_, to, power_w)| Link { to, delay_ns: 0, power_w, decodable: power_w >= DECODE_THRESHOLD_W })
            .collect();
        links.sort_by_key(|link| link.to);
        return links;
    }
    let here = positions_m[from as usize];
    let mut links = Vec::new();
    for (to, there) in positions_m.iter().enumerate() {
        if to == from as usize {
            continue;
        }
        let distance_m = libm::hypot(there[0] - here[0], there[1] - here[1]);
        let power_w = two_ray_power_w(distance_m);
        let (decodable, sensed) = match propagation {
            Propagation::Range { decode_m, sense_m } => (distance_m <= *decode_m, distance_m <= *sense_m),
            _ => (power_w >= DECODE_THRESHOLD_W, power_w >= SENSE_THRESHOLD_W),
        };
        if sensed {
            let delay_ns = libm::round(distance_m / LIGHT_M_PER_S * 1e9) as Ns;
            links.push(Link { to: to as u32, delay_ns, power_w, decodable });
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ray_matches_the_published_thresholds() {
        // ns-2's threshold program prints these for 250 m and 550 m with the constants above.
        assert!((two_ray_power_w(250.0) / 3.652_62e-10 - 1.0).abs() < 1e-5);
        assert!((two_ray_power_w(550.0) / 1.559_24e-11 - 1.0).abs() < 1e-5);
        // 200 m against 400 m is 12 dB: a factor of 16.
        assert!((two_ray_power_w(200.0) / two_ray_power_w(400.0) - 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_chain_of_200_m_decodes_one_hop_and_senses_two() {
        let positions: Vec<[f64; 2]> = (0..5).map(|i| [200.0 * f64::from(i), 0.0]).collect();
        let links = links_from(&Propagation::TwoRay, &positions, 2);
        let summary: Vec<_> = links.iter().map(|link| (link.to, link.decodable, link.delay_ns)).collect();
        assert_eq!(summary, [(0, false, 1333), (1, true, 667), (3, true, 667), (4, false, 1333)]);
    }

    #[test]
    fn own_ranges_override_powers() {
        let positions = [[0.0, 0.0], [200.0, 0.0], [400.0, 0.0]];
        let range = Propagation::Range { decode_m: 250.0, sense_m: 250.0 };
        assert_eq!(links_from(&range, &positions, 0).len(), 1);
    }
}
