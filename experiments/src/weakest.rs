//! CLEVER scores of chosen samples (§ 4.2): the mean over a few, each kept as a part of its own.

use serde_json::{Value, json};
use spadework_nn::attack::Norm;
use spadework_nn::clever::{CleverParams, clever};
use spadework_nn::{Examples, Frozen};

use crate::failure::Failure;
use crate::run::Run;
use crate::statistics::mean;

/// The ball that gradients are looked for in with the norm of most attacks: the box of all images. No score is larger.
pub(crate) const LINF: (Norm, f32) = (Norm::Linf, 1.0);
/// All balls; that in L2 as in the CLEVER paper.
const RADII: [(Norm, f32); 2] = [(Norm::L2, 5.0), LINF];

/// How scores are estimated; the defaults are those of the CLEVER paper.
pub(crate) fn params(run: &Run, (norm, radius): (Norm, f32)) -> CleverParams {
    let defaults = CleverParams::default();
    CleverParams {
        norm,
        radius,
        batches: run.options().clever_batches.unwrap_or(run.size(defaults.batches, 8)),
        samples: run.options().clever_samples.unwrap_or(run.size(defaults.samples, 16)),
        pool: run.size(defaults.pool, 2),
        target: None,
        seed: run.seed(),
    }
}

/// The same for settings.
pub(crate) fn settings(run: &Run) -> Value {
    let CleverParams { batches, samples, pool, seed, .. } = params(run, LINF);
    let radii: Vec<Value> = RADII.iter().map(|(norm, radius)| json!([norm, radius])).collect();
    json!({ "batches": batches, "samples": samples, "pool": pool, "seed": seed, "radii": radii })
}

/// A network whose samples are looked at.
#[derive(Debug)]
pub(crate) struct Suspect<'a> {
    pub(crate) name: &'a str,
    pub(crate) model: &'a Frozen,
    pub(crate) test: &'a Examples,
    /// What the network depends on.
    pub(crate) settings: &'a Value,
}

impl Suspect<'_> {
    /// The mean L2 and L∞ scores of some samples; `None` where the time is over before all are known.
    pub(crate) fn mean_clever(&self, run: &Run, places: &[usize]) -> Result<Option<[f64; 2]>, Failure> {
        let mut scores = [Vec::new(), Vec::new()];
        for &place in places {
            let Some(found) = self.clever(run, place)? else { return Ok(None) };
            for (scores, score) in scores.iter_mut().zip(found) {
                scores.push(score);
            }
        }
        Ok(mean(&scores[0]).zip(mean(&scores[1])).map(|(l2, linf)| [l2, linf]))
    }

    fn clever(&self, run: &Run, place: usize) -> Result<Option<[f64; 2]>, Failure> {
        let settings = json!({ "network": self.settings, "clever": settings(run), "sample": place });
        run.part(&format!("clever/{}/{place}", self.name), &settings, || {
            let score = |ball: (Norm, f32)| -> Result<f64, Failure> {
                let params = params(run, ball);
                let sample = self.test.sample(place);
                Ok(clever(self.model, sample, place as u64, &params, run.monitor())?.score())
            };
            Ok([score(RADII[0])?, score(RADII[1])?])
        })
    }
}

/// Both scores as the paper writes them.
pub(crate) fn shown(scores: Option<[f64; 2]>) -> Value {
    scores.map_or(Value::Null, |[l2, linf]| json!(format!("{l2:.3}/{linf:.4}")))
}
