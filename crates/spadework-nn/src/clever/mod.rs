//! CLEVER scores: how far a sample can be moved before its class may change, estimated from gradients.
//!
//! Weng, Zhang, Chen, Yi, Su, Gao, Hsieh and Daniel (2018). With g = f_c − f_j for the predicted class c and a target j, no
//! perturbation smaller than g(x)/L reaches j, where L is the largest dual norm of ∇g in the ball around x. L is estimated
//! by extreme value theory: the largest norm of each of `batches` batches of `samples` random points follows a reverse
//! Weibull distribution, whose fitted endpoint is L. The score is min(g(x)/L, radius); the untargeted one is the smallest
//! over all targets.
//!
//! As in IBM ART, batches are drawn with replacement from a pool of points; the authors' code draws new points for each batch.
//! With a pool, gradients are needed only once per point, and a batch is a choice among known norms.

mod weibull;

use std::time::{Duration, Instant};

use burn_tensor::Tensor;
use rand::RngExt;
use serde::Serialize;
use spadework::Monitor;
use spadework::monitor::Stage;

pub use weibull::ReverseWeibull;

use crate::attack::{Norm, predicted};
use crate::network::{Frozen, to_host};
use crate::random::{Purpose, stream};
use crate::{Error, Result};

/// Points whose gradients are taken at once.
const CHUNK: usize = 256;

/// The smallest p value (Kolmogorov and Smirnov) of an accepted fit, as in the authors' code. Batches from a small pool have few
/// different maxima, and the endpoint of their best fit may be anywhere beyond them.
pub const LEAST_P_VALUE: f64 = 0.001;

/// How CLEVER scores are estimated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CleverParams {
    /// The norm that perturbations are measured in: `linf`, `l2` or `l1`.
    pub norm: Norm,
    /// The radius of the ball; no score is larger.
    pub radius: f32,
    /// Batches, each of which gives one maximum.
    pub batches: usize,
    /// Points of a batch.
    pub samples: usize,
    /// Points of the pool that batches are drawn from, as a multiple of `samples`.
    pub pool: usize,
    /// The class to reach; null for the one that is nearest by score.
    pub target: Option<usize>,
    /// Seed of the points and batches.
    pub seed: u64,
}

impl Default for CleverParams {
    fn default() -> Self {
        Self { norm: Norm::L2, radius: 5.0, batches: 500, samples: 1024, pool: 10, target: None, seed: 0 }
    }
}

impl CleverParams {
    /// # Errors
    /// When a value is outside its range, or the target is not an output of the network.
    pub fn check_for(&self, classes: usize) -> Result<()> {
        if !(self.radius > 0.0 && self.radius.is_finite()) {
            return Err(Error::parameter("the radius", "positive", self.radius));
        }
        // Three parameters are fitted.
        if self.batches < 4 {
            return Err(Error::parameter("batches", "at least 4", self.batches));
        }
        for (name, value) in [("samples", self.samples), ("pool", self.pool)] {
            if value == 0 {
                return Err(Error::parameter(name, "at least 1", value));
            }
        }
        match self.target {
            Some(target) if target >= classes => {
                Err(Error::parameter("the target", "a class of the network", target))
            }
            _ => Ok(()),
        }
    }
}

/// How L was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimate {
    /// The endpoint of the fitted distribution.
    Weibull(ReverseWeibull),
    /// The largest norm that was seen, because the maxima have no accepted fit: they are all equal, have no bounded tail, or
    /// their best fit is poor (a p value below [`LEAST_P_VALUE`]).
    Maximum,
}

/// The score against one target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetScore {
    /// The class that would have to be reached.
    pub target: usize,
    /// g(x), the margin of the predicted class over the target.
    pub margin: f64,
    /// L, the estimated Lipschitz constant.
    pub lipschitz: f64,
    /// The largest gradient norm that was seen; L is no smaller.
    pub largest: f64,
    /// min(g(x)/L, radius).
    pub score: f64,
    /// How L was found.
    pub estimate: Estimate,
}

/// The score of a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct CleverScore {
    /// The predicted class.
    pub class: usize,
    /// Scores against each target, or against the requested one.
    pub targets: Vec<TargetScore>,
    /// Gradients that were computed.
    pub gradients: usize,
    /// Wall time.
    pub time: Duration,
}

impl CleverScore {
    /// The smallest over the targets.
    pub fn score(&self) -> f64 {
        self.weakest().score
    }

    /// The target that is nearest.
    ///
    /// # Panics
    /// When there is no target, which never happens with a score from [`clever`].
    pub fn weakest(&self) -> &TargetScore {
        let nearest = self.targets.iter().min_by(|a, b| a.score.total_cmp(&b.score));
        nearest.expect("there is at least one target")
    }
}

/// The CLEVER score of one sample. `index` selects its stream of random points. They are cut to the box [0, 1] where the sample itself lies
/// in it.
///
/// # Errors
/// When the sample or the parameters do not fit the network, the target is the class already predicted, or the monitor asks
/// to stop.
pub fn clever(
    model: &Frozen,
    sample: &[f32],
    index: u64,
    params: &CleverParams,
    monitor: &dyn Monitor,
) -> Result<CleverScore> {
    let boxed = sample.iter().all(|value| (0.0..=1.0).contains(value));
    clever_cut_to(model, sample, index, params, boxed.then_some((0.0, 1.0)), monitor)
}

/// As [`clever`], with random points cut to a box of your choice, or not at all. The sample need not lie in the box; where it does not,
/// the points are not those of the ball around it, and the score bounds nothing.
///
/// # Errors
/// As [`clever`].
pub fn clever_cut_to(
    model: &Frozen,
    sample: &[f32],
    index: u64,
    params: &CleverParams,
    limits: Option<(f32, f32)>,
    monitor: &dyn Monitor,
) -> Result<CleverScore> {
    params.check_for(model.classes())?;
    model.check_size(sample.len())?;
    let began = Instant::now();
    monitor.begin(Stage::Named("clever"));
    let outputs = model.outputs(sample)?;
    check_finite(&outputs, model.classes(), "of the sample")?;
    let class = predicted(&outputs);
    let targets: Vec<usize> = match params.target {
        Some(target) if target == class => {
            return Err(Error::parameter("the target", "another class than the predicted one", target));
        }
        Some(target) => vec![target],
        None => (0..model.classes()).filter(|&target| target != class).collect(),
    };
    let pool = pool(sample, index, params, limits);
    let mut scores = Vec::with_capacity(targets.len());
    for &target in &targets {
        let norms = gradient_norms(model, &pool, class, target, params.norm, monitor)?;
        let maxima = batch_maxima(&norms, index, target, params);
        let margin = f64::from(outputs[class] - outputs[target]);
        scores.push(score(target, margin, &maxima, params));
        monitor.progress(scores.len() as u64, targets.len() as u64);
    }
    let gradients = targets.len() * params.pool * params.samples;
    Ok(CleverScore { class, targets: scores, gradients, time: began.elapsed() })
}

/// Random points of the ball, cut to a box where there is one.
fn pool(sample: &[f32], index: u64, params: &CleverParams, limits: Option<(f32, f32)>) -> Vec<f32> {
    let mut rng = stream(params.seed, Purpose::Ball, 0, index);
    let mut points = vec![0.0; params.pool * params.samples * sample.len()];
    for point in points.chunks_mut(sample.len()) {
        params.norm.draw(&mut rng, point);
        for (value, center) in point.iter_mut().zip(sample) {
            *value = center + params.radius * *value;
            if let Some((low, high)) = limits {
                *value = value.clamp(low, high);
            }
        }
    }
    points
}

/// The dual norm of ∇(f_c − f_j) at every point.
fn gradient_norms(
    model: &Frozen,
    points: &[f32],
    class: usize,
    target: usize,
    norm: Norm,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let size = model.input_size();
    let mut norms = Vec::with_capacity(points.len() / size);
    for chunk in points.chunks(CHUNK * size) {
        if monitor.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let margin = |outputs: Tensor<2>| {
            let output = |class: usize| outputs.clone().narrow(1, class, 1).sum();
            output(class) - output(target)
        };
        let (outputs, gradient) = model.input_gradient(model.rows(chunk), margin);
        check_finite(&to_host(outputs), model.classes(), "of a random point near the sample")?;
        let lengths = match norm {
            Norm::L1 => gradient.abs().max_dim(1),
            Norm::L2 => gradient.square().sum_dim(1).sqrt(),
            Norm::Linf => gradient.abs().sum_dim(1),
        };
        norms.extend(to_host(lengths).into_iter().map(f64::from));
    }
    Ok(norms)
}

/// Refuses outputs that are no numbers: their gradients would be taken for 0, and the sample for one that no change moves.
fn check_finite(outputs: &[f32], classes: usize, of: &'static str) -> Result<()> {
    match outputs.iter().position(|output| !output.is_finite()) {
        Some(at) => Err(Error::Output { of, class: at % classes, got: outputs[at] }),
        None => Ok(()),
    }
}

/// The largest norm of each batch.
fn batch_maxima(norms: &[f64], index: u64, target: usize, params: &CleverParams) -> Vec<f64> {
    let mut rng = stream(params.seed, Purpose::Ball, target as u64 + 1, index);
    let mut batch = || {
        (0..params.samples).map(|_| norms[rng.random_range(0..norms.len())]).fold(f64::NEG_INFINITY, f64::max)
    };
    (0..params.batches).map(|_| batch()).collect()
}

fn score(target: usize, margin: f64, maxima: &[f64], params: &CleverParams) -> TargetScore {
    let largest = maxima.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let believed = |fitted: &ReverseWeibull| fitted.p_value(maxima.len()) >= LEAST_P_VALUE;
    let (lipschitz, estimate) = match ReverseWeibull::fit(maxima).filter(believed) {
        Some(fitted) => (fitted.endpoint, Estimate::Weibull(fitted)),
        None => (largest, Estimate::Maximum),
    };
    let radius = f64::from(params.radius);
    // A flat network can be moved anywhere without a change.
    let score = if lipschitz > 0.0 { (margin / lipschitz).min(radius) } else { radius };
    TargetScore { target, margin, lipschitz, largest, score, estimate }
}
