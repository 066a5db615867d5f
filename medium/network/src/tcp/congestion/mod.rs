//! Congestion control: the size of the window, in segments and fractions of segments.

mod bbr;
mod control;
mod delay_based;
mod loss_based;
mod westwood;
mod windowed_max;

use pacelab_air_config::FewSettings;

pub use bbr::Bbr;
pub use control::{Ack, CongestionControl, NewReno, Phase, RateSample, Recovery, Reno, Tahoe, mask};
pub use delay_based::{Compound, Vegas};
pub use loss_based::{Cubic, Few};
pub use westwood::{Westwood, Westwood2001};

/// The names that `by_name` accepts.
pub const NAMES: [&str; 10] =
    ["newreno", "reno", "tahoe", "vegas", "westwood", "westwood-2001", "cubic", "ctcp", "few", "bbr"];

/// The congestion control with this name. `bbr-ns3` is one more name, for comparisons with ns-3.
///
/// # Errors
/// The name is unknown. The message is one line with the known names.
pub fn by_name(name: &str, initial_window: u32, window_limit: u32) -> Result<Box<dyn CongestionControl>, String> {
    let (window, limit) = (f64::from(initial_window), f64::from(window_limit));
    Ok(match name {
        "newreno" => Box::new(NewReno::new(window, limit)),
        "reno" => Box::new(Reno::new(window, limit)),
        "tahoe" => Box::new(Tahoe::new(window, limit)),
        "vegas" => Box::new(Vegas::new(window, limit)),
        "westwood" => Box::new(Westwood::new(window, limit)),
        "westwood-2001" => Box::new(Westwood2001::new(window, limit)),
        "cubic" => Box::new(Cubic::new(window, limit)),
        "ctcp" => Box::new(Compound::new(window, limit)),
        "bbr" => Box::new(Bbr::new(initial_window, window_limit)),
        "bbr-ns3" => Box::new(Bbr::of_ns3(initial_window, window_limit)),
        "few" => Box::new(Few::new(window, FewSettings::default())),
        _ => return Err(format!("congestion control {name:?}: must be one of {}", NAMES.join(", "))),
    })
}
