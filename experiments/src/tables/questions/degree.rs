//! How much of λ_1 and of node scores is vertex degree? Graphs are rewired at random with all degrees kept (double-edge swaps; Maslov and
//! Sneppen 2002), and node scores are correlated with degrees.

use std::collections::HashSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::graph::ConnectedGraph;
use spadework::pipeline::{KeepNothing, scores_of, spectrum_of};
use spadework::{Graph, GraphPair, SpadeParams};
use spadework_report::figures::bars;

use super::{EIGENPAIRS, NEIGHBORS, graphs, model_score, with_range};
use crate::data::Which;
use crate::failure::Failure;
use crate::levels::Levels;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{mean, spearman};
use crate::table::Table;

/// Swaps that are tried, per edge.
const SWAPS: usize = 10;

/// What one network came to; of every seed one number.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    used: usize,
    score: f64,
    input_rewired: Vec<f64>,
    output_rewired: Vec<f64>,
    both_rewired: Vec<f64>,
    /// Of node scores with the degree at the input, at the output, and the ratio of both.
    correlations: [Option<f64>; 3],
    /// Of node scores with those of the rewired graphs.
    with_rewired: Vec<f64>,
    largest_ratio: f64,
}

fn seeds(run: &Run) -> usize {
    run.options().seeds.unwrap_or(run.size(3, 1))
}

pub(super) fn settings(run: &Run) -> Value {
    json!({ "swaps_per_edge": SWAPS, "seeds": seeds(run) })
}

pub(super) fn tell(run: &Run, findings: &mut Findings) -> Result<(), Failure> {
    let mut table = Table::new(
        format!(
            "Degree: λ_1 of the graphs, and with one or both of them rewired at random so that every sample keeps its degree; mean and range \
             over {} rewirings. ρ is Spearman's, of node scores.",
            seeds(run)
        ),
        [
            "data",
            "ε",
            "n",
            "λ_1",
            "input rewired",
            "output rewired",
            "both rewired",
            "largest ratio of degrees",
            "ρ with input degree",
            "ρ with output degree",
            "ρ with their ratio",
            "ρ with scores of rewired graphs",
        ],
    );
    let (mut chart, mut shares, mut strongest) = (Vec::new(), Vec::new(), 0.0_f64);
    for which in Which::ALL {
        let levels = Levels::load(run, which)?;
        levels.introduce(findings)?;
        for (at, level) in levels.by_epsilon.iter().enumerate() {
            let name = format!("questions/degree {} {}", levels.title(), level.name());
            let settings =
                json!({ "levels": levels.settings(), "degree": settings(run), "seed": run.seed() });
            let Some(found) = run.part(&name, &settings, || measured(run, &levels, at))? else { continue };
            findings.graph(format!("degree, {}, {}", levels.title(), level.name()), NEIGHBORS, found.used);
            table.row(vec![
                json!(levels.title()),
                json!(level.epsilon),
                json!(levels.images.len()),
                json!(found.score),
                with_range(&found.input_rewired, 1),
                with_range(&found.output_rewired, 2),
                with_range(&found.both_rewired, 2),
                json!(found.largest_ratio),
                json!(found.correlations[0]),
                json!(found.correlations[1]),
                json!(found.correlations[2]),
                with_range(&found.with_rewired, 3),
            ]);
            shares.extend(mean(&found.both_rewired).map(|both| both / found.score));
            let of_all = found.correlations.iter().flatten();
            strongest = of_all.fold(strongest, |largest, rho| largest.max(rho.abs()));
            let title = format!("{} {}", levels.title(), level.name());
            chart.push((format!("{title}: as it is"), found.score));
            chart.extend(mean(&found.both_rewired).map(|both| (format!("{title}: degrees alone"), both)));
        }
    }
    let largest = shares.iter().copied().fold(f64::NAN, f64::max);
    findings.claim(
        run,
        "(question) λ_1 and node scores are those of the degrees",
        format!(
            "with degrees alone λ_1 is {:.0} % of what it is, at most; ρ of node scores with degrees is {strongest:.2} at most",
            100.0 * largest
        ),
        (run.is_complete() && !shares.is_empty()).then_some(largest > 0.5 && strongest > 0.5),
    );
    findings.charts.push(bars("degree", "λ_1, and what degrees alone give", &chart));
    findings.tables.push(table);
    Ok(())
}

fn measured(run: &Run, levels: &Levels, at: usize) -> Result<Measured, Failure> {
    let (inputs, outputs) = levels.pair(at)?.into_sides();
    let made = graphs(run, inputs, outputs, NEIGHBORS)?;
    let (pair, used) = (made.graphs.clone(), made.diagnostics.connection.used);
    let scores = node_scores(run, &pair, &made.diagnostics)?;
    let degrees =
        |graph: &Graph| -> Vec<f64> { (0..graph.nodes()).map(|p| graph.neighbors(p).len() as f64).collect() };
    let (of_input, of_output) = (degrees(pair.input()), degrees(pair.output()));
    let ratio: Vec<f64> = of_input.iter().zip(&of_output).map(|(input, output)| input / output).collect();
    let mut found = Measured {
        used,
        score: model_score(run, &pair)?,
        input_rewired: Vec::new(),
        output_rewired: Vec::new(),
        both_rewired: Vec::new(),
        correlations: [&of_input, &of_output, &ratio].map(|degrees| spearman(&scores, degrees)),
        with_rewired: Vec::new(),
        largest_ratio: ratio.iter().copied().fold(0.0, f64::max),
    };
    for seed in 0..seeds(run) as u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(run.seed() + seed);
        let input = rewired(pair.input(), &mut rng)?;
        let output = rewired(pair.output(), &mut rng)?;
        let (old_input, old_output) = (pair.shared_input(), pair.connected_output().clone());
        found.input_rewired.push(model_score(run, &GraphPair::new(input.graph().clone(), old_output)?)?);
        found.output_rewired.push(model_score(run, &GraphPair::new(old_input, output.clone())?)?);
        let both = GraphPair::new(input.into_graph(), output)?;
        found.both_rewired.push(model_score(run, &both)?);
        found.with_rewired.extend(spearman(&scores, &node_scores(run, &both, &made.diagnostics)?));
    }
    Ok(found)
}

fn node_scores(
    run: &Run,
    graphs: &GraphPair,
    diagnostics: &spadework::pipeline::Diagnostics,
) -> Result<Vec<f64>, Failure> {
    let params = SpadeParams::default().with_eigenpairs(EIGENPAIRS).with_seed(run.seed());
    let spectrum = spectrum_of(graphs, &params, &KeepNothing, run.monitor())?;
    let made = spadework::pipeline::ModelGraphs::new(graphs.clone(), diagnostics.clone());
    Ok(scores_of(made, spectrum, run.monitor())?.node_scores.scores().to_vec())
}

/// A connected graph with the same degrees. One of ten neighbors a sample falls apart once in many draws at most.
fn rewired(graph: &Graph, rng: &mut ChaCha8Rng) -> Result<ConnectedGraph, Failure> {
    for _ in 0..100 {
        if let Ok(connected) = ConnectedGraph::new(swapped(graph, rng)?) {
            return Ok(connected);
        }
    }
    Err(Failure::Usage("expected a connected graph in 100 rewirings, got none".to_owned()))
}

/// The graph after random double-edge swaps: of edges a–b and c–d come a–d and c–b, where both are new.
fn swapped(graph: &Graph, rng: &mut ChaCha8Rng) -> Result<Graph, Failure> {
    let ordered = |a: u32, b: u32| (a.min(b), a.max(b));
    let mut edges: Vec<(u32, u32)> = graph.edges().map(|(p, q, _)| (p, q)).collect();
    let mut present: HashSet<(u32, u32)> = edges.iter().copied().collect();
    for _ in 0..SWAPS * edges.len() {
        let (one, other) = (rng.random_range(0..edges.len()), rng.random_range(0..edges.len()));
        let ((a, b), (mut c, mut d)) = (edges[one], edges[other]);
        if rng.random_bool(0.5) {
            (c, d) = (d, c);
        }
        let (first, second) = (ordered(a, d), ordered(c, b));
        if a == d || c == b || present.contains(&first) || present.contains(&second) {
            continue;
        }
        present.remove(&edges[one]);
        present.remove(&edges[other]);
        present.extend([first, second]);
        (edges[one], edges[other]) = (first, second);
    }
    Ok(Graph::from_edges(graph.nodes(), &edges)?)
}

#[cfg(test)]
mod tests {
    use spadework::graph::generators::grid;

    use super::*;

    #[test]
    fn rewiring_keeps_every_degree_and_few_edges() {
        let graph = grid(20, 30);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let changed = rewired(&graph, &mut rng).unwrap().into_graph();
        assert_eq!(changed.edge_count(), graph.edge_count());
        assert!((0..graph.nodes()).all(|p| changed.neighbors(p).len() == graph.neighbors(p).len()));
        let before: HashSet<(u32, u32)> = graph.edges().map(|(p, q, _)| (p, q)).collect();
        let kept = changed.edges().filter(|&(p, q, _)| before.contains(&(p, q))).count();
        // 1,150 edges among 180,000 pairs: by chance 7 of the old ones are drawn.
        assert!(kept < 40, "{kept}");
    }
}
