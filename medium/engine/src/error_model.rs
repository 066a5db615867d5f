//! The error model: the probability that bits survive at a ratio of signal to interference and noise.
//!
//! DSSS and CCK: differential BPSK and QPSK in closed form, CCK by fitted curves. OFDM: the NIST model, the union
//! bound of the K = 7 convolutional code with hard decisions over the constellation's bit error rate.
//! Source: G. Pei and T. Henderson, "Validation of ns-3 802.11b PHY model" (2009) and "Validation of OFDM error rate
//! model in ns-3" (2010); distance spectra: P. Frenger et al., IEEE Commun. Lett. 3(11), 1999.

use pacelab_air_config::{DSSS_RATES_BPS, Width};

use crate::mcs::Mcs;
use crate::phy::{DSSS_BANDWIDTH_HZ, Modulation, Phy, is_ht_basic};
use crate::ppdu::non_ht_reference_bps;
use crate::rules::{Overlap, Rules};

/// Probability that a frame without interference is decoded.
pub(crate) fn success_alone(rules: &Rules, rate_bps: u32, power_w: f64, bytes: u32) -> f64 {
    if rules.overlap != Overlap::ErrorModel {
        return 1.0;
    }
    libm::exp(log_success(&rules.phy, rate_bps, power_w / rules.phy.noise_w(), f64::from(bytes) * 8.0))
}

/// The fitted CCK curves hold between these ratios. Above, all bits survive; below, the frame is lost.
const CCK_PERFECT: f64 = 10.0;
const CCK_IMPOSSIBLE: f64 = 0.1;

/// Logarithm for a bit error rate of 1/2, at which nothing is received.
const LOST: f64 = -1e6;

/// Natural logarithm of the probability that `bits` bits at `rate_bps` survive at this power ratio.
pub(crate) fn log_success(phy: &Phy, rate_bps: u32, sinr: f64, bits: f64) -> f64 {
    let error = match phy.modulation {
        _ if Mcs::is_code(rate_bps) => Mcs::from_code(rate_bps).map_or(0.5, |mcs| wide_bit_error(mcs, sinr)),
        Modulation::Dsss { .. } => dsss_bit_error(rate_bps, sinr),
        Modulation::DsssAndOfdm if DSSS_RATES_BPS.contains(&rate_bps) => dsss_bit_error(rate_bps, sinr),
        Modulation::HighThroughput { mode, .. } if !is_ht_basic(rate_bps) => match mode.mcs_of(rate_bps) {
            Some(index) => mcs_bit_error(index, sinr),
            None => ofdm_bit_error(rate_bps, sinr),
        },
        _ => ofdm_bit_error(rate_bps, sinr),
    };
    if error >= 0.5 { LOST } else { bits * libm::log1p(-error) }
}

fn dsss_bit_error(rate_bps: u32, sinr: f64) -> f64 {
    match rate_bps {
        1_000_000 => 0.5 * libm::exp(-sinr * DSSS_BANDWIDTH_HZ / 1.0e6),
        2_000_000 => dqpsk_bit_error(sinr * DSSS_BANDWIDTH_HZ / 2.0e6),
        _ if sinr > CCK_PERFECT => 0.0,
        _ if sinr < CCK_IMPOSSIBLE => 0.5,
        5_500_000 => 0.536_816_343_4 * libm::exp(-libm::pow((sinr - 0.003_309_243) / 0.416_543_723_6, 1.028_898_143)),
        _ => {
            let above = (0.007_905_674_23 * sinr - 0.183_974_493_99) * sinr + 1.074_068_946_87;
            let below = ((sinr + 1.052_331_690_45) * sinr + 0.305_522_987_46) * sinr + 2.203_271_512_87;
            (above / below).max(0.0)
        }
    }
}

fn dqpsk_bit_error(ebn0: f64) -> f64 {
    let root2 = std::f64::consts::SQRT_2;
    let scale = (root2 + 1.0) / libm::sqrt(8.0 * std::f64::consts::PI * root2);
    (scale / libm::sqrt(ebn0) * libm::exp(-(2.0 - root2) * ebn0)).min(0.5)
}

/// Distance spectra of code rates 1/2, 2/3 and 3/4: first exponent of D, step between exponents, and weights.
const HALF: (u32, u32, &[f64]) =
    (10, 2, &[36.0, 211.0, 1404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0]);
const TWO_THIRDS: (u32, u32, &[f64]) =
    (6, 1, &[3.0, 70.0, 285.0, 1_276.0, 6_160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0]);
const THREE_QUARTERS: (u32, u32, &[f64]) = (
    5,
    1,
    &[42.0, 201.0, 1_492.0, 10_469.0, 62_935.0, 379_644.0, 2_253_373.0, 13_073_811.0, 75_152_755.0, 428_005_675.0],
);

/// For code rate 5/6, which 802.11a has not: the values of ns-3's NIST model.
const FIVE_SIXTHS: (u32, u32, &[f64]) = (
    4,
    1,
    &[
        92.0,
        528.0,
        8_694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
);

/// For a constellation of M points: 4 (1 - 1 / sqrt(M)) / log2(M), the share of bits that a symbol error at distance 1
/// changes, and the mean energy 2 (M - 1) / 3.
const QAM64: (f64, f64) = (7.0 / 12.0, 42.0);
const QAM256: (f64, f64) = (15.0 / 32.0, 170.0);
const QAM1024: (f64, f64) = (31.0 / 80.0, 682.0);

fn ofdm_bit_error(rate_bps: u32, sinr: f64) -> f64 {
    let (share, energy, spectrum, info_bits) = match rate_bps {
        6_000_000 => (1.0, 1.0, HALF, 1.0),
        9_000_000 => (1.0, 1.0, THREE_QUARTERS, 3.0),
        12_000_000 => (1.0, 2.0, HALF, 1.0),
        18_000_000 => (1.0, 2.0, THREE_QUARTERS, 3.0),
        24_000_000 => (0.75, 10.0, HALF, 1.0),
        36_000_000 => (0.75, 10.0, THREE_QUARTERS, 3.0),
        48_000_000 => (QAM64.0, QAM64.1, TWO_THIRDS, 2.0),
        _ => (QAM64.0, QAM64.1, THREE_QUARTERS, 3.0),
    };
    coded_bit_error((share, energy), spectrum, info_bits, sinr)
}

/// The physical layer of a station whose frames have an MCS of their own counts the noise of 20 MHz. A wider frame meets
/// more noise, and interference counts as if it filled the channel.
fn wide_bit_error(mcs: Mcs, sinr: f64) -> f64 {
    mcs_bit_error(mcs.index(), sinr * f64::from(Width::Mhz20.mhz()) / f64::from(mcs.mode().width.mhz()))
}

fn mcs_bit_error(index: u8, sinr: f64) -> f64 {
    match index {
        7 => coded_bit_error(QAM64, FIVE_SIXTHS, 5.0, sinr),
        8 => coded_bit_error(QAM256, THREE_QUARTERS, 3.0, sinr),
        9 => coded_bit_error(QAM256, FIVE_SIXTHS, 5.0, sinr),
        10 => coded_bit_error(QAM1024, THREE_QUARTERS, 3.0, sinr),
        11 => coded_bit_error(QAM1024, FIVE_SIXTHS, 5.0, sinr),
        _ => ofdm_bit_error(non_ht_reference_bps(index), sinr),
    }
}

fn coded_bit_error((share, energy): (f64, f64), spectrum: (u32, u32, &[f64]), info_bits: f64, sinr: f64) -> f64 {
    let (first, step, weights) = spectrum;
    let raw = share * 0.5 * libm::erfc(libm::sqrt(sinr / energy));
    let d = libm::sqrt(4.0 * raw * (1.0 - raw));
    let mut power = libm::pow(d, f64::from(first));
    let d_step = libm::pow(d, f64::from(step));
    let mut sum = 0.0;
    for weight in weights {
        sum += weight * power;
        power *= d_step;
    }
    (sum / (2.0 * info_bits)).min(0.5)
}

#[cfg(test)]
mod tests {
    use pacelab_air_config::{Band, Format, GuardInterval, Mode, Width};

    use super::*;

    fn frame_success(phy: &Phy, rate_bps: u32, snr_db: f64, bytes: f64) -> f64 {
        libm::exp(log_success(phy, rate_bps, libm::pow(10.0, snr_db / 10.0), bytes * 8.0))
    }

    #[test]
    fn noise_is_that_of_a_7_db_receiver() {
        // -174 dBm/Hz + 10 log10(22e6) + 7 = -93.5 dBm = 4.4e-13 W
        assert!((Phy::dsss(true).noise_w() / 4.41e-13 - 1.0).abs() < 0.01);
    }

    #[test]
    fn faster_rates_need_more_signal() {
        let threshold = |phy: &Phy, rate_bps| {
            (-200..400).map(f64::from).find(|tenths| frame_success(phy, rate_bps, tenths / 10.0, 1024.0) > 0.9)
        };
        let wide = Mode { width: Width::Mhz80, format: Format::HeSu, ..Mode::ht20(GuardInterval::Long) };
        for phy in [Phy::dsss(true), Phy::ofdm_a(), Phy::high_throughput(wide, Band::Ghz5)] {
            let needed: Vec<_> = phy.rates_bps().iter().map(|&rate| threshold(&phy, rate).unwrap() / 10.0).collect();
            // 9 Mbit/s (BPSK 3/4) needs more than 12 (QPSK 1/2): a known oddity of 802.11a
            let odd = |pair: &[f64]| pair[0] > pair[1];
            assert!(needed.windows(2).filter(|pair| odd(pair)).count() <= 1, "{needed:?}");
            assert!(needed[0] < needed[phy.rates_bps().len() - 1] - 5.0, "{needed:?}");
        }
    }

    #[test]
    fn dbpsk_is_the_textbook_curve() {
        // 1 Mbit/s in 22 MHz: 0 dB SNR is Eb/N0 = 22, Pb = exp(-22) / 2 = 1.39e-10
        let error = dsss_bit_error(1_000_000, 1.0);
        assert!((error / 1.394_7e-10 - 1.0).abs() < 1e-3, "{error}");
    }

    /// ns-3's fits by Pei and Henderson (2009), evaluated independently of this code with all printed digits.
    #[test]
    fn bit_errors_are_those_of_the_published_curves() {
        let table = [
            // SINR, then 2, 5.5 and 11 Mbit/s
            (0.05, [0.395_635, 0.5, 0.5]),
            (0.5, [6.886_46e-3, 0.161_930, 0.358_607]),
            (1.0, [1.942_05e-4, 4.614_55e-2, 0.196_881]),
            (2.0, [2.184_25e-7, 3.561_18e-3, 4.910_54e-2]),
            (4.0, [3.907_54e-13, 1.911_75e-5, 5.514_44e-3]),
            (10.0, [4.002_05e-30, 2.016_47e-12, 2.241_48e-5]),
            (10.5, [1.557_64e-31, 0.0, 0.0]),
        ];
        for (sinr, errors) in table {
            for (rate_bps, expected) in [2_000_000, 5_500_000, 11_000_000].into_iter().zip(errors) {
                let error = dsss_bit_error(rate_bps, sinr);
                assert!((error - expected).abs() <= 1e-5 * expected, "{rate_bps} {sinr}: {error}");
            }
        }
    }

    #[test]
    fn dense_constellations_have_the_bit_errors_of_the_textbook() {
        // 256-QAM: Pb = 4 / 8 * (1 - 1/16) * Q(sqrt(3 SNR / 255)) = 15/32 * erfc(sqrt(SNR / 170)) / 2.
        // At SNR 170 * 4 the argument is 2, erfc(2) = 4.677_73e-3: Pb = 1.096_34e-3, D = sqrt(4 Pb (1 - Pb)) = 6.618_7e-2.
        // Code rate 3/4: (42 D^5 + 201 D^6 + 1492 D^7 + ...) / 6; the terms below 1e-9 do not show.
        let d: f64 = 6.618_7e-2;
        let weights = [42.0, 201.0, 1_492.0, 10_469.0, 62_935.0, 379_644.0, 2_253_373.0, 13_073_811.0];
        let sum: f64 = (5..).zip(weights).map(|(power, weight)| weight * d.powi(power)).sum();
        let error = coded_bit_error(QAM256, THREE_QUARTERS, 3.0, 680.0);
        assert!((error / (sum / 6.0) - 1.0).abs() < 1e-2, "{error} {}", sum / 6.0);
        // 1024-QAM: 4 / 10 * (1 - 1/32) = 31/80; 2 * 1023 / 3 = 682
        assert_eq!(QAM1024, (0.3875, 682.0));
    }

    #[test]
    fn b_rates_have_their_curves_on_a_radio_for_b_and_g() {
        let both = Phy::dsss_and_ofdm();
        for rate_bps in [1_000_000, 11_000_000] {
            assert_eq!(log_success(&both, rate_bps, 1.0, 1.0), log_success(&Phy::dsss(true), rate_bps, 1.0, 1.0));
        }
        assert_eq!(log_success(&both, 54_000_000, 30.0, 1.0), log_success(&Phy::ofdm_a(), 54_000_000, 30.0, 1.0));
    }
}
