//! Turns limits into gates, and decides each: pass, fail, or undecided if the interval contains the limit.

use spadework_document::Note;
use spadework_document::check::{GateDocument, GateFindings, GatedNumber, Outcome};
use spadework_document::estimates::{EstimatesDocument, ShareDocument};
use spadework_document::score::ScoreDocument;
use spadework_probe::intervals::{
    Confidence, Decision, Difference, Estimated, paired_shares_at, share_is_at_least, unpaired_shares,
    wilson_at,
};

use super::baseline::Baseline;
use super::{BaselineRequest, Limits};
use crate::failure::Failure;
use crate::score::Scored;
use crate::usage::Usage;
use crate::wording::{NoteCode, Voice};

/// New failures that are named, at most.
const NAMED: usize = 10;

/// Everything that a model is judged by.
pub(super) struct Gates<'a> {
    pub(super) limits: &'a Limits,
    pub(super) baseline: Option<(&'a BaselineRequest<'a>, &'a Baseline)>,
    pub(super) scored: &'a Scored,
    /// Whose words notes use.
    pub(super) voice: Voice,
}

/// What the gates decided.
pub(super) struct Judged {
    pub(super) gates: Vec<GateDocument>,
    /// Samples that the baseline has and this model has not.
    pub(super) lost: Option<Lost>,
    pub(super) notes: Vec<Note>,
}

/// Samples that a model lost.
pub(super) struct Lost {
    /// What they had under the baseline: they survived, or were right.
    pub(super) by: GatedNumber,
    /// The most fragile ones.
    pub(super) samples: Vec<usize>,
}

/// Shares that have gates, best evidence first.
const SHARES: [GatedNumber; 4] =
    [GatedNumber::RobustAccuracy, GatedNumber::Survived, GatedNumber::Accuracy, GatedNumber::Overlap];

impl Gates<'_> {
    /// Judges the model.
    pub(super) fn judge(&self) -> Result<Judged, Failure> {
        let mut judged = Judged { gates: Vec::new(), lost: None, notes: Vec::new() };
        for number in SHARES {
            judged.gates.extend(self.smallest(number)?);
        }
        judged.gates.extend(self.largest_score());
        let Some((request, baseline)) = self.baseline else { return Ok(judged) };
        baseline.check_comparable(&self.scored.document)?;
        let drops = Drops { request, baseline, scored: self.scored, ours: self.columns()? };
        for number in SHARES {
            judged.gates.extend(drops.gate(number)?);
        }
        judged.gates.extend(drops.regression()?);
        judged.lost = drops.new_failures()?;
        judged.notes.extend(drops.unequal_probes(self.voice));
        judged.notes.extend(drops.missing_accuracy(self.voice));
        Ok(judged)
    }

    /// The gate of a smallest share, where there is a limit.
    fn smallest(&self, number: GatedNumber) -> Result<Option<GateDocument>, Failure> {
        let Limits { min_robust_accuracy, min_survived, min_accuracy, min_overlap, .. } = *self.limits;
        let (argument, limit) = match number {
            GatedNumber::RobustAccuracy => ("min_robust_accuracy", min_robust_accuracy),
            GatedNumber::Survived => ("min_survived", min_survived),
            GatedNumber::Accuracy => ("min_accuracy", min_accuracy),
            GatedNumber::Overlap => ("min_overlap", min_overlap),
            GatedNumber::ModelScore => return Ok(None),
        };
        let Some(limit) = limit else { return Ok(None) };
        let gate = argument.replace('_', "-");
        let share = share_of(&self.scored.document.facts.estimates, number)
            .ok_or_else(|| Failure::from(Usage::NothingToGate { gate: argument }))?;
        let outcome = outcome_of(is_at_least(&share, number, limit));
        let found = GateFindings { share: Some(share), ..Default::default() };
        Ok(Some(GateDocument { gate, number, outcome, limit, found }))
    }

    /// The gate of the largest SPADE score. It is the score of these samples and no estimate, so it is never undecided.
    fn largest_score(&self) -> Option<GateDocument> {
        let limit = self.limits.max_score?;
        let score = self.scored.document.spectrum.model_score;
        let outcome = if score <= limit { Outcome::Pass } else { Outcome::Fail };
        let found = GateFindings { score: Some(score), ..Default::default() };
        let (gate, number) = ("max-score".to_owned(), GatedNumber::ModelScore);
        Some(GateDocument { gate, number, outcome, limit, found })
    }

    /// What is known of every sample of this model.
    fn columns(&self) -> Result<Vec<(&'static str, Vec<f64>)>, Failure> {
        self.scored.samples().more_columns()
    }
}

/// How far a model may drop below its baseline.
struct Drops<'a> {
    request: &'a BaselineRequest<'a>,
    baseline: &'a Baseline,
    scored: &'a Scored,
    ours: Vec<(&'static str, Vec<f64>)>,
}

/// A column of the baseline, and the same of this model.
type BeforeAndNow<'a> = (Vec<f64>, &'a [f64]);

/// A model less its baseline.
struct Compared {
    difference: Difference,
    is_paired: bool,
}

impl Drops<'_> {
    /// The gate of a share that both models have.
    fn gate(&self, number: GatedNumber) -> Result<Option<GateDocument>, Failure> {
        let share = share_of(&self.scored.document.facts.estimates, number);
        let theirs = share_of(&self.baseline.document.facts.estimates, number);
        let (Some(share), Some(theirs)) = (share, theirs) else { return Ok(None) };
        let limit = self.request.max_drop;
        let found =
            GateFindings { share: Some(share), baseline: Some(theirs.estimate), ..Default::default() };
        let incomparable = self.overlaps_differ().filter(|_| number == GatedNumber::Overlap);
        let (outcome, found) = if let Some(reason) = incomparable {
            (Outcome::Undecided, GateFindings { reason: Some(reason), ..found })
        } else {
            let Compared { difference, is_paired } = self.compared(number, &share, &theirs)?;
            let outcome = outcome_of(difference.drops_at_most(limit));
            let (difference, paired) = (Some(difference.into()), Some(is_paired));
            (outcome, GateFindings { difference, paired, ..found })
        };
        Ok(Some(GateDocument { gate: "max-drop".to_owned(), number, outcome, limit, found }))
    }

    fn compared(
        &self,
        number: GatedNumber,
        ours: &ShareDocument,
        theirs: &ShareDocument,
    ) -> Result<Compared, Failure> {
        let confidence = confidence_of(number);
        let unpaired = || Compared {
            difference: unpaired_shares(&bounds(theirs, number), &bounds(ours, number), confidence),
            is_paired: false,
        };
        let Some((before, now)) = self.same_samples(column_of(number))? else { return Ok(unpaired()) };
        if number == GatedNumber::Overlap {
            let difference = self.scored.facts.overlap.less_shares(&before, confidence);
            return Ok(Compared { difference, is_paired: true });
        }
        let pairs = before.iter().zip(now).filter(|(before, now)| !before.is_nan() && !now.is_nan());
        let (before, now): (Vec<bool>, Vec<bool>) =
            pairs.map(|(&before, &now)| (before > 0.0, now > 0.0)).unzip();
        // Other samples were probed, for the most part.
        if now.is_empty() || 2 * now.len() < ours.n {
            return Ok(unpaired());
        }
        Ok(Compared { difference: paired_shares_at(&before, &now, confidence), is_paired: true })
    }

    /// The same column of the baseline and of this model; none if their samples are not the same.
    fn same_samples(&self, name: &str) -> Result<Option<BeforeAndNow<'_>>, Failure> {
        if !self.baseline.has_samples_of(&self.scored.document) {
            return Ok(None);
        }
        let ours = self.ours.iter().find(|(column, _)| *column == name);
        let Some((_, ours)) = ours else { return Ok(None) };
        Ok(self.baseline.column(name)?.map(|theirs| (theirs, ours.as_slice())))
    }

    /// Why overlaps cannot be compared: among more samples neighbors are nearer and fewer of them stay.
    fn overlaps_differ(&self) -> Option<String> {
        let (theirs, ours) = (self.baseline.document.samples, self.scored.document.samples);
        (theirs != ours).then(|| {
            format!("the overlap of {ours} samples cannot be compared with that of {theirs} in the baseline")
        })
    }

    /// The gate of a SPADE score that has grown, where there is a limit.
    fn regression(&self) -> Result<Option<GateDocument>, Failure> {
        let Some(part) = self.request.max_regression else { return Ok(None) };
        let (baseline, score) = (&self.baseline.document, self.scored.document.spectrum.model_score);
        self.baseline.check_score_comparable(&self.scored.document)?;
        let limit = baseline.spectrum.model_score * (1.0 + part);
        // Two runs of the same data agree to the residual, not to the last digit.
        let is_kept = score <= limit * (1.0 + baseline.method.tolerance.min(1e-6));
        let outcome = if is_kept { Outcome::Pass } else { Outcome::Fail };
        let (gate, number) = ("max-regression".to_owned(), GatedNumber::ModelScore);
        let before = Some(baseline.spectrum.model_score);
        let found = GateFindings { score: Some(score), baseline: before, ..Default::default() };
        Ok(Some(GateDocument { gate, number, outcome, limit, found }))
    }

    /// Samples that survived under the baseline and do not any more; without any, those that were right and are not. Most fragile
    /// first.
    fn new_failures(&self) -> Result<Option<Lost>, Failure> {
        for by in [GatedNumber::Survived, GatedNumber::Accuracy] {
            let Some((before, now)) = self.same_samples(column_of(by))? else { continue };
            let is_new = |&index: &usize| before[index] == 1.0 && now[index] == 0.0;
            let samples = self.scored.facts.fragility.ranking().into_iter().filter(is_new).take(NAMED);
            let samples: Vec<usize> = samples.collect();
            if !samples.is_empty() {
                return Ok(Some(Lost { by, samples }));
            }
        }
        Ok(None)
    }

    /// What could be compared if both models were probed.
    fn unequal_probes(&self, voice: Voice) -> Option<Note> {
        let theirs = self.baseline.document.facts.probe.as_ref();
        let ours = self.scored.document.facts.probe.as_ref();
        let message = match (theirs, ours) {
            (Some(probe), None) => format!(
                "the baseline was probed and this model was not, so its drop under attack is not known: {}",
                match voice {
                    Voice::Command => format!("pass --model and --probe {}", probe.probe),
                    Voice::Python =>
                        format!("pass probed=spadework.probe(model, inputs, \"{}\")", probe.probe),
                }
            ),
            (None, Some(probe)) => format!(
                "this model was probed and the baseline was not, so its drop under attack is not known: make the baseline with \
                 `spadework score --model FILE --probe {} --out DIR`",
                probe.probe
            ),
            _ => return None,
        };
        Some(Note { code: NoteCode::ProbedAlone.to_string(), message })
    }

    /// A gate on accuracy that a forgotten or wrong array of labels would take away silently.
    fn missing_accuracy(&self, voice: Voice) -> Option<Note> {
        let has_accuracy = |document: &ScoreDocument| document.facts.estimates.accuracy.is_some();
        let is_missing = has_accuracy(&self.baseline.document) && !has_accuracy(&self.scored.document);
        let message = format!(
            "the baseline has an accuracy and this model has none, so its drop of accuracy is not known: pass {}, one class per sample, \
             each the position of an output",
            voice.name("labels")
        );
        let code = NoteCode::AccuracyMissing.to_string();
        is_missing.then_some(Note { code, message })
    }
}

/// How sure a drop must be. A gate asks a question of one side, so that either end is a one-sided 95 % bound. The standard error of an
/// overlap counts the dependence between neighbors by an approximation: its wider interval keeps false alarms below 5 % too.
fn confidence_of(number: GatedNumber) -> Confidence {
    match number {
        GatedNumber::Overlap => Confidence::TwoSided,
        _ => Confidence::OneSided,
    }
}

/// Whether a share keeps its limit. Accuracies are counts of samples, and have an exact test; the interval of the estimated robust
/// accuracy covers more than the choice of samples, and that of the overlap neighbors that depend on each other.
fn is_at_least(share: &ShareDocument, number: GatedNumber, limit: f64) -> Decision {
    match number {
        GatedNumber::Accuracy | GatedNumber::Survived => share_is_at_least(successes(share), share.n, limit),
        _ => estimated(share).is_at_least(limit),
    }
}

/// The samples that a share counts.
fn successes(share: &ShareDocument) -> usize {
    (share.estimate * share.n as f64).round() as usize
}

/// The interval of a share with the confidence of its gate. That of the estimated robust accuracy covers more than the choice of
/// samples; its ends are moved as those of a normal distribution.
fn bounds(share: &ShareDocument, number: GatedNumber) -> Estimated {
    let confidence = confidence_of(number);
    match number {
        GatedNumber::Accuracy | GatedNumber::Survived => wilson_at(successes(share), share.n, confidence),
        _ => estimated(share).at(confidence),
    }
}

fn outcome_of(decision: Decision) -> Outcome {
    match decision {
        Decision::Kept => Outcome::Pass,
        Decision::Broken => Outcome::Fail,
        Decision::Open => Outcome::Undecided,
    }
}

fn share_of(estimates: &EstimatesDocument, number: GatedNumber) -> Option<ShareDocument> {
    match number {
        GatedNumber::RobustAccuracy => estimates.robust_accuracy,
        GatedNumber::Survived => estimates.survived,
        GatedNumber::Accuracy => estimates.accuracy,
        GatedNumber::Overlap => estimates.overlap,
        GatedNumber::ModelScore => None,
    }
}

/// The column of the table of samples that a share is the mean of.
fn column_of(number: GatedNumber) -> &'static str {
    match number {
        GatedNumber::RobustAccuracy => "robust",
        GatedNumber::Survived => "survived",
        GatedNumber::Accuracy => "correct",
        GatedNumber::Overlap | GatedNumber::ModelScore => "overlap",
    }
}

fn estimated(share: &ShareDocument) -> Estimated {
    Estimated::new(share.estimate, share.lower, share.upper, share.n)
}
