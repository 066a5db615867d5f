//! The network of a wmediumd configuration, which the socket can change: interfaces, positions and link qualities.
//!
//! Source: wmediumd (branch mininet-wifi), config.c, for the laws. Deviates:
//! 1. Powers are computed in floating point. wmediumd truncates them to whole dB.
//! 2. two_ray_ground: beyond the crossover wmediumd uses the received power as the loss. Here the loss is that of the
//!    model, 40 lg d - 20 lg(ht hr). Antennas are 1 m high unless message 19 sets their heights.
//! 3. The carrier is that of the frame. wmediumd uses the carrier of the last frame that the station had sent when
//!    powers were computed (at the start and after each move), or channel 1 (with itu in Hz, which is 120 dB too much).
//! 4. A fading coefficient is the standard deviation of a normal distribution, drawn for each transmission (attempts
//!    and ACKs) and receiver, without rounding. wmediumd draws once per frame from a sum of twelve uniform numbers,
//!    truncated to whole dB.
//! 5. An integer among the tx_powers of the file is that power. In wmediumd it is 0 dBm until the socket sets another
//!    value.

use crate::Mac;
use crate::wmediumd_config::{Config, Law, Model};
use crate::wmediumd_socket::{Outcome, Request};

const SPEED_OF_LIGHT: f64 = 2.997_924_58e8;
/// Smallest distance of the models.
const NEAREST_M: f64 = 0.1;
/// Signal-to-noise ratio of a link for which only an error probability is given.
const GOOD_SNR_DB: f64 = 40.0;
/// Ratio of a pair without a link: SNR_DEFAULT of wmediumd.
const UNNAMED_SNR_DB: f64 = 30.0;
/// Antenna gain until the socket sets another: GAIN_DEFAULT of the wmediumd that Mininet-WiFi installs.
const GAIN_DB: f64 = 5.0;
const NOISE_DBM: f64 = -91.0;

/// A radio's interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Hardware address.
    pub mac: Mac,
    /// Interfaces on different mediums never hear each other.
    pub medium: i32,
    /// Position in m; (0, 0, 0) if the model has no positions.
    pub position_m: [f64; 3],
    tx_power_dbm: f64,
    gain_db: f64,
    height_m: f64,
    gaussian_db: f64,
    is_access_point: bool,
}

/// The model of the links.
#[derive(Clone, Debug, PartialEq)]
enum Rule {
    Law {
        law: Law,
        noise_dbm: f64,
    },
    /// dB over noise, by sender and receiver.
    Snr(Vec<Vec<Option<f64>>>),
    /// Probability of loss, by sender and receiver.
    Loss {
        table: Vec<Vec<Option<f64>>>,
        otherwise: f64,
    },
}

/// All interfaces, by number. A deleted one keeps its number and hears nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    interfaces: Vec<Option<Interface>>,
    rule: Rule,
    fading_db: f64,
    /// For the interfaces of the file, see `step`.
    steps_m: Vec<[f64; 2]>,
}

/// One direction between two interfaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Received power over noise in dB.
    pub snr_db: f64,
    /// Probability that a frame is lost for a reason other than noise and interference.
    pub loss: f64,
    /// Standard deviation of the power of single frames, dB.
    pub fading_db: f64,
}

impl Mesh {
    /// The network at the start.
    pub fn new(config: &Config) -> Mesh {
        let count = config.interfaces.len();
        let mut interfaces: Vec<Interface> = config
            .interfaces
            .iter()
            .zip(&config.mediums)
            .map(|(&mac, &medium)| Interface { medium, ..Interface::new(mac) })
            .collect();
        let mut steps = Vec::new();
        let rule = match &config.model {
            Model::PathLoss { positions_m, steps_m, tx_powers_dbm, access_points, noise_dbm, law } => {
                steps.clone_from(steps_m);
                for (index, interface) in interfaces.iter_mut().enumerate() {
                    interface.position_m = positions_m[index];
                    interface.tx_power_dbm = tx_powers_dbm[index];
                    interface.is_access_point = access_points[index];
                }
                Rule::Law { law: *law, noise_dbm: *noise_dbm }
            }
            Model::Snr(links) => Rule::Snr(mirrored(links, count)),
            Model::ErrorProbability { links, otherwise } => {
                Rule::Loss { table: mirrored(links, count), otherwise: *otherwise }
            }
        };
        let interfaces = interfaces.into_iter().map(Some).collect();
        Mesh { interfaces, rule, fading_db: config.fading_db, steps_m: steps }
    }

    /// Whether interfaces move by the configuration file: call `step` after each `MOVE_INTERVAL_S`.
    pub fn moves(&self) -> bool {
        !self.steps_m.is_empty()
    }

    /// Moves each interface in its direction once.
    pub fn step(&mut self) {
        for (interface, &[x, y]) in self.interfaces.iter_mut().zip(&self.steps_m) {
            let Some(interface) = interface else { continue };
            interface.position_m[0] += x;
            interface.position_m[1] += y;
        }
    }

    /// The interfaces by number.
    pub fn interfaces(&self) -> &[Option<Interface>] {
        &self.interfaces
    }

    /// Executes a request. Returns the number of an interface that it added. Unknown addresses change nothing.
    pub fn apply(&mut self, request: &Request) -> (Outcome, i32) {
        let done = match *request {
            Request::Shutdown => Ok(()),
            Request::Snr { from, to, snr_db } => self.set_snr(from, to, f64::from(snr_db)),
            Request::ErrorProbability { from, to, probability } => self.set_loss(from, to, probability),
            Request::ErrorMatrix { .. } => Err(Outcome::WrongMode),
            Request::DeleteByMac(mac) => self.find(mac).map(|index| self.interfaces[index] = None),
            Request::DeleteById(id) => {
                let place = usize::try_from(id).ok().and_then(|index| self.interfaces.get_mut(index));
                place.and_then(Option::take).map(drop).ok_or(Outcome::NotFound)
            }
            Request::Add(mac) => {
                return match self.find(mac) {
                    Ok(index) => (Outcome::Duplicate, index as i32),
                    Err(_) => (Outcome::Done, self.add(mac)),
                };
            }
            Request::Position { of, position_m } => {
                let position_m = position_m.map(f64::from);
                if position_m.iter().all(|number| number.is_finite()) {
                    self.under_law(of, |interface| interface.position_m = position_m)
                } else {
                    Err(Outcome::WrongMode)
                }
            }
            Request::TxPower { of, dbm } => self.under_law(of, |interface| interface.tx_power_dbm = f64::from(dbm)),
            Request::Gain { of, db } => self.under_law(of, |interface| interface.gain_db = f64::from(db)),
            Request::Height { of, m } => self.under_law(of, |interface| interface.height_m = f64::from(m.max(1))),
            Request::GaussianRandom { of, db } if db.is_finite() => {
                self.under_law(of, |interface| interface.gaussian_db = f64::from(db))
            }
            Request::GaussianRandom { .. } => Err(Outcome::WrongMode),
            Request::Medium { of, medium } => self.change(of, |interface| interface.medium = medium),
        };
        (done.err().unwrap_or(Outcome::Done), 0)
    }

    /// The quality at which `to` hears `from` at this frequency. None: it hears nothing.
    pub fn quality(&self, from: usize, to: usize, carrier_mhz: u32) -> Option<Quality> {
        let (a, b) = (self.interfaces.get(from)?.as_ref()?, self.interfaces.get(to)?.as_ref()?);
        if a.medium != b.medium {
            return None;
        }
        match &self.rule {
            Rule::Law { law, noise_dbm } => {
                let power_dbm = if b.is_access_point { b.tx_power_dbm } else { a.tx_power_dbm };
                let snr_db = power_dbm + a.gain_db + b.gain_db - path_loss_db(*law, a, b, carrier_mhz) - noise_dbm;
                Some(Quality { snr_db, loss: 0.0, fading_db: self.fading_db })
            }
            _ if from == to => None,
            Rule::Snr(table) => {
                let snr_db = table[from][to].unwrap_or(UNNAMED_SNR_DB);
                Some(Quality { snr_db, loss: 0.0, fading_db: self.fading_db })
            }
            Rule::Loss { table, otherwise } => {
                let loss = table[from][to].unwrap_or(*otherwise);
                (loss < 1.0).then_some(Quality { snr_db: GOOD_SNR_DB, loss, fading_db: 0.0 })
            }
        }
    }

    /// Noise in dBm, to convert a ratio to a signal strength.
    pub fn noise_dbm(&self) -> f64 {
        if let Rule::Law { noise_dbm, .. } = self.rule { noise_dbm } else { NOISE_DBM }
    }

    fn find(&self, mac: Mac) -> Result<usize, Outcome> {
        let at = self.interfaces.iter().position(|there| there.as_ref().is_some_and(|interface| interface.mac == mac));
        at.ok_or(Outcome::NotFound)
    }

    fn add(&mut self, mac: Mac) -> i32 {
        self.interfaces.push(Some(Interface::new(mac)));
        let count = self.interfaces.len();
        if let Rule::Snr(table) | Rule::Loss { table, .. } = &mut self.rule {
            table.iter_mut().for_each(|row| row.push(None));
            table.push(vec![None; count]);
        }
        count as i32 - 1
    }

    fn change(&mut self, mac: Mac, change: impl FnOnce(&mut Interface)) -> Result<(), Outcome> {
        let index = self.find(mac)?;
        self.interfaces[index].as_mut().map(change).ok_or(Outcome::NotFound)
    }

    /// Changes a parameter of the path loss model.
    fn under_law(&mut self, mac: Mac, change: impl FnOnce(&mut Interface)) -> Result<(), Outcome> {
        self.find(mac)?;
        if !matches!(self.rule, Rule::Law { .. }) {
            return Err(Outcome::WrongMode);
        }
        self.change(mac, change)
    }

    fn set_snr(&mut self, from: Mac, to: Mac, snr_db: f64) -> Result<(), Outcome> {
        let (from, to) = (self.find(from)?, self.find(to)?);
        let Rule::Snr(table) = &mut self.rule else { return Err(Outcome::WrongMode) };
        table[from][to] = Some(snr_db);
        Ok(())
    }

    fn set_loss(&mut self, from: Mac, to: Mac, probability: f64) -> Result<(), Outcome> {
        let (from, to) = (self.find(from)?, self.find(to)?);
        let Rule::Loss { table, .. } = &mut self.rule else { return Err(Outcome::WrongMode) };
        table[from][to] = Some(probability.clamp(0.0, 1.0));
        Ok(())
    }
}

impl Interface {
    fn new(mac: Mac) -> Interface {
        Interface {
            mac,
            medium: 0,
            position_m: [0.0; 3],
            tx_power_dbm: 14.0,
            gain_db: GAIN_DB,
            height_m: 1.0,
            gaussian_db: 0.0,
            is_access_point: false,
        }
    }
}

/// A table of links. A link applies to both directions unless the other direction is given.
fn mirrored(links: &[(usize, usize, f64)], count: usize) -> Vec<Vec<Option<f64>>> {
    let mut table = vec![vec![None; count]; count];
    for &(from, to, value) in links {
        table[from][to] = Some(value);
    }
    for &(from, to, _) in links {
        table[to][from] = table[to][from].or(table[from][to]);
    }
    table
}

fn path_loss_db(law: Law, a: &Interface, b: &Interface, carrier_mhz: u32) -> f64 {
    let carrier_hz = f64::from(carrier_mhz) * 1e6;
    let squares: f64 = a.position_m.iter().zip(&b.position_m).map(|(one, other)| (one - other).powi(2)).sum();
    let distance_m = libm::sqrt(squares).max(NEAREST_M);
    let decades = libm::log10(distance_m);
    let first_metre_db = 20.0 * libm::log10(4.0 * std::f64::consts::PI * carrier_hz / SPEED_OF_LIGHT);
    match law {
        Law::FreeSpace { system_loss } => first_metre_db + 20.0 * decades + 10.0 * libm::log10(system_loss.max(1.0)),
        Law::LogDistance { exponent, xg_db } => first_metre_db + 10.0 * exponent * decades + xg_db,
        Law::LogNormalShadowing { exponent } => first_metre_db + 10.0 * exponent * decades - a.gaussian_db,
        Law::TwoRayGround => {
            let heights_m2 = a.height_m * b.height_m;
            let crossover_m = 4.0 * std::f64::consts::PI * heights_m2 * carrier_hz / SPEED_OF_LIGHT;
            if distance_m < crossover_m {
                first_metre_db + 20.0 * decades
            } else {
                40.0 * decades - 20.0 * libm::log10(heights_m2)
            }
        }
        Law::Itu { floors, floor_loss_db, coefficient } => {
            let by_distance = if distance_m > 16.0 { 38.0 } else { 28.0 };
            let coefficient = if coefficient == 0.0 { by_distance } else { coefficient };
            20.0 * libm::log10(f64::from(carrier_mhz)) + coefficient * decades + floor_loss_db * floors - 28.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wmediumd_config::PacelabSettings;
    use pacelab_air_config::Preset;

    const A: Mac = [2, 0, 0, 0, 0, 0];
    const B: Mac = [2, 0, 0, 0, 1, 0];

    fn mesh(model: Model) -> Mesh {
        let settings = PacelabSettings {
            preset: Preset::Sinr,
            phy: None,
            rts_threshold_bytes: None,
            ranges_m: None,
            seed: 1,
            pcap: None,
        };
        Mesh::new(&Config { interfaces: vec![A, B], mediums: vec![0, 0], model, fading_db: 3.0, settings })
    }

    fn at_distance(m: f64, law: Law) -> Mesh {
        mesh(Model::PathLoss {
            steps_m: Vec::new(),
            positions_m: vec![[0.0; 3], [m, 0.0, 0.0]],
            tx_powers_dbm: vec![14.0, 20.0],
            access_points: vec![false, false],
            noise_dbm: -91.0,
            law,
        })
    }

    #[test]
    fn interfaces_move_in_their_directions() {
        let mut mesh = mesh(Model::PathLoss {
            steps_m: vec![[0.0, 1.5], [-10.0, 0.0]],
            positions_m: vec![[0.0; 3], [50.0, 0.0, 2.0]],
            tx_powers_dbm: vec![14.0, 20.0],
            access_points: vec![false, false],
            noise_dbm: -91.0,
            law: Law::FreeSpace { system_loss: 1.0 },
        });
        assert!(mesh.moves());
        (0..2).for_each(|_| mesh.step());
        let places: Vec<[f64; 3]> = mesh.interfaces().iter().flatten().map(|interface| interface.position_m).collect();
        assert_eq!(places, [[0.0, 3.0, 0.0], [30.0, 0.0, 2.0]]);
        assert!(!at_distance(10.0, Law::FreeSpace { system_loss: 1.0 }).moves());
    }

    #[test]
    fn free_space_at_ten_metres() {
        // 20 lg(4 pi 10 / 0.12429 m) = 60.10 dB; 14 + 5 + 5 + 91 - 60.10
        let quality = at_distance(10.0, Law::FreeSpace { system_loss: 1.0 }).quality(0, 1, 2412).unwrap();
        assert!((quality.snr_db - 54.90).abs() < 0.01, "{quality:?}");
    }

    #[test]
    fn log_distance_loses_by_its_exponent() {
        // 40.10 dB over the first metre, 3 x 10 dB over the decade
        let mesh = at_distance(10.0, Law::LogDistance { exponent: 3.0, xg_db: 0.0 });
        assert!((mesh.quality(0, 1, 2412).unwrap().snr_db - 44.90).abs() < 0.01);
        assert!((mesh.quality(1, 0, 2412).unwrap().snr_db - 50.90).abs() < 0.01); // its settings 20 dBm
    }

    #[test]
    fn a_frame_at_five_gigahertz_loses_more() {
        // 20 lg(5180 / 2412) = 6.64 dB in every law with a carrier; two-ray ground beyond its crossover has none
        for law in [
            Law::FreeSpace { system_loss: 1.0 },
            Law::LogDistance { exponent: 3.0, xg_db: 0.0 },
            Law::LogNormalShadowing { exponent: 3.0 },
            Law::Itu { floors: 0.0, floor_loss_db: 0.0, coefficient: 0.0 },
        ] {
            let mesh = at_distance(10.0, law);
            let snr_db = |mhz| mesh.quality(0, 1, mhz).unwrap().snr_db;
            assert!((snr_db(2412) - snr_db(5180) - 6.64).abs() < 0.01, "{law:?}");
        }
        let far = at_distance(1000.0, Law::TwoRayGround);
        assert_eq!(far.quality(0, 1, 2412), far.quality(0, 1, 5180));
    }

    #[test]
    fn two_ray_falls_with_the_fourth_power_beyond_the_crossover() {
        // crossover 4 pi / 0.12429 = 101.1 m; at 1000 m: 120 dB
        assert!((at_distance(1000.0, Law::TwoRayGround).quality(0, 1, 2412).unwrap().snr_db + 5.0).abs() < 1e-9);
    }

    #[test]
    fn indoor_floors_count() {
        // 20 lg 2412 = 67.65; 28 lg 10 = 28; one floor of 15 dB; - 28
        let law = Law::Itu { floors: 1.0, floor_loss_db: 15.0, coefficient: 0.0 };
        assert!((at_distance(10.0, law).quality(0, 1, 2412).unwrap().snr_db - (115.0 - 82.65)).abs() < 0.01);
    }

    #[test]
    fn moves_powers_and_gains_take_effect() {
        let mut mesh = at_distance(10.0, Law::LogDistance { exponent: 3.0, xg_db: 0.0 });
        let before = mesh.quality(0, 1, 2412).unwrap().snr_db;
        let moved = Request::Position { of: B, position_m: [100.0, 0.0, 0.0] };
        assert_eq!(mesh.apply(&moved), (Outcome::Done, 0));
        assert_eq!(mesh.apply(&Request::TxPower { of: A, dbm: 17 }), (Outcome::Done, 0));
        assert_eq!(mesh.apply(&Request::Gain { of: B, db: 12 }), (Outcome::Done, 0));
        assert!((mesh.quality(0, 1, 2412).unwrap().snr_db - (before - 30.0 + 3.0 + 7.0)).abs() < 1e-9);
        let nowhere = Request::Position { of: B, position_m: [f32::NAN, 0.0, 0.0] };
        assert_eq!(mesh.apply(&nowhere).0, Outcome::WrongMode);
    }

    #[test]
    fn snr_links_hold_both_ways_until_the_other_is_named() {
        let mut mesh = mesh(Model::Snr(vec![(0, 1, 20.0)]));
        let quality = mesh.quality(1, 0, 2412).unwrap();
        assert_eq!((quality.snr_db, quality.fading_db), (20.0, 3.0));
        assert_eq!(mesh.apply(&Request::Snr { from: B, to: A, snr_db: -10 }).0, Outcome::Done);
        assert_eq!(mesh.quality(1, 0, 2412).unwrap().snr_db, -10.0);
        assert_eq!(mesh.quality(0, 1, 2412).unwrap().snr_db, 20.0);
        let wrong = Request::ErrorProbability { from: A, to: B, probability: 0.5 };
        assert_eq!(mesh.apply(&wrong).0, Outcome::WrongMode);
    }

    #[test]
    fn pairs_that_no_link_names_hear_each_other_as_wmediumds_do() {
        let mesh = mesh(Model::Snr(Vec::new()));
        assert_eq!(mesh.quality(0, 1, 2412).map(|quality| quality.snr_db), Some(30.0));
        assert_eq!(mesh.quality(0, 0, 2412), None);
    }

    #[test]
    fn error_probability_is_a_loss_and_one_is_silence() {
        let mesh = mesh(Model::ErrorProbability { links: vec![(0, 1, 0.25)], otherwise: 1.0 });
        let quality = mesh.quality(0, 1, 2412).unwrap();
        assert_eq!((quality.loss, quality.fading_db), (0.25, 0.0)); // the probability determines everything
        assert_eq!(mesh.quality(0, 0, 2412), None);
    }

    #[test]
    fn interfaces_come_and_go() {
        let mut mesh = mesh(Model::Snr(vec![(0, 1, 20.0)]));
        let c = [2, 0, 0, 0, 2, 0];
        assert_eq!(mesh.apply(&Request::Add(B)), (Outcome::Duplicate, 1));
        assert_eq!(mesh.apply(&Request::Add(c)), (Outcome::Done, 2));
        assert_eq!(mesh.quality(2, 1, 2412).unwrap().snr_db, 30.0);
        assert_eq!(mesh.apply(&Request::Snr { from: A, to: c, snr_db: 15 }).0, Outcome::Done);
        assert_eq!(mesh.quality(0, 2, 2412).unwrap().snr_db, 15.0);
        assert_eq!(mesh.apply(&Request::DeleteById(2)).0, Outcome::Done);
        assert_eq!(mesh.apply(&Request::DeleteById(2)).0, Outcome::NotFound);
        assert_eq!(mesh.apply(&Request::DeleteById(-1)).0, Outcome::NotFound);
        assert_eq!(mesh.quality(0, 2, 2412), None);
        assert_eq!(mesh.apply(&Request::DeleteByMac(c)).0, Outcome::NotFound);
    }

    #[test]
    fn another_medium_is_another_world() {
        let mut mesh = mesh(Model::Snr(vec![(0, 1, 20.0)]));
        assert_eq!(mesh.apply(&Request::Medium { of: B, medium: 3 }).0, Outcome::Done);
        assert_eq!(mesh.quality(0, 1, 2412), None);
    }
}
