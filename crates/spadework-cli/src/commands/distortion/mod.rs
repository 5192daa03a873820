//! `spadework distortion`: how far the model pulls neighbors apart, which boundary it tears, and the bounds of both.

mod text;

use std::num::NonZeroUsize;
use std::path::Path;

use spadework::Error as CoreError;
use spadework::pipeline::{
    DistortionParams, EdgeDistances, MeasuredDistortion, MeasuredPair, measure_distortion,
};
use spadework::scores::{Cut, Distortion};
use spadework_document::distortion::DistortionDocument;
use spadework_io::output::{OutputDir, write_bytes};

use crate::args_distances::DistortionArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{csv_field, json};
use crate::run::{Scored, label_text};

pub(crate) fn run(args: &DistortionArgs) -> Result<(), Failure> {
    let folder = args.out.as_deref().map(OutputDir::create).transpose()?;
    let console = args.terminal.console();
    let scored = Scored::from_args(&args.model, console)?;
    let report = &scored.report;
    check_pairs(&args.pairs, report.graphs.nodes())?;
    let params = DistortionParams::default()
        .with_top(args.top.map(NonZeroUsize::get))
        .with_pairs(args.pairs.clone())
        .with_all_edges(args.all_edges.then_some(args.model.method.general.sketch_error));
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
    let mut table = String::from(
        "group,p,q,score,input_hops,output_hops,geodesic_distortion,\
         input_resistance,output_resistance,resistance_distortion\n",
    );
    for MeasuredPair { group, score, geodesic, resistance, .. } in &measured.pairs {
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

fn edges_csv(scored: &Scored, edges: &EdgeDistances) -> String {
    let mut table = String::from(
        "p,q,score,geodesic_distortion,input_resistance,output_resistance,resistance_distortion\n",
    );
    let scores = scored.report.edge_scores.scores();
    for ((distance, hops), score) in edges.resistances.iter().zip(&edges.hops).zip(scores) {
        let Distortion { p, q, input, output, .. } = distance;
        table.push_str(&format!("{p},{q},{score},{hops},{input},{output},{}\n", distance.ratio()));
    }
    table
}
