//! Can λ_1 be gamed? Outputs are changed so that no prediction does, and scored again.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::graph::{Dimensions, project};
use spadework::{Samples, Silent};
use spadework_report::figures::bars;

use super::{NEIGHBORS, scored};
use crate::data::Which;
use crate::failure::Failure;
use crate::levels::{Level, Levels};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{falls, kendall};
use crate::table::Table;

/// Principal components of the input that are appended to outputs.
const COMPONENTS: usize = 20;

/// What is done to outputs.
#[derive(Debug, Clone, Copy)]
enum Change {
    Nothing,
    Scale(f32),
    Shift(f32),
    /// A column with the same value everywhere.
    Constant(f32),
    /// A softmax of outputs over a temperature.
    Softmax(f32),
    /// Every class by a factor of its own, from 1/2 to 2: predictions may change.
    Factors,
    /// Principal components of the input, with so many times the deviation of the outputs.
    Components(f32),
}

impl Change {
    fn all(run: &Run) -> Vec<Self> {
        let mut all =
            vec![Self::Nothing, Self::Scale(8.0), Self::Shift(7.0), Self::Constant(7.0), Self::Factors];
        all.extend(run.size(&[1.0, 10.0, 100.0][..], &[10.0]).iter().map(|&by| Self::Softmax(by)));
        all.extend(run.size(&[0.5, 1.0, 2.0, 4.0][..], &[1.0]).iter().map(|&by| Self::Components(by)));
        all
    }

    fn name(self) -> String {
        match self {
            Self::Nothing => "as they are".to_owned(),
            Self::Scale(by) => format!("times {by}"),
            Self::Shift(by) => format!("plus {by}"),
            Self::Constant(value) => format!("a constant output ({value}) appended"),
            Self::Softmax(temperature) => format!("softmax at temperature {temperature}"),
            Self::Factors => "classes times 0.5 to 2".to_owned(),
            Self::Components(by) => format!("{COMPONENTS} input components appended, times {by}"),
        }
    }

    /// The changed outputs and how many of them a sample has. `components` hold those of every sample, with deviation 1 in all.
    fn of(self, outputs: &[f32], dim: usize, components: &[f32]) -> (Vec<f32>, usize) {
        let each = |change: &dyn Fn(f32) -> f32| outputs.iter().map(|&value| change(value)).collect();
        let appended = |more: usize, column: &dyn Fn(usize, usize) -> f32| {
            let rows = outputs.chunks(dim).enumerate();
            let row = |(at, row): (usize, &[f32])| {
                row.iter().copied().chain((0..more).map(|c| column(at, c))).collect::<Vec<_>>()
            };
            (rows.flat_map(row).collect(), dim + more)
        };
        match self {
            Self::Nothing => (outputs.to_vec(), dim),
            Self::Scale(by) => (each(&|value| by * value), dim),
            Self::Shift(by) => (each(&|value| by + value), dim),
            Self::Constant(value) => appended(1, &|_, _| value),
            Self::Softmax(temperature) => {
                (outputs.chunks(dim).flat_map(|row| softmax(row, temperature)).collect(), dim)
            }
            Self::Factors => {
                let factor = |class: usize| 0.5 + 1.5 * class as f32 / (dim - 1) as f32;
                (outputs.iter().enumerate().map(|(at, value)| factor(at % dim) * value).collect(), dim)
            }
            Self::Components(by) => {
                let scale = by * deviation(outputs);
                appended(COMPONENTS, &|at, c| scale * components[at * COMPONENTS + c])
            }
        }
    }
}

fn softmax(row: &[f32], temperature: f32) -> Vec<f32> {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = row.iter().map(|value| ((value - largest) / temperature).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

pub(super) fn deviation(values: &[f32]) -> f32 {
    let count = values.len() as f64;
    let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
    let squares = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>();
    (squares / count).sqrt() as f32
}

/// What one network came to after one change.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Changed {
    score: f64,
    used: usize,
    /// The share of samples whose prediction is the same, by the first ten outputs.
    same: f64,
}

pub(super) fn settings(run: &Run) -> Value {
    let names: Vec<String> = Change::all(run).into_iter().map(Change::name).collect();
    json!({ "changes": names, "components": COMPONENTS })
}

pub(super) fn tell(run: &Run, findings: &mut Findings) -> Result<(), Failure> {
    let levels = Levels::load(run, Which::Mnist)?;
    levels.introduce(findings)?;
    let components = components(&levels)?;
    let header = ["outputs".to_owned()]
        .into_iter()
        .chain(levels.by_epsilon.iter().map(Level::name))
        .chain(["falls with ε", "τ with ε", "largest k used", "predictions kept"].map(str::to_owned));
    let caption = format!(
        "Gaming, {}: λ_1 of {} samples after a change of the outputs that keeps the network's predictions where the last column is 1; \
         k = {NEIGHBORS}.",
        levels.title(),
        levels.images.len()
    );
    let mut table = Table::new(caption, header);
    let (mut plain, mut by_change) = (Vec::new(), Vec::new());
    for change in Change::all(run) {
        let mut row = Vec::new();
        for at in 0..levels.by_epsilon.len() {
            let name = format!("questions/gaming {} {}", change.name(), levels.by_epsilon[at].name());
            let settings =
                json!({ "levels": levels.settings(), "gaming": settings(run), "seed": run.seed() });
            row.extend(run.part(&name, &settings, || changed(run, &levels, at, change, &components))?);
        }
        if row.len() < levels.by_epsilon.len() {
            continue;
        }
        let scores: Vec<f64> = row.iter().map(|changed| changed.score).collect();
        let used = row.iter().map(|changed| changed.used).max().unwrap_or(NEIGHBORS);
        let same = row.iter().map(|changed| changed.same).fold(1.0, f64::min);
        findings.graph(format!("gaming, {} (the largest)", change.name()), NEIGHBORS, used);
        let mut cells = vec![json!(change.name())];
        cells.extend(scores.iter().map(|&score| json!(score)));
        cells.extend([
            json!(falls(&scores)),
            json!(kendall(&scores, &levels.epsilons())),
            json!(used),
            json!(same),
        ]);
        table.row(cells);
        plain.push((change.name(), scores[0]));
        by_change.push((change, scores));
    }
    claim(run, findings, &by_change);
    let settings = json!({ "levels": levels.settings() });
    let refused = run.part("questions/gaming constant outputs alone", &settings, || refusal(run, &levels))?;
    findings.notes.extend(refused);
    findings.charts.push(bars("gaming", "λ_1 of the plain network, by what is done to its outputs", &plain));
    findings.tables.push(table);
    Ok(())
}

/// Whether a plain network can be made to look better than every robust one without a change of a prediction.
fn claim(run: &Run, findings: &mut Findings, by_change: &[(Change, Vec<f64>)]) {
    let Some((_, unchanged)) = by_change.iter().find(|entry| matches!(entry.0, Change::Nothing)) else {
        return;
    };
    let least = unchanged[1..].iter().copied().fold(f64::INFINITY, f64::min);
    let appended = by_change.iter().find(|entry| matches!(entry.0, Change::Components(by) if by == 1.0));
    if let Some((change, scores)) = appended {
        findings.claim(
            run,
            "(question) a plain network can be made to score better than all robust ones with every prediction kept",
            format!("{}: {:.1} in place of {:.1}; the best robust one has {least:.1}", change.name(), scores[0], unchanged[0]),
            Some(scores[0] < least),
        );
    }
    let same = by_change.iter().filter(|entry| {
        let invariant = matches!(entry.0, Change::Scale(_) | Change::Shift(_) | Change::Constant(_));
        invariant && entry.1.iter().zip(unchanged).all(|(score, before)| (score / before - 1.0).abs() < 0.01)
    });
    let same: Vec<String> = same.map(|entry| entry.0.name()).collect();
    findings.claim(
        run,
        "(question) a common scale, a shift and constant outputs change nothing (to 1 %: sums are rounded in another way, and neighbors with them)",
        format!("the same after: {}", same.join("; ")),
        Some(same.len() == 3),
    );
}

/// What is said to a network that gives one output to everything.
fn refusal(run: &Run, levels: &Levels) -> Result<String, Failure> {
    let count = levels.images.len();
    let constant = Samples::from_f32(count, 1, vec![1.0_f32; count])?;
    Ok(match scored(run, levels.images.samples()?, constant, NEIGHBORS) {
        Err(failure) if failure.is_time_over() => return Err(failure),
        Err(failure) => {
            format!("A network that gives the same output to every sample is refused: {failure}.")
        }
        Ok((score, _)) => format!("A network that gives the same output to every sample scores {score}."),
    })
}

/// Principal components of the images, with a deviation of 1 over all of their numbers.
fn components(levels: &Levels) -> Result<Vec<f32>, Failure> {
    // Seconds at most, also where the time is over and everything else is known.
    let projected = project(&levels.images.samples()?, Dimensions::Count(COMPONENTS), &Silent)?;
    let values: Vec<f32> = projected.samples().values().all_singles().to_vec();
    let scale = deviation(&values);
    Ok(values.into_iter().map(|value| value / scale).collect())
}

fn changed(
    run: &Run,
    levels: &Levels,
    at: usize,
    change: Change,
    components: &[f32],
) -> Result<Changed, Failure> {
    let outputs = &levels.by_epsilon[at].outputs;
    let (count, dim) = (levels.images.len(), outputs.len() / levels.images.len());
    let (changed, width) = change.of(outputs, dim, components);
    let kept = outputs.chunks(dim).zip(changed.chunks(width));
    let same = kept.filter(|(before, after)| predicted(before) == predicted(&after[..dim])).count();
    let outputs = Samples::from_f32(count, width, changed)?;
    let (score, used) = scored(run, levels.images.samples()?, outputs, NEIGHBORS)?;
    Ok(Changed { score, used, same: same as f64 / count as f64 })
}

fn predicted(row: &[f32]) -> usize {
    (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_what_their_names_say() {
        let outputs = [1.0, 3.0, 2.0, 0.0];
        let components = [0.5; 2 * COMPONENTS];
        assert_eq!(Change::Scale(2.0).of(&outputs, 2, &components), (vec![2.0, 6.0, 4.0, 0.0], 2));
        assert_eq!(
            Change::Constant(7.0).of(&outputs, 2, &components),
            (vec![1.0, 3.0, 7.0, 2.0, 0.0, 7.0], 3)
        );
        assert_eq!(Change::Factors.of(&outputs, 2, &components).0, [0.5, 6.0, 1.0, 0.0]);
        let (longer, width) = Change::Components(4.0).of(&outputs, 2, &components);
        // The outputs have a deviation of √1.25.
        assert_eq!((width, longer.len(), longer[0], longer[1]), (22, 44, 1.0, 3.0));
        assert!((longer[2] - 4.0 * 1.25_f32.sqrt() * 0.5).abs() < 1e-6, "{}", longer[2]);
        let shares = softmax(&[0.0, 3.0_f32.ln()], 1.0);
        assert!((shares[1] - 0.75).abs() < 1e-6, "{shares:?}");
    }
}
