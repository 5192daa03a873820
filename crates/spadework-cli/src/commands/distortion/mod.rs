//! `spadework distortion`: how far the model pulls neighbors apart, which boundary it tears, and the bounds of both.

mod text;

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::path::Path;

use spadework::scores::{Cut, Distortion};
use spadework::{
    DistortionParams, EdgeDistances, Error as CoreError, MeasuredDistortion, MeasuredPair, measure_distortion,
};
use spadework_io::distortion::DistortionDocument;
use spadework_io::output::{CsvTable, OutputDir, optional_field, write_bytes};

use crate::args_distances::DistortionArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::json;
use crate::run::{Scored, label_text};

pub(crate) fn run(args: &DistortionArgs) -> Result<(), Failure> {
    let folder = args.out.as_deref().map(OutputDir::create).transpose()?;
    let console = args.terminal.console();
    let scored = Scored::from_args(&args.model, console)?;
    let report = &scored.report;
    check_pairs(&args.pairs, report.graphs.nodes())?;
    let params = DistortionParams {
        top: args.top.map(NonZeroUsize::get),
        pairs: args.pairs.clone(),
        all_edges: args.all_edges.then_some(args.model.method.general.sketch_error),
    };
    let measured = measure_distortion(report, &params, &console.monitor()).map_err(with_option)?;
    let document = DistortionDocument::new(report, scored.labels.as_ref(), &measured);
    if let Some(folder) = folder {
        write(folder.path(), &scored, &measured, &document)?;
        folder.commit()?;
    }
    Console::data(&if args.terminal.json { json(&document) } else { text::render(&document) })
}

/// The core's word for it is not the user's.
fn with_option(error: CoreError) -> Failure {
    match error {
        CoreError::TopEdges { edges, top } => Failure::usage(format!(
            "--top must be at most half the number of input edges ({edges}), so that as many others can be drawn, got {top}"
        )),
        error => error.into(),
    }
}

fn check_pairs(pairs: &[(u32, u32)], samples: usize) -> Result<(), Failure> {
    let wrong = pairs.iter().find(|(p, q)| p == q || p.max(q).to_owned() as usize >= samples);
    wrong.map_or(Ok(()), |(p, q)| {
        Err(Failure::usage(format!("--pair must name two different samples below {samples}, got {p},{q}")))
    })
}

fn write(
    folder: &Path,
    scored: &Scored,
    measured: &MeasuredDistortion,
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

fn pairs_csv(measured: &MeasuredDistortion) -> String {
    let mut table = CsvTable::new([
        "group",
        "p",
        "q",
        "score",
        "input_hops",
        "output_hops",
        "geodesic_distortion",
        "input_resistance",
        "output_resistance",
        "resistance_distortion",
    ]);
    for MeasuredPair { group, score, geodesic, resistance } in &measured.pairs {
        let distances =
            [geodesic, resistance].map(|distance| [distance.input, distance.output, distance.ratio()]);
        let distances = distances.as_flattened().iter().map(f64::to_string);
        let pair =
            [group.to_string(), geodesic.p.to_string(), geodesic.q.to_string(), optional_field(*score)];
        table.row(pair.into_iter().chain(distances));
    }
    table.into_text()
}

fn cut_csv(scored: &Scored, cut: &Cut) -> String {
    let mut table = CsvTable::new(["index", "label"]);
    for &index in cut.samples() {
        let label = scored.labels.as_ref().map(|labels| label_text(labels, index as usize));
        table.row([index.to_string(), optional_field(label)]);
    }
    table.into_text()
}

fn edges_csv(scored: &Scored, edges: &EdgeDistances) -> String {
    let mut table = CsvTable::new([
        "p",
        "q",
        "score",
        "geodesic_distortion",
        "input_resistance",
        "output_resistance",
        "resistance_distortion",
    ]);
    let scores = scored.report.edge_scores.scores();
    for ((distance, hops), score) in edges.resistances.iter().zip(&edges.hops).zip(scores) {
        let Distortion { p, q, input, output } = distance;
        table.row([p as &dyn Display, q, score, hops, input, output, &distance.ratio()]);
    }
    table.into_text()
}
