//! `spadework distortion`: how far the model pulls neighbors apart, which boundary it tears, and the bounds of both.

mod document;
mod text;

use std::num::NonZeroUsize;
use std::path::Path;

use spadework::eigen::EigenParams;
use spadework::graph::geodesic_distances;
use spadework::laplacian::{SketchInfo, SketchParams};
use spadework::scores::{
    Contrast, Cut, DistanceKind, Distances, Distortion, LargestDistortion, ReverseScore, RiemannianDistance,
    draw_others, thinnest_cut,
};
use spadework::{Error as CoreError, Monitor, SpadeReport, Stage, with_threads};
use spadework_io::output::{OutputDir, write_bytes};

use crate::args_distances::DistortionArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{csv_field, json};
use crate::run::{Scored, label_text};
use document::DistortionDocument;

/// Top edges, where the user does not say how many.
const DEFAULT_TOP: usize = 100;

/// A pair measured both ways.
#[derive(Debug, Clone, Copy)]
struct MeasuredPair {
    group: &'static str,
    score: Option<f64>,
    geodesic: Distortion,
    resistance: Distortion,
}

/// Everything that was measured.
#[derive(Debug)]
struct Measured {
    pairs: Vec<MeasuredPair>,
    geodesic: Contrast,
    resistance: Contrast,
    largest: LargestDistortion,
    cut: Cut,
    reverse: ReverseScore,
    riemannian: RiemannianDistance,
    all_edges: Option<AllEdges>,
}

/// Distances of every edge of the input graph.
#[derive(Debug)]
struct AllEdges {
    /// Hops at the output.
    hops: Vec<u32>,
    resistances: Vec<Distortion>,
    info: SketchInfo,
}

pub(crate) fn run(args: &DistortionArgs) -> Result<(), Failure> {
    let folder = args.out.as_deref().map(OutputDir::create).transpose()?;
    let console = args.terminal.console();
    let scored = Scored::from_args(&args.model, console)?;
    let report = &scored.report;
    let top = number_of_top_edges(args.top, report.edge_scores.len())?;
    check_pairs(&args.pairs, report.graphs.nodes())?;
    let monitor = console.monitor();
    let measured = with_threads(args.model.method.general.threads, || measure(report, args, top, &monitor))?;
    drop(monitor);
    let document = DistortionDocument::new(&scored, &measured, top);
    if let Some(folder) = folder {
        write(folder.path(), &scored, &measured, &document)?;
        folder.commit()?;
    }
    Console::data(&if args.terminal.json { json(&document) } else { text::render(&document) })
}

/// Top and random edges are different ones, so that each is counted once.
fn number_of_top_edges(asked: Option<NonZeroUsize>, edges: usize) -> Result<usize, Failure> {
    let top = asked.map_or_else(|| DEFAULT_TOP.min(edges / 2).max(1), NonZeroUsize::get);
    if top <= edges / 2 {
        return Ok(top);
    }
    Err(Failure::usage(format!(
        "--top must be at most half the number of input edges ({edges}), so that as many others can be drawn, got {top}"
    )))
}

fn check_pairs(pairs: &[(u32, u32)], samples: usize) -> Result<(), Failure> {
    let wrong = pairs.iter().find(|(p, q)| p == q || p.max(q).to_owned() as usize >= samples);
    wrong.map_or(Ok(()), |(p, q)| {
        Err(Failure::usage(format!("--pair must name two different samples below {samples}, got {p},{q}")))
    })
}

/// Top edges first, then as many random ones, then the pairs asked for.
fn measure(
    report: &SpadeReport,
    args: &DistortionArgs,
    top: usize,
    monitor: &dyn Monitor,
) -> Result<Measured, CoreError> {
    monitor.begin(Stage::Distances);
    let seed = args.model.method.general.seed;
    let distances = Distances::new(&report.graphs, seed)?;
    let pairs = measured_pairs(report, args, top, &distances, monitor)?;
    let contrast = |of: fn(&MeasuredPair) -> &Distortion| {
        let ratios: Vec<f64> = pairs.iter().map(|pair| of(pair).ratio()).collect();
        Contrast::new(&ratios[..top], &ratios[top..2 * top], seed)
    };
    let (geodesic, resistance) = (contrast(|pair| &pair.geodesic), contrast(|pair| &pair.resistance));
    let largest = distances.largest(&report.eigenpairs, &report.edge_scores, monitor)?;
    let cut = thinnest_cut(&report.graphs, &report.eigenpairs, monitor)?;
    let eigen = EigenParams {
        tolerance: args.model.method.general.tolerance,
        seed,
        method: args.model.method.general.solver.into(),
        ..EigenParams::default()
    };
    let reverse = ReverseScore::of(&report.graphs, &report.eigenpairs, &eigen, monitor)?;
    let riemannian = RiemannianDistance::of(&report.graphs, &eigen, monitor)?;
    let all_edges = if args.all_edges { Some(all_edges(report, args, &distances, monitor)?) } else { None };
    Ok(Measured { pairs, geodesic, resistance, largest, cut, reverse, riemannian, all_edges })
}

fn measured_pairs(
    report: &SpadeReport,
    args: &DistortionArgs,
    top: usize,
    distances: &Distances<'_>,
    monitor: &dyn Monitor,
) -> Result<Vec<MeasuredPair>, CoreError> {
    let scores = &report.edge_scores;
    let top = scores.top(top);
    let position = |p: u32, q: u32| scores.edges().binary_search(&(p, q)).ok();
    let taken: Vec<usize> = top.iter().filter_map(|edge| position(edge.p, edge.q)).collect();
    let random = draw_others(scores.len(), &taken, top.len(), args.model.method.general.seed);
    let edges = taken.into_iter().map(|at| ("top", at)).chain(random.into_iter().map(|at| ("random", at)));
    let edges = edges.map(|(group, at)| (group, scores.edges()[at], Some(scores.scores()[at])));
    let asked = args.pairs.iter().map(|&(p, q)| {
        let score = position(p.min(q), p.max(q)).map(|at| scores.scores()[at]);
        ("asked", (p, q), score)
    });
    let listed: Vec<_> = edges.chain(asked).collect();
    let pairs: Vec<(u32, u32)> = listed.iter().map(|&(_, pair, _)| pair).collect();
    let geodesic = distances.of_pairs(DistanceKind::Geodesic, &pairs, monitor)?;
    let resistance = distances.of_pairs(DistanceKind::Resistance, &pairs, monitor)?;
    let measured = listed.into_iter().zip(geodesic.into_iter().zip(resistance));
    Ok(measured
        .map(|((group, _, score), (geodesic, resistance))| MeasuredPair {
            group,
            score,
            geodesic,
            resistance,
        })
        .collect())
}

fn all_edges(
    report: &SpadeReport,
    args: &DistortionArgs,
    distances: &Distances<'_>,
    monitor: &dyn Monitor,
) -> Result<AllEdges, CoreError> {
    let hops = geodesic_distances(report.graphs.output(), report.edge_scores.edges(), monitor)?;
    let sketch = SketchParams {
        error: args.model.method.general.sketch_error,
        seed: args.model.method.general.seed,
        ..SketchParams::default()
    };
    let (resistances, info) = distances.of_edges(&sketch, monitor)?;
    // The output graph is connected, so that there is a path for every edge.
    Ok(AllEdges { hops: hops.into_iter().flatten().collect(), resistances, info })
}

fn write(
    folder: &Path,
    scored: &Scored,
    measured: &Measured,
    document: &DistortionDocument,
) -> Result<(), Failure> {
    write_bytes(&folder.join("distortion.json"), json(document).as_bytes())?;
    write_bytes(&folder.join("pairs.csv"), pairs_csv(measured).as_bytes())?;
    write_bytes(&folder.join("cut.csv"), cut_csv(scored, &measured.cut).as_bytes())?;
    if let Some(edges) = &measured.all_edges {
        write_bytes(&folder.join("edge_distances.csv"), edges_csv(scored, edges).as_bytes())?;
    }
    Ok(())
}

fn pairs_csv(measured: &Measured) -> String {
    let mut table = String::from(
        "group,p,q,score,input_hops,output_hops,geodesic_distortion,\
         input_resistance,output_resistance,resistance_distortion\n",
    );
    for MeasuredPair { group, score, geodesic, resistance } in &measured.pairs {
        let score = score.map(|score| score.to_string()).unwrap_or_default();
        table.push_str(&format!("{group},{},{},{score}", geodesic.p, geodesic.q));
        for distance in [geodesic, resistance] {
            table.push_str(&format!(",{},{},{}", distance.input, distance.output, distance.ratio()));
        }
        table.push('\n');
    }
    table
}

fn cut_csv(scored: &Scored, cut: &Cut) -> String {
    let mut table = String::from("index,label\n");
    for &index in cut.samples() {
        let label = scored.labels.as_ref().map(|labels| csv_field(&label_text(labels, index as usize)));
        table.push_str(&format!("{index},{}\n", label.unwrap_or_default()));
    }
    table
}

fn edges_csv(scored: &Scored, edges: &AllEdges) -> String {
    let mut table = String::from(
        "p,q,score,geodesic_distortion,input_resistance,output_resistance,resistance_distortion\n",
    );
    let scores = scored.report.edge_scores.scores();
    for ((distance, hops), score) in edges.resistances.iter().zip(&edges.hops).zip(scores) {
        let Distortion { p, q, input, output } = distance;
        table.push_str(&format!("{p},{q},{score},{hops},{input},{output},{}\n", distance.ratio()));
    }
    table
}
