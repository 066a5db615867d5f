//! Links: which stations receive a sender, at which power and delay. `Row` holds the links of one sender.
//!
//! Two-ray ground reflection with ns-2's constants: 914 MHz, Pt 0.28183815 W, unity gains, antennas 1.5 m high, no
//! system loss; Friis below the crossover 4 pi ht hr / lambda (86.14 m).
//! Source: T. Rappaport, Wireless Communications, Sec. 3.6; ns-2.35's defaults.

use pacelab_air_config::Propagation;

use crate::event_queue::Ns;
use crate::ids::{IdVec, StationId};
use crate::random::Stream;

/// ns-2's value of the speed of light, m/s.
const LIGHT_M_PER_S: f64 = 3.0e8;
const FREQUENCY_HZ: f64 = 914.0e6;
const TRANSMIT_POWER_W: f64 = 0.281_838_15;
const ANTENNA_HEIGHT_M: f64 = 1.5;

/// Weakest signal that is decoded: 250 m in two-ray ground.
pub const DECODE_THRESHOLD_W: f64 = 3.652e-10;
/// Weakest signal that is sensed: 550 m in two-ray ground.
pub const SENSE_THRESHOLD_W: f64 = 1.559e-11;

/// One directed link of the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The receiving station.
    pub to: StationId,
    /// Propagation delay.
    pub delay_ns: Ns,
    /// Received power.
    pub power_w: f64,
    /// Strong enough to be decoded.
    pub decodable: bool,
    /// Probability that a frame is lost for reasons other than noise and interference.
    pub loss: f64,
    /// Variation of the power from frame to frame. None: the power is constant.
    pub fading: Option<Fading>,
}

/// Fading with a separate draw for each frame at each receiver. Such a link exists if a frame with a favourable draw
/// can be sensed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// Standard deviation of the normal distribution, dB.
    pub sigma_db: f64,
    /// A frame weaker than this is not sensed.
    pub sense_w: f64,
    /// A frame weaker than this is not decoded.
    pub decode_w: f64,
}

impl Fading {
    /// The power of one frame over a link of `power_w`, and whether the frame can be decoded. None: it is not sensed.
    pub(crate) fn draw(&self, power_w: f64, stream: &mut Stream) -> Option<(f64, bool)> {
        let power_w = power_w * libm::pow(10.0, self.sigma_db * stream.normal() / 10.0);
        (power_w >= self.sense_w).then_some((power_w, power_w >= self.decode_w))
    }
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

/// The links from station `from` to the stations that sense it, by station number.
pub(crate) fn links_from(
    propagation: &Propagation,
    positions_m: &IdVec<StationId, [f64; 2]>,
    seed: u64,
    from: StationId,
) -> Vec<Link> {
    let others = positions_m.ids().filter(|&to| to != from);
    others.filter_map(|to| link_between(propagation, positions_m, seed, from, to)).collect()
}

/// The link from one station to another, or None if the other does not sense it.
pub(crate) fn link_between(
    propagation: &Propagation,
    positions_m: &IdVec<StationId, [f64; 2]>,
    seed: u64,
    from: StationId,
    to: StationId,
) -> Option<Link> {
    if let Propagation::Matrix { links, .. } = propagation {
        let entry = links.iter().find(|&&(source, sink, _)| (source, sink) == (from.0, to.0));
        let &(_, _, power_w) = entry.filter(|&&(_, _, power_w)| power_w >= SENSE_THRESHOLD_W)?;
        return Some(Link {
            to,
            delay_ns: 0,
            power_w,
            decodable: power_w >= DECODE_THRESHOLD_W,
            loss: 0.0,
            fading: None,
        });
    }
    let (sender_m, receiver_m) = (positions_m[from], positions_m[to]);
    // Rejects most pairs of a large network by one comparison.
    let (x_m, y_m) = (receiver_m[0] - sender_m[0], receiver_m[1] - sender_m[1]);
    if x_m.abs().max(y_m.abs()) > surely_out_of_reach_m(propagation) {
        return None;
    }
    let distance_m = libm::hypot(x_m, y_m);
    let (power_w, decodable, sensed) = match propagation {
        Propagation::Range { decode_m, sense_m, .. } => {
            (two_ray_power_w(distance_m), distance_m <= *decode_m, distance_m <= *sense_m)
        }
        Propagation::LogDistance {
            exponent,
            reference_loss_db,
            tx_power_dbm,
            shadowing_db,
            decode_dbm,
            sense_dbm,
            ..
        } => {
            let loss_db = reference_loss_db + 10.0 * exponent * libm::log10(distance_m.max(1.0));
            let power_dbm = tx_power_dbm - loss_db + shadowing_db * pair_normal(seed, from, to);
            (w_from_dbm(power_dbm), power_dbm >= *decode_dbm, power_dbm >= *sense_dbm)
        }
        _ => {
            let power_w = two_ray_power_w(distance_m);
            (power_w, power_w >= DECODE_THRESHOLD_W, power_w >= SENSE_THRESHOLD_W)
        }
    };
    let delay_ns = libm::round(distance_m / LIGHT_M_PER_S * 1e9) as Ns;
    sensed.then_some(Link { to, delay_ns, power_w, decodable, loss: 0.0, fading: None })
}

/// A distance beyond which nothing is sensed. Not the smallest such distance.
fn surely_out_of_reach_m(propagation: &Propagation) -> f64 {
    match propagation {
        Propagation::TwoRay { .. } => 600.0, // 550 m, see SENSE_THRESHOLD_W
        Propagation::Range { sense_m, .. } => 1.01 * sense_m,
        _ => f64::INFINITY,
    }
}

/// Watts from dBm.
pub fn w_from_dbm(dbm: f64) -> f64 {
    libm::pow(10.0, dbm / 10.0 - 3.0)
}

/// A standard normal draw for a pair of stations, the same in both directions.
fn pair_normal(seed: u64, a: StationId, b: StationId) -> f64 {
    const SHADOWING_STREAM: u64 = 3 << 32;
    let pair = (u64::from(a.min(b).0) << 16) | u64::from(a.max(b).0);
    Stream::new(seed, SHADOWING_STREAM + pair).normal()
}

/// The part of a link that sending a frame needs. It is half as large as a link, so the rows of a large network need
/// half the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hearer {
    pub delay_ns: Ns,
    pub power_w: f64,
    pub loss: f64,
    pub to: StationId,
    pub decodable: bool,
    /// The link fades: each frame needs a draw.
    pub fades: bool,
}

/// The links that leave one station, by receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    links: Vec<Link>,
    hearers: Vec<Hearer>,
    /// Some link fades.
    fades: bool,
}

impl Row {
    pub fn new(links: Vec<Link>) -> Self {
        let hearers: Vec<Hearer> = links.iter().map(hearer).collect();
        Row { fades: hearers.iter().any(|hearer| hearer.fades), hearers, links }
    }

    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Whether some link fades.
    #[inline]
    pub fn fades(&self) -> bool {
        self.fades
    }

    /// Takes the hearers out, in the order of the links, until `give_back`.
    #[inline]
    pub fn lend(&mut self) -> Vec<Hearer> {
        std::mem::take(&mut self.hearers)
    }

    #[inline]
    pub fn give_back(&mut self, hearers: Vec<Hearer>) {
        self.hearers = hearers;
    }

    /// Replaces or removes the link to `to`.
    pub fn replace(&mut self, to: StationId, link: Option<Link>) {
        replace_link(&mut self.links, to, link);
        self.hearers.clear();
        self.hearers.extend(self.links.iter().map(hearer));
        self.fades = self.hearers.iter().any(|hearer| hearer.fades);
    }
}

fn hearer(link: &Link) -> Hearer {
    let &Link { to, delay_ns, power_w, decodable, loss, fading } = link;
    Hearer { delay_ns, power_w, loss, to, decodable, fades: fading.is_some() }
}

/// Replaces or removes the link to `to`.
pub(crate) fn replace_link(links: &mut Vec<Link>, to: StationId, link: Option<Link>) {
    links.retain(|old| old.to != to);
    if let Some(link) = link {
        let place = links.partition_point(|other| other.to < to);
        links.insert(place, link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_sensed_from_where_distances_are_not_computed() {
        let far_m = surely_out_of_reach_m(&Propagation::TwoRay { capture_db: 10.0 });
        assert!(two_ray_power_w(far_m) < SENSE_THRESHOLD_W);
    }

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
        let positions: IdVec<StationId, [f64; 2]> = (0..5).map(|i| [200.0 * f64::from(i), 0.0]).collect();
        let links = links_from(&Propagation::TwoRay { capture_db: 10.0 }, &positions, 1, StationId(2));
        let summary: Vec<_> = links.iter().map(|link| (link.to.0, link.decodable, link.delay_ns)).collect();
        assert_eq!(summary, [(0, false, 1333), (1, true, 667), (3, true, 667), (4, false, 1333)]);
    }

    #[test]
    fn log_distance_loses_ten_times_the_exponent_per_decade() {
        let positions = vec![[0.0, 0.0], [10.0, 0.0], [100.0, 0.0]].into();
        let propagation = |shadowing_db| Propagation::LogDistance {
            exponent: 3.0,
            reference_loss_db: 40.0,
            tx_power_dbm: 20.0,
            shadowing_db,
            decode_dbm: -70.0,
            sense_dbm: -90.0,
            capture_db: 10.0,
        };
        // 20 - 40 - 30 = -50 dBm at 10 m, -80 dBm at 100 m
        let links = links_from(&propagation(0.0), &positions, 1, StationId(0));
        let summary: Vec<_> = links.iter().map(|link| (link.to.0, link.decodable)).collect();
        assert_eq!(summary, [(1, true), (2, false)]);
        assert!((links[0].power_w / 1e-8 - 1.0).abs() < 1e-9 && (links[1].power_w / 1e-11 - 1.0).abs() < 1e-9);
        let shadowed = |seed, a, b| {
            let link = link_between(&propagation(6.0), &positions, seed, StationId(a), StationId(b));
            link.map(|link| link.power_w)
        };
        assert_eq!(shadowed(1, 0, 1), shadowed(1, 1, 0));
        assert_ne!(shadowed(1, 0, 1), shadowed(2, 0, 1));
    }

    #[test]
    fn own_ranges_override_powers() {
        let positions = vec![[0.0, 0.0], [200.0, 0.0], [400.0, 0.0]].into();
        let range = Propagation::Range { decode_m: 250.0, sense_m: 250.0, capture_db: 10.0 };
        assert_eq!(links_from(&range, &positions, 1, StationId(0)).len(), 1);
    }
}
