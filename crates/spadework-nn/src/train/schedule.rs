//! How the learning rate changes.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The learning rate over the epochs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Schedule {
    /// The same throughout.
    #[default]
    Constant,
    /// From zero up to the rate at two fifths of the epochs, and down to zero at the end.
    Cyclic,
    /// Divided by ten at each of these epochs.
    MultiStep {
        /// Epochs, counted from 0, before which the rate drops.
        milestones: Vec<usize>,
    },
}

impl Schedule {
    /// The accepted words.
    pub const NAMES: [&'static str; 3] = ["constant", "cyclic", "multi-step"];

    /// # Errors
    /// When milestones do not rise.
    pub fn check(&self) -> Result<()> {
        match self {
            Schedule::MultiStep { milestones } if !milestones.is_sorted_by(|a, b| a < b) => {
                Err(Error::parameter("milestones", "rising", format!("{milestones:?}")))
            }
            _ => Ok(()),
        }
    }

    /// The part of the rate that holds at `epoch`, a point between 0 and `epochs`.
    pub(super) fn factor(&self, epoch: f64, epochs: usize) -> f64 {
        match self {
            Schedule::Constant => 1.0,
            Schedule::Cyclic => {
                let peak = 0.4 * epochs as f64;
                if epoch < peak { epoch / peak } else { (epochs as f64 - epoch) / (epochs as f64 - peak) }
            }
            Schedule::MultiStep { milestones } => {
                0.1_f64.powi(milestones.iter().filter(|&&milestone| milestone as f64 <= epoch).count() as i32)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_rise_fall_and_drop() {
        assert_eq!(Schedule::Constant.factor(7.5, 10), 1.0);
        let cyclic: Vec<f64> =
            [0.0, 2.0, 4.0, 7.0, 10.0].map(|epoch| Schedule::Cyclic.factor(epoch, 10)).to_vec();
        assert_eq!(cyclic, [0.0, 0.5, 1.0, 0.5, 0.0]);
        let steps = Schedule::MultiStep { milestones: vec![2, 4] };
        assert_eq!(steps.factor(1.99, 6), 1.0);
        assert_eq!(steps.factor(2.0, 6), 0.1);
        assert!((steps.factor(5.0, 6) - 0.01).abs() < 1e-12);
        assert!(Schedule::MultiStep { milestones: vec![4, 2] }.check().is_err());
    }
}
