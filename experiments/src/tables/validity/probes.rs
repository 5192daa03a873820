//! What perturbed copies show of one network, which they see as a black box.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::Samples;
use spadework_nn::Frozen;
use spadework_nn::attack::{AttackParams, Budget, Method, Norm, Square, attack};
use spadework_probe::{
    ChannelOrder, Grid, Probe, ProbeKind, ProbeParams, ProbeSummary, ProbedSample, probe_model,
};

use super::net::Cost;
use crate::data::Images;
use crate::failure::Failure;
use crate::run::{Run, Timed};

/// Indices of a network that probes give at every size of attacks; of all, more is more robust.
pub(super) const INDICES: [&str; 6] = [
    "probes: robust accuracy, estimated",
    "probes: held",
    "probes: stability",
    "noise in pixels: margin / change",
    "noise in blocks: margin / change",
    "Square at the queries of a search: survived",
];
/// The one that is in the unit of what it is to predict.
pub(super) const ESTIMATE: usize = 0;

/// Copies of a search and of noise in a quick run.
const FEW_COPIES: (usize, usize) = (8, 2);

/// The kinds of copies, as `--probe linf:SIZE:KIND` names them.
const KINDS: [&str; 3] = ["search", "pixel", "block"];
/// As many times the copies of a search has one that is part of the truth, for every image; so many a pilot gets too.
const LONGER: usize = 8;

/// How one network is probed.
pub(super) struct Plan {
    params: ProbeParams,
    name: String,
}

/// All plans of one size.
pub(super) struct Plans {
    pub(super) search: Plan,
    pub(super) pixels: Plan,
    pub(super) blocks: Plan,
    pub(super) long: Plan,
}

/// What the copies of one kind and size have shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Probing {
    pub(super) held: f64,
    pub(super) robust_accuracy: Option<f64>,
    /// The ends of its interval.
    pub(super) interval: Option<[f64; 2]>,
    pub(super) stability: f64,
    pub(super) margin_ratio: Option<f64>,
    /// The smallest margin of every image over its copies.
    pub(super) lowest: Vec<f64>,
    /// What the chance of every image that survived a search follows from: the two logarithms that have weights.
    pub(super) shown: Vec<Option<[f64; 2]>>,
    /// Rows that went through the network.
    pub(super) evaluations: u64,
}

/// What the Square attack left with the queries that a search may take.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Squared {
    pub(super) survived: f64,
    /// Rows that went through the network.
    pub(super) evaluations: u64,
}

/// All probes of one size: a search, two kinds of noise, a search that is part of the truth, and the attack that the first is compared with.
#[derive(Debug, Clone)]
pub(super) struct OfSize {
    pub(super) search: Timed<Probing>,
    pub(super) pixels: Timed<Probing>,
    pub(super) blocks: Timed<Probing>,
    pub(super) long: Timed<Probing>,
    pub(super) square: Timed<Squared>,
}

impl Plans {
    /// For copies that are as far away as an attack of this size goes.
    pub(super) fn new(run: &Run, size: &str, images: &Images) -> Self {
        let plan = |kind: &str, longer: usize, name: &str| {
            let probe = probe(size, kind);
            let params = ProbeParams::new(probe)
                .with_probes(longer * copies(run, probe))
                .with_samples(images.len())
                .with_grid(Some(grid(&images.shape)))
                .with_seed(run.seed());
            Plan { params, name: format!("{probe}{name}") }
        };
        let [search, pixels, blocks] = KINDS.map(|kind| plan(kind, 1, ""));
        Self { search, pixels, blocks, long: plan(KINDS[0], LONGER, ":long") }
    }

    pub(super) fn settings(&self) -> [Value; 4] {
        [&self.search, &self.pixels, &self.blocks, &self.long].map(Plan::settings)
    }
}

impl Plan {
    /// What the result depends on, in addition to the network and the images.
    pub(super) fn settings(&self) -> Value {
        let ProbeParams { probe, probes, seed, .. } = &self.params;
        json!({ "probe": probe.to_string(), "copies": probes, "seed": seed })
    }

    /// Kind and size as part of a name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn run(&self, run: &Run, model: &Frozen, images: &Images) -> Result<Probing, Failure> {
        let outputs = |rows: &Samples<'_>| -> Result<Samples<'static>, Failure> {
            let outputs = model.outputs(&spadework_nn::to_floats(rows))?;
            Ok(Samples::from_f32(rows.len(), model.classes(), outputs)?)
        };
        let probed = probe_model(&images.samples()?, outputs, &self.params, run.monitor())?;
        let ProbeSummary { survived: held, robust_accuracy, estimated, stability, margin_ratio, .. } =
            probed.summary(Some(&images.labels()))?;
        let interval = estimated.map(|estimated| [estimated.lower, estimated.upper]);
        let lowest = probed.samples.iter().map(|sample| sample.lowest).collect();
        let shown = |sample: &ProbedSample| {
            let chance = sample.chance.filter(|_| sample.holds())?;
            Some([chance.taken, chance.late])
        };
        let shown = probed.samples.iter().map(shown).collect();
        let evaluations = probed.evaluations;
        Ok(Probing { held, robust_accuracy, interval, stability, margin_ratio, lowest, shown, evaluations })
    }
}

impl Squared {
    /// Runs the attack within this radius, with at most the copies of a search.
    pub(super) fn run(run: &Run, model: &Frozen, images: &Images, epsilon: f32) -> Result<Self, Failure> {
        let queries = copies(run, probe("1", KINDS[0]));
        let square = Square { norm: Norm::Linf, queries };
        let params = AttackParams {
            seed: run.seed(),
            batch: run.batch(),
            ..AttackParams::only(Method::Square(square))
        };
        let budget = Budget::same(epsilon, images.len())?;
        let report = attack(model, &images.examples, &budget, &params, run.monitor())?;
        let asked = report.outcomes.iter().map(|outcome| match outcome.broken {
            _ if !outcome.clean() => 1,
            Some(broken) => broken.step + 2,
            None => queries + 1,
        });
        Ok(Self { survived: report.robust_accuracy(), evaluations: asked.map(|asked| asked as u64).sum() })
    }
}

fn probe(size: &str, kind: &str) -> Probe {
    format!("linf:{size}:{kind}").parse().expect("sizes and kinds are those of probes")
}

/// Copies of an image, at most.
fn copies(run: &Run, probe: Probe) -> usize {
    let few = if probe.kind() == ProbeKind::Search { FEW_COPIES.0 } else { FEW_COPIES.1 };
    run.size(probe.usual_count(), few)
}

/// Kinds and their copies, for settings.
pub(super) fn described(run: &Run) -> Value {
    KINDS.map(|kind| json!([kind, copies(run, probe("1", kind))])).into()
}

/// Copies of an image in the search that is part of the truth, at most.
pub(super) fn copies_of_long(run: &Run) -> usize {
    LONGER * copies(run, probe("1", KINDS[0]))
}

/// Images lie channel by channel, as networks take them.
fn grid(shape: &[usize]) -> Grid {
    match *shape {
        [channels, height, width] => Grid { channels, height, width, order: ChannelOrder::First },
        _ => Grid::line(shape.iter().product()),
    }
}

impl OfSize {
    /// In the order of [`INDICES`].
    pub(super) fn index(&self, at: usize) -> Option<f64> {
        let search = &self.search.value;
        let values = [
            search.robust_accuracy,
            Some(search.held),
            Some(search.stability),
            self.pixels.value.margin_ratio,
            self.blocks.value.margin_ratio,
            Some(self.square.value.survived),
        ];
        values[at]
    }

    /// What an index cost, in the same order.
    pub(super) fn cost(&self, at: usize) -> Cost {
        let of_copies = [&self.search, &self.search, &self.search, &self.pixels, &self.blocks];
        let of_square = || Cost { runs: self.square.value.evaluations, seconds: self.square.seconds };
        of_copies.get(at).map_or_else(of_square, |probing| probing.cost())
    }
}

impl Timed<Probing> {
    pub(super) fn cost(&self) -> Cost {
        Cost { runs: self.value.evaluations, seconds: self.seconds }
    }
}
