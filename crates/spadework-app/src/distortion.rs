//! How far the model pulls neighbors apart, the sparsest cut, and the bounds of both.

use std::path::Path;

use spadework::error::Readable;
use spadework::pipeline::{
    DistortionParams, EdgeDistances, MeasuredDistortion, MeasuredPair, SpadeReport, measure_distortion,
};
use spadework::scores::{Cut, Distortion};
use spadework::{Error as CoreError, SpadeParams, evaluate};
use spadework_document::distortion::DistortionDocument;
use spadework_io::Labels;
use spadework_io::output::{OutputDir, optional_field, write_bytes};

use crate::data::ModelData;
use crate::failure::Failure;
use crate::observer::{Observer, Session};
use crate::sides::with_sides;
use crate::tables::csv_field;
use crate::usage::Usage;
use crate::{json, labels, notes};

/// What is measured.
#[derive(Debug, Clone)]
pub struct DistortionRequest<'a> {
    /// The model.
    pub data: ModelData<'a>,
    /// How it is scored.
    pub params: SpadeParams,
    /// What is measured.
    pub distortion: DistortionParams,
    /// A folder for the result.
    pub folder: Option<&'a Path>,
}

/// What was measured.
#[derive(Debug, Clone)]
pub struct Distorted {
    /// The scored model.
    pub report: SpadeReport,
    /// The labels of the samples.
    pub labels: Option<Labels>,
    /// The distances.
    pub measured: MeasuredDistortion,
    /// All of it as a document.
    pub document: DistortionDocument,
}

/// Measures the distortion of a model.
///
/// # Errors
/// When the request makes no sense, its files cannot be read or written, or the problem has no answer as posed.
pub fn distortion(request: &DistortionRequest<'_>, observer: &dyn Observer) -> Result<Distorted, Failure> {
    let DistortionRequest { data, params, .. } = request;
    params.check()?;
    let folder = request.folder.map(OutputDir::create).transpose()?;
    let session = Session::new(observer);
    let (report, labels) = with_sides(data, params, &session, |sides| {
        check_pairs(&request.distortion.pairs, sides.pair.len())?;
        let report = evaluate(&sides.pair, params, session.monitor())
            .map_err(|error| Failure::of_evaluation(error, params))?;
        Ok((report, sides.known.labels.clone()))
    })?;
    notes::about_graphs(&report.diagnostics, report.graphs.nodes(), &session);
    let measured =
        measure_distortion(&report, &request.distortion, session.monitor()).map_err(with_argument)?;
    let mut document = DistortionDocument::new(&report, labels.as_ref(), &measured);
    document.made.notes = session.notes();
    let distorted = Distorted { report, labels, measured, document };
    if let Some(folder) = folder {
        distorted.write(folder.path())?;
        folder.commit()?;
    }
    Ok(distorted)
}

/// The core's word for it is not the user's.
fn with_argument(error: CoreError) -> Failure {
    match error {
        CoreError::TopEdges { edges, top } => Usage::TooManyEdges { edges, top }.into(),
        error => error.into(),
    }
}

fn check_pairs(pairs: &[(u32, u32)], samples: usize) -> Result<(), Failure> {
    let wrong = pairs.iter().find(|(p, q)| p == q || p.max(q).to_owned() as usize >= samples);
    wrong.map_or(Ok(()), |&(p, q)| Err(Usage::NoPair { samples, p, q }.into()))
}

impl Distorted {
    fn write(&self, folder: &Path) -> Result<(), Failure> {
        write_bytes(&folder.join("distortion.json"), json(&self.document).as_bytes())?;
        write_bytes(&folder.join("pairs.csv"), pairs_csv(&self.measured).as_bytes())?;
        write_bytes(&folder.join("cut.csv"), cut_csv(self.labels.as_ref(), &self.measured.cut).as_bytes())?;
        if let Some(edges) = &self.measured.all_edges {
            write_bytes(&folder.join("edge_distances.csv"), edges_csv(&self.report, edges).as_bytes())?;
        }
        Ok(())
    }
}

fn pairs_csv(measured: &MeasuredDistortion) -> String {
    let mut table = String::from(
        "group,p,q,score,input_hops,output_hops,geodesic_distortion,\
         input_resistance,output_resistance,resistance_distortion\n",
    );
    for MeasuredPair { group, score, geodesic, resistance, .. } in &measured.pairs {
        let score = optional_field(score.map(Readable));
        table.push_str(&format!("{group},{},{},{score}", geodesic.p, geodesic.q));
        for distance in [geodesic, resistance] {
            let [input, output, ratio] = [distance.input, distance.output, distance.ratio()].map(Readable);
            table.push_str(&format!(",{input},{output},{ratio}"));
        }
        table.push('\n');
    }
    table
}

fn cut_csv(labels: Option<&Labels>, cut: &Cut) -> String {
    let mut table = String::from("index,label\n");
    for &index in cut.samples() {
        let label = labels.map(|labels| csv_field(&labels::text(labels, index as usize)));
        table.push_str(&format!("{index},{}\n", label.unwrap_or_default()));
    }
    table
}

fn edges_csv(report: &SpadeReport, edges: &EdgeDistances) -> String {
    let mut table = String::from(
        "p,q,score,geodesic_distortion,input_resistance,output_resistance,resistance_distortion\n",
    );
    let scores = report.edge_scores.scores();
    for ((distance, hops), score) in edges.resistances.iter().zip(&edges.hops).zip(scores) {
        let Distortion { p, q, input, output, .. } = distance;
        let [score, input, output, ratio] = [*score, *input, *output, distance.ratio()].map(Readable);
        table.push_str(&format!("{p},{q},{score},{hops},{input},{output},{ratio}\n"));
    }
    table
}
