//! Gates for continuous integration: is the model within its limits, and has it dropped below its baseline?
//!
//! [`check`] reads from top to bottom: the baseline is read, the model is scored and probed, every limit becomes a gate
//! ([`gates`]), and the outcome is written for people and for programs ([`words`], [`junit`], [`summary`]).

mod baseline;
mod gates;
mod junit;
mod summary;
mod words;

use std::path::Path;

use spadework_document::Note;
use spadework_document::check::{CheckDocument, GatedNumber, Outcome, SCHEMA};
use spadework_io::output::{OutputFile, write_bytes};
use spadework_probe::ProbeKind;

use crate::failure::Failure;
use crate::observer::Observer;
use crate::result_folder::ResultFolder;
use crate::score::{Addition, Probes, ScoreRequest, Scored, score_and};
use crate::usage::Usage;
use crate::wording::{NoteCode, Voice};
use baseline::Baseline;
use gates::{Gates, Judged};

pub use words::gate_lines;

/// What is checked.
#[derive(Debug, Clone)]
pub struct CheckRequest<'a> {
    /// The model.
    pub score: ScoreRequest<'a>,
    /// Limits on the model alone.
    pub limits: Limits,
    /// An earlier result to compare with.
    pub baseline: Option<BaselineRequest<'a>>,
    /// Whether a gate that cannot be decided counts as failed.
    pub undecided_fails: bool,
    /// A file for the outcome as JUnit XML.
    pub junit: Option<&'a Path>,
    /// A file for the outcome as Markdown.
    pub summary: Option<&'a Path>,
}

/// Limits on a model alone; shares are from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// The smallest estimated robust accuracy.
    pub min_robust_accuracy: Option<f64>,
    /// The smallest share of samples that survived every probe.
    pub min_survived: Option<f64>,
    /// The smallest accuracy.
    pub min_accuracy: Option<f64>,
    /// The smallest neighborhood overlap.
    pub min_overlap: Option<f64>,
    /// The largest SPADE score.
    pub max_score: Option<f64>,
}

/// Limits relative to an earlier result.
#[derive(Debug, Clone, Copy)]
pub struct BaselineRequest<'a> {
    /// The folder of a result, or a document of one.
    pub path: &'a Path,
    /// The largest allowed drop of robust accuracy, survived, accuracy and overlap, as a share of the
    /// samples.
    pub max_drop: f64,
    /// The largest allowed relative increase of the SPADE score, if it is a gate.
    pub max_regression: Option<f64>,
}

/// A model and whether it passed. A failed gate is a result and not a [`Failure`]: the result is complete.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The model.
    pub scored: Scored,
    /// The gates and their outcomes.
    pub document: CheckDocument,
}

/// Scores a model and compares it with the limits.
///
/// # Errors
/// As [`score`](crate::score), when the baseline cannot be read or is not comparable, and when a limit is set for a number that
/// the call does not give.
pub fn check(request: &CheckRequest<'_>, observer: &dyn Observer) -> Result<Checked, Failure> {
    request.check()?;
    // The baseline first: a wrong file should not cost a run.
    let baseline = request.baseline.map(|baseline| Baseline::read(baseline.path)).transpose()?;
    let addition = Gating { request, baseline: baseline.as_ref(), voice: observer.voice() };
    let (scored, judged) = score_and(&request.score, addition, observer)?;
    let document = document(request, &scored, judged, observer.voice());
    if let Some(path) = request.junit {
        write_bytes(path, junit::to_xml(&document).as_bytes())?;
    }
    if let Some(path) = request.summary {
        write_bytes(path, summary::to_markdown(&document).as_bytes())?;
    }
    Ok(Checked { scored, document })
}

fn document(request: &CheckRequest<'_>, scored: &Scored, judged: Judged, voice: Voice) -> CheckDocument {
    let Judged { gates, lost, mut notes } = judged;
    let (by, new_failures) = lost.map(|lost| (lost.by, lost.samples)).unzip();
    let new_failures: Vec<usize> = new_failures.unwrap_or_default();
    let ids = scored.samples().ids.unwrap_or_default();
    let new_failure_ids = new_failures.iter().filter_map(|&index| ids.get(index).cloned()).collect();
    let outcome = Outcome::of_all(gates.iter().map(|gate| gate.outcome));
    if gates.iter().all(|gate| gate.number == GatedNumber::ModelScore) {
        notes.push(score_alone(voice));
    }
    CheckDocument {
        schema: SCHEMA.to_owned(),
        outcome,
        passed: outcome == Outcome::Pass || (outcome == Outcome::Undecided && !request.undecided_fails),
        undecided: if request.undecided_fails { Outcome::Fail } else { Outcome::Pass },
        gates,
        new_failures,
        new_failure_ids,
        new_failures_by: by,
        notes,
        model_score: scored.document.spectrum.model_score,
        result: scored.document.clone(),
    }
}

/// Every gate is about λ_1, which is the weakest evidence there is.
fn score_alone(voice: Voice) -> Note {
    let probe = match voice {
        Voice::Command => "with a model file, use --min-robust-accuracy and --probe",
        Voice::Python => "with a model, use min_robust_accuracy and probed",
    };
    let message = format!(
        "the SPADE score tracks robustness poorly (rank correlation with accuracy under attack −0.12 to +0.16 over 59 \
         networks; −1 is best): {probe}; with outputs alone, {}",
        voice.name("min_overlap")
    );
    Note { code: NoteCode::ScoreAlone.to_string(), message }
}

impl CheckRequest<'_> {
    /// Refuses what cannot be decided, and places that cannot be written, before anything is read.
    fn check(&self) -> Result<(), Failure> {
        for place in [self.junit, self.summary].into_iter().flatten() {
            // Opened and given up again.
            OutputFile::create(place)?;
        }
        let kind = match &self.score.probes {
            Probes::Run(probe) => Some(probe.probe.kind()),
            // What has an estimate was searched.
            Probes::Known { document, .. } if document.robust_accuracy.is_some() => Some(ProbeKind::Search),
            Probes::Known { .. } => Some(ProbeKind::Pixel),
            Probes::None | Probes::With(_) | Probes::KnownChange(_) => None,
        };
        match (self.limits.min_robust_accuracy, self.limits.min_survived, kind) {
            (Some(_), _, None) => Err(Usage::GateWithoutProbe { gate: "min_robust_accuracy" }.into()),
            (_, Some(_), None) => Err(Usage::GateWithoutProbe { gate: "min_survived" }.into()),
            (Some(_), _, Some(kind)) if kind != ProbeKind::Search => Err(Usage::GateWithoutSearch.into()),
            _ => Ok(()),
        }
    }
}

/// Judges the model once it is scored.
struct Gating<'a> {
    request: &'a CheckRequest<'a>,
    baseline: Option<&'a Baseline>,
    voice: Voice,
}

impl Addition for Gating<'_> {
    type Found = Judged;

    fn needs_data(&self) -> bool {
        self.baseline.is_some()
    }

    fn finish(self, scored: &Scored, _: Option<&ResultFolder<'_>>) -> Result<Judged, Failure> {
        let compared = self.request.baseline.as_ref().zip(self.baseline);
        Gates { limits: &self.request.limits, baseline: compared, scored, voice: self.voice }.judge()
    }
}
