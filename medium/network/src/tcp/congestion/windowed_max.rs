//! The largest value of a sliding window, approximately.
//!
//! Three samples are kept: the best one, the best one since then, and the best one since that. Source: K. Nichols'
//! algorithm as in `lib/win_minmax.c` of Linux.

/// A value and when it was measured.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    at: u64,
    value: u64,
}

/// The largest value of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax([Measured; 3]);

impl WindowedMax {
    pub fn value(&self) -> u64 {
        self.0[0].value
    }

    /// Adds a value measured at `at`; values from before `at - window` no longer count.
    pub fn add(&mut self, window: u64, at: u64, value: u64) {
        let new = Measured { at, value };
        if value >= self.0[0].value || at - self.0[2].at > window {
            self.0 = [new; 3];
            return;
        }
        if value >= self.0[1].value {
            self.0[1] = new;
            self.0[2] = new;
        } else if value >= self.0[2].value {
            self.0[2] = new;
        }
        let age = at - self.0[0].at;
        if age > window {
            self.shift(new);
            if at - self.0[0].at > window {
                self.shift(new);
            }
        } else if self.0[1].at == self.0[0].at && age > window / 4 {
            self.0[1] = new;
            self.0[2] = new;
        } else if self.0[2].at == self.0[1].at && age > window / 2 {
            self.0[2] = new;
        }
    }

    fn shift(&mut self, new: Measured) {
        self.0 = [self.0[1], self.0[2], new];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_value_is_forgotten_after_the_window() {
        let mut filter = WindowedMax::default();
        // A window of 10 rounds: 50 at round 0, then 30, then 40.
        let mut add = |at, value| {
            filter.add(10, at, value);
            filter.value()
        };
        assert_eq!(add(0, 50), 50);
        assert_eq!(add(3, 30), 50); // more than a quarter later: second best
        assert_eq!(add(6, 40), 50); // better than 30: second and third best
        assert_eq!(add(10, 20), 50); // exactly the window old: still counts
        assert_eq!(add(11, 20), 40);
        assert_eq!(add(17, 10), 20); // 40 of round 6 is 11 rounds old
        assert_eq!(add(18, 60), 60);
    }
}
