//! Table 2: mean geodesic distortion of the 100 edges of highest score, compared with 100 random edges.

use serde::{Deserialize, Serialize};
use serde_json::json;
use spadework::scores::{Contrast, DistanceKind, Distances, draw_others};
use spadework::{SpadeParams, SpadeReport, evaluate};
use spadework_report::figures::{Series, lines};

use super::Experiment;
use crate::data::Which;
use crate::failure::Failure;
use crate::levels::Levels;
use crate::record::Findings;
use crate::run::Run;
use crate::table::{Spread, Table, range, spread};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "distortion",
    paper: "Table 2",
    title: "distortion of top edges beside random ones",
    run,
};

const NEIGHBORS: [usize; 2] = [10, 20];
const EDGES: usize = 100;

/// The paper's means: (ε, top at k = 10, random, top at k = 20, random).
fn paper(which: Which, epsilon: f64) -> Option<[f64; 4]> {
    let rows: &[(f64, [f64; 4])] = match which {
        Which::Mnist => &[
            (0.0, [6.6, 3.1, 5.1, 2.4]),
            (0.1, [6.1, 2.6, 5.3, 2.3]),
            (0.2, [6.5, 2.5, 5.6, 2.2]),
            (0.3, [7.7, 2.7, 6.4, 2.2]),
        ],
        Which::Cifar10 => &[
            (0.0, [11.4, 6.8, 8.9, 5.7]),
            (0.25, [11.5, 6.4, 9.0, 5.0]),
            (0.5, [9.7, 5.6, 8.0, 4.4]),
            (1.0, [12.5, 5.5, 10.5, 4.3]),
            (2.0, [8.0, 5.3, 6.8, 4.3]),
        ],
    };
    rows.iter().find(|row| row.0 == epsilon).map(|row| row.1)
}

/// What edges of one network came to.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    /// Mean distortion with the ends of its interval.
    top: Spread,
    random: Spread,
    p_value: f64,
    /// The k of the graphs.
    used: usize,
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let mut findings = Findings::new(json!({ "neighbors": NEIGHBORS, "edges": EDGES, "eigenpairs": 1 }));
    let header =
        ["data", "ε", "k", "top edges", "95 %", "random edges", "95 %", "p", "paper, top", "paper, random"];
    let mut table =
        Table::new("Mean hops in the output graph between the ends of edges of the input graph.", header);
    let (mut tops_above, mut series) = (Vec::new(), Vec::new());
    for which in Which::ALL {
        let levels = Levels::load(run, which)?;
        levels.introduce(&mut findings)?;
        for (column, neighbors) in NEIGHBORS.into_iter().enumerate() {
            let (mut curves, mut random_means) = ([Vec::new(), Vec::new()], Vec::new());
            for (at, level) in levels.by_epsilon.iter().enumerate() {
                let Some(measured) = measured(run, &levels, at, neighbors)? else { continue };
                let Measured { top, random, p_value, used } = measured;
                findings.graph(format!("{}, {}", levels.title(), level.name()), neighbors, used);
                let paper =
                    paper(which, level.epsilon).map(|means| [means[2 * column], means[2 * column + 1]]);
                table.row(vec![
                    json!(levels.title()),
                    json!(level.epsilon),
                    json!(neighbors),
                    json!(top[0]),
                    range(top),
                    json!(random[0]),
                    range(random),
                    json!(p_value),
                    json!(paper.map(|means| means[0])),
                    json!(paper.map(|means| means[1])),
                ]);
                tops_above.push(top[0] > random[0]);
                curves[0].push((level.epsilon, Some(top[0])));
                curves[1].push((level.epsilon, Some(random[0])));
                random_means.push(random);
            }
            findings.claim(
                run,
                format!(
                    "{}, k = {neighbors}: random edges are distorted less as ε rises, in most cases",
                    levels.title()
                ),
                random_means.iter().map(|[mean, ..]| format!("{mean:.2}")).collect::<Vec<_>>().join(" / "),
                falls_mostly(&random_means),
            );
            for (name, points) in ["top", "random"].into_iter().zip(curves) {
                let short = if which == Which::Mnist { "MNIST" } else { "CIFAR" };
                series.push(Series { name: format!("{short} {neighbors} {name}"), points });
            }
        }
    }
    let above = tops_above.iter().filter(|&&above| above).count();
    findings.claim(
        run,
        "the top edges are distorted more than random ones, everywhere",
        format!("in {above} of {} cases", tops_above.len()),
        (run.is_complete() && !tops_above.is_empty()).then_some(above == tops_above.len()),
    );
    findings.charts.push(lines(
        "distortion",
        "Mean distortion of edges",
        ["ε of training", "hops"],
        &series,
        None,
    ));
    findings.tables.push(table);
    Ok(findings)
}

/// Whether means fall from the first to the last, in more than half of the steps between them. `None` where the intervals of the
/// first and the last overlap, or where steps within their intervals could turn the answer around: two points alone, or chance, decide nothing.
fn falls_mostly(means: &[Spread]) -> Option<bool> {
    let ([_, first_low, first_high], [_, last_low, last_high]) = (*means.first()?, *means.last()?);
    let falling = means.windows(2).filter(|step| step[1][0] < step[0][0]).count();
    if last_low > first_high {
        return Some(false);
    }
    let steps = means.len() - 1;
    let rising = means.windows(2).filter(|step| step[1][1] >= step[0][2]).count();
    let is_told = 2 * falling > steps || 2 * (steps - rising) <= steps;
    (last_high < first_low && is_told).then_some(2 * falling > steps)
}

fn measured(run: &Run, levels: &Levels, at: usize, neighbors: usize) -> Result<Option<Measured>, Failure> {
    let name = format!("distortion/{} {} k {neighbors}", levels.title(), levels.by_epsilon[at].name());
    let settings =
        json!({ "levels": levels.settings(), "neighbors": neighbors, "edges": EDGES, "seed": run.seed() });
    run.part(&name, &settings, || {
        let params =
            SpadeParams::default().with_neighbors(neighbors).with_eigenpairs(1).with_seed(run.seed());
        let report = evaluate(&levels.pair(at)?, &params, run.monitor())?;
        let contrast = contrast(run, &report)?;
        Ok(Measured {
            top: spread(contrast.top),
            random: spread(contrast.random),
            p_value: contrast.p_value,
            used: report.diagnostics.connection.used,
        })
    })
}

fn contrast(run: &Run, report: &SpadeReport) -> Result<Contrast, Failure> {
    let scores = &report.edge_scores;
    let top: Vec<(u32, u32)> = scores.top(EDGES).iter().map(|edge| (edge.p, edge.q)).collect();
    let taken: Vec<usize> = top.iter().filter_map(|edge| scores.edges().binary_search(edge).ok()).collect();
    let random = draw_others(scores.len(), &taken, EDGES, run.seed());
    let pairs: Vec<(u32, u32)> =
        top.iter().copied().chain(random.iter().map(|&at| scores.edges()[at])).collect();
    let distances = Distances::new(&report.graphs, run.seed())?;
    let ratios: Vec<f64> = distances
        .of_pairs(DistanceKind::Geodesic, &pairs, run.monitor())?
        .iter()
        .map(spadework::scores::Distortion::ratio)
        .collect();
    let (top, random) = ratios.split_at(top.len());
    Ok(Contrast::new(top, random, run.seed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The means of docs/reproduction.md: MNIST's ends overlap, CIFAR-10's do not.
    #[test]
    fn a_fall_is_judged_by_all_steps_and_by_intervals() {
        let curve = |means: &[f64], half: f64| -> Vec<Spread> {
            means.iter().map(|&mean| [mean, mean - half, mean + half]).collect()
        };
        assert_eq!(falls_mostly(&curve(&[2.98, 2.69, 2.79, 2.60, 2.78], 0.25)), None);
        assert_eq!(falls_mostly(&curve(&[7.87, 5.50, 5.34], 0.5)), Some(true));
        assert_eq!(
            falls_mostly(&curve(&[7.0, 2.0, 3.0, 4.0, 5.0], 0.5)),
            Some(false),
            "one step of four falls"
        );
        assert_eq!(
            falls_mostly(&curve(&[6.78, 4.46, 4.74], 0.35)),
            None,
            "the second step is within its intervals"
        );
        assert_eq!(falls_mostly(&curve(&[5.0, 7.0], 0.5)), Some(false));
        assert_eq!(falls_mostly(&[]), None);
    }
}
