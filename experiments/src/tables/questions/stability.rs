//! How stable are top lists? Samples are drawn again, and outputs, k, r and seeds are changed a little.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::scores::agreement::agreement;
use spadework::{PairedSamples, Samples, SpadeParams, evaluate};
use spadework_probe::{Fragility, Margins, SampleSignals};
use spadework_report::figures::bars;

use super::{EIGENPAIRS, NEIGHBORS, rows, with_range};
use crate::data::Which;
use crate::failure::Failure;
use crate::levels::Levels;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::mean;
use crate::table::Table;

/// Lists that are compared.
const TOPS: [usize; 2] = [10, 100];
/// Scores that are ranked, more being weaker.
const SCORES: [&str; 3] = ["node score", "fragility", "margin (smallest first)"];

/// What is changed.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// This share of the samples is kept, drawn at random.
    Kept(f64),
    /// Normal noise on outputs, as a part of their deviation.
    Noise(f64),
    Neighbors(usize),
    Eigenpairs(usize),
    /// Other start vectors and another preconditioner.
    Seed,
}

impl Change {
    fn all(run: &Run) -> Vec<Self> {
        let full = vec![
            Self::Kept(0.9),
            Self::Kept(0.5),
            Self::Noise(0.01),
            Self::Neighbors(8),
            Self::Neighbors(12),
            Self::Neighbors(20),
            Self::Eigenpairs(1),
            Self::Eigenpairs(10),
            Self::Seed,
        ];
        run.size(full, vec![Self::Kept(0.9), Self::Neighbors(12), Self::Seed])
    }

    fn name(self) -> String {
        match self {
            Self::Kept(share) => format!("{:.0} % of samples", 100.0 * share),
            Self::Noise(size) => format!("noise of {:.0} % on outputs", 100.0 * size),
            Self::Neighbors(k) => format!("k = {k}"),
            Self::Eigenpairs(r) => format!("r = {r}"),
            Self::Seed => "another seed of the solver".to_owned(),
        }
    }

    fn draws(self, run: &Run) -> usize {
        let is_random = matches!(self, Self::Kept(_) | Self::Noise(_));
        if is_random { run.options().seeds.unwrap_or(run.size(10, 2)) } else { 1 }
    }
}

/// Ranks and lists of one kind of score before and after.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Agreed {
    rho: f64,
    /// In the order of [`TOPS`].
    shared: [usize; 2],
}

pub(super) fn settings(run: &Run) -> Value {
    let changes: Vec<Value> =
        Change::all(run).into_iter().map(|change| json!([change.name(), change.draws(run)])).collect();
    json!({ "changes_and_draws": changes, "tops": TOPS })
}

pub(super) fn tell(run: &Run, findings: &mut Findings) -> Result<(), Failure> {
    let mut table = Table::new(
        format!(
            "Stability of top lists, k = {NEIGHBORS} and r = {EIGENPAIRS} unless changed: Spearman's ρ of the scores of all samples before and \
             after, and how many of the top 10 and top 100 are the same; mean and range over draws. Where samples are left out, both lists \
             are of those that were kept."
        ),
        ["data", "ε", "n", "change", "draws", "score", "ρ", "same of top 10", "same of top 100"],
    );
    let mut chart = Vec::new();
    for which in Which::ALL {
        let levels = Levels::load(run, which)?;
        levels.introduce(findings)?;
        for at in [0, levels.by_epsilon.len() - 1] {
            let level = levels.by_epsilon[at].name();
            let everything: Vec<usize> = (0..levels.images.len()).collect();
            let of_usual =
                json!({ "levels": levels.settings(), "seed": run.seed(), "of": [NEIGHBORS, EIGENPAIRS] });
            let name = format!("questions/stability {} {level}", levels.title());
            let before = run.part(&name, &of_usual, || {
                ranked(run, &levels, &levels.by_epsilon[at].outputs, &everything, &usual(run))
            })?;
            let Some(before) = before else { continue };
            for change in Change::all(run) {
                let name = format!("questions/stability {} {level} {}", levels.title(), change.name());
                let settings =
                    json!({ "levels": levels.settings(), "stability": settings(run), "seed": run.seed() });
                let Some(draws) =
                    run.part(&name, &settings, || measured(run, &levels, at, change, &before))?
                else {
                    continue;
                };
                for (score, name) in SCORES.iter().enumerate() {
                    let of = |number: &dyn Fn(&Agreed) -> f64| -> Vec<f64> {
                        draws.iter().map(|draw| number(&draw[score])).collect()
                    };
                    let shared = |top: usize| of(&|agreed| agreed.shared[top] as f64);
                    table.row(vec![
                        json!(levels.title()),
                        json!(levels.by_epsilon[at].epsilon),
                        json!(levels.images.len()),
                        json!(change.name()),
                        json!(draws.len()),
                        json!(name),
                        with_range(&of(&|agreed| agreed.rho), 2),
                        with_range(&shared(0), 1),
                        with_range(&shared(1), 1),
                    ]);
                    if score == 0 && at == 0 {
                        chart.extend(
                            mean(&shared(1))
                                .map(|mean| (format!("{}: {}", levels.title(), change.name()), mean)),
                        );
                    }
                }
            }
        }
    }
    findings.charts.push(bars(
        "stability",
        "Same samples among the top 100 by node score, plain networks",
        &chart,
    ));
    findings.tables.push(table);
    Ok(())
}

fn usual(run: &Run) -> SpadeParams {
    SpadeParams::default().with_neighbors(NEIGHBORS).with_eigenpairs(EIGENPAIRS).with_seed(run.seed())
}

/// How well scores agree with those before a change, in every draw.
fn measured(
    run: &Run,
    levels: &Levels,
    at: usize,
    change: Change,
    before: &[Vec<f64>; 3],
) -> Result<Vec<[Agreed; 3]>, Failure> {
    let outputs = &levels.by_epsilon[at].outputs;
    let everything: Vec<usize> = (0..levels.images.len()).collect();
    let mut draws = Vec::new();
    for draw in 0..change.draws(run) as u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(run.seed() + 1 + draw);
        let (mut kept, mut outputs, mut params) = (everything.clone(), outputs.clone(), usual(run));
        match change {
            Change::Kept(share) => {
                kept.shuffle(&mut rng);
                kept.truncate((share * everything.len() as f64).round() as usize);
                kept.sort_unstable();
            }
            Change::Noise(size) => {
                let scale = size * f64::from(super::gaming::deviation(&outputs));
                for value in &mut outputs {
                    *value += (scale * super::growth::normal(&mut rng)) as f32;
                }
            }
            Change::Neighbors(k) => params = params.with_neighbors(k),
            Change::Eigenpairs(r) => params = params.with_eigenpairs(r),
            Change::Seed => params = params.with_seed(run.seed() + rng.random_range(1..1_000_000)),
        }
        let after = ranked(run, levels, &outputs, &kept, &params)?;
        draws.push(std::array::from_fn(|score| {
            let before: Vec<f64> = kept.iter().map(|&place| before[score][place]).collect();
            let shared = TOPS.map(|top| agreement(&before, &after[score], top).shared);
            Agreed { rho: agreement(&before, &after[score], 1).spearman.unwrap_or(f64::NAN), shared }
        }));
    }
    Ok(draws)
}

/// The scores of some samples, in the order of [`SCORES`].
fn ranked(
    run: &Run,
    levels: &Levels,
    outputs: &[f32],
    kept: &[usize],
    params: &SpadeParams,
) -> Result<[Vec<f64>; 3], Failure> {
    let (examples, dim) = (&levels.images.examples, outputs.len() / levels.images.len());
    let inputs =
        Samples::from_f32(kept.len(), examples.size(), rows(examples.samples(), examples.size(), kept))?;
    let pair = PairedSamples::new(inputs, Samples::from_f32(kept.len(), dim, rows(outputs, dim, kept))?)?;
    let report = evaluate(&pair, params, run.monitor())?;
    let signals = SampleSignals {
        inputs: Some(pair.input()),
        outputs: Some(pair.output()),
        ..SampleSignals::default()
    };
    let fragility = Fragility::of_report(&report, &signals)?.values().to_vec();
    let margins = Margins::of(pair.output(), None)?
        .ok_or_else(|| Failure::Usage("expected a classifier of two outputs or more".to_owned()))?;
    let small = margins.values().iter().map(|margin| -margin).collect();
    Ok([report.node_scores.scores().to_vec(), fragility, small])
}
