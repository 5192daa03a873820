//! The result that a model is compared with.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use spadework_document::StoredDocument;
use spadework_document::probe::ProbeDocument;
use spadework_document::score::ScoreDocument;
use spadework_io::read_column;

use crate::failure::Failure;
use crate::places::folder_of;
use crate::usage::Usage;

/// A result that was made earlier.
#[derive(Debug)]
pub(super) struct Baseline {
    /// What the user typed.
    path: PathBuf,
    pub(super) document: ScoreDocument,
    /// The table of its samples, where it is there.
    table: Option<PathBuf>,
}

impl Baseline {
    /// Reads the folder of a result, the `result.json` in it, or a document somewhere else, which has no table of samples.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let folder = folder_of(path);
        let is_folder = folder.is_dir();
        let document = if is_folder { folder.join("result.json") } else { path.to_owned() };
        if !document.exists() {
            return Err(Failure::from(Usage::NoResultFolder).about_file(path));
        }
        let table = Some(folder.join("nodes.csv")).filter(|table| is_folder && table.is_file());
        Ok(Self { path: path.to_owned(), document: ScoreDocument::read(&document)?, table })
    }

    /// A number for every sample, NaN if there is none.
    pub(super) fn column(&self, name: &str) -> Result<Option<Vec<f64>>, Failure> {
        let Some(table) = &self.table else { return Ok(None) };
        Ok(read_column(table, name)?.filter(|column| column.len() == self.document.samples))
    }

    /// Whether it was made of the same inputs, so that samples can be compared one by one.
    pub(super) fn has_samples_of(&self, document: &ScoreDocument) -> bool {
        let inputs = |document: &ScoreDocument| Some(document.sources.data.as_ref()?.inputs.digest.clone());
        self.document.samples == document.samples
            && inputs(document).is_some_and(|digest| inputs(&self.document) == Some(digest))
    }

    /// Refuses a baseline that was asked for something else: no comparison with it would say anything.
    pub(super) fn check_comparable(&self, document: &ScoreDocument) -> Result<(), Failure> {
        let theirs = &self.document;
        let counts = [
            ("numbers per input", theirs.input_dim, document.input_dim),
            ("neighbors", theirs.neighbors.requested, document.neighbors.requested),
        ];
        let [their_distances, our_distances] =
            [theirs, document].map(|of| of.made.request.distances.in_words());
        let words = [
            ("distances", &their_distances, &our_distances),
            ("kind of graph", &theirs.method.graph, &document.method.graph),
            ("weights", &theirs.method.weights, &document.method.weights),
        ];
        let counts = counts.into_iter().find_map(|(fact, theirs, ours)| differs(fact, &theirs, &ours));
        let words = || words.into_iter().find_map(|(fact, theirs, ours)| differs(fact, theirs, ours));
        let corruption = || differs("corruption", &corruption_of(theirs), &corruption_of(document));
        let probe = || probed_otherwise(theirs.facts.probe.as_ref()?, document.facts.probe.as_ref()?);
        let ties = || ties_decided_otherwise(theirs, document);
        self.refused(counts.or_else(words).or_else(ties).or_else(corruption).or_else(probe))
    }

    /// Refuses a baseline whose SPADE score is not of the same samples on graphs connected the same way.
    pub(super) fn check_score_comparable(&self, document: &ScoreDocument) -> Result<(), Failure> {
        let theirs = &self.document;
        let counts = [
            ("samples", theirs.samples, document.samples),
            ("neighbors", theirs.neighbors.used, document.neighbors.used),
        ];
        let counts = counts.into_iter().find_map(|(fact, theirs, ours)| differs(fact, &theirs, &ours));
        self.refused(counts.or_else(|| connected_otherwise(theirs, document)))
    }

    fn refused(&self, reason: Option<String>) -> Result<(), Failure> {
        match reason {
            None => Ok(()),
            Some(reason) => Err(Failure::from(Usage::Baseline { reason }).about_file(&self.path)),
        }
    }
}

fn differs<T: PartialEq + Display>(fact: &str, theirs: &T, ours: &T) -> Option<String> {
    (theirs != ours).then(|| format!("the same {fact} ({ours}), got {theirs}"))
}

/// What chose among equally near outputs, where that is not what chose among ours. It does not matter where no outputs are equal.
fn ties_decided_otherwise(baseline: &ScoreDocument, document: &ScoreDocument) -> Option<String> {
    let had_ties = |d: &ScoreDocument| d.graphs.output.ties.is_some();
    let [theirs, ours] = [baseline, document].map(|d| &d.made.request.ties);
    differs("choice among equal outputs", theirs, ours).filter(|_| had_ties(baseline) || had_ties(document))
}

/// What was done to the inputs.
fn corruption_of(document: &ScoreDocument) -> String {
    document.sources.corruption.as_ref().map_or_else(
        || "none".to_owned(),
        |corruption| format!("{}:{}, seed {}", corruption.kind, corruption.severity, corruption.seed),
    )
}

/// How the baseline was probed, where that is not how the model was.
fn probed_otherwise(theirs: &ProbeDocument, ours: &ProbeDocument) -> Option<String> {
    let in_words = |probe: &ProbeDocument| format!("{} with {} probes", probe.probe, probe.probes);
    differs("probe", &in_words(theirs), &in_words(ours))
        .or_else(|| columns_differ("radii of columns", theirs.radii.as_deref(), ours.radii.as_deref()))
        .or_else(|| columns_differ("categories", theirs.categories.as_deref(), ours.categories.as_deref()))
}

/// What was set for each column of a table, where that is not the same; the first column at fault stands for all.
fn columns_differ<T: PartialEq + Display>(
    fact: &str,
    theirs: Option<&[T]>,
    ours: Option<&[T]>,
) -> Option<String> {
    match (theirs, ours) {
        (None, None) => None,
        (Some(_), None) => Some(format!("a probe without {fact}, as in this run, got one with them")),
        (None, Some(_)) => Some(format!("a probe with the same {fact}, got one without them")),
        (Some(theirs), Some(ours)) => {
            let at = theirs.iter().zip(ours).position(|(theirs, ours)| theirs != ours)?;
            Some(format!(
                "the same {fact} ({} for column {at}, counted from 0), got {}",
                ours[at], theirs[at]
            ))
        }
    }
}

/// How the baseline's graphs were connected, where that is not how ours were. The policy does not matter where it had
/// nothing to do.
fn connected_otherwise(baseline: &ScoreDocument, document: &ScoreDocument) -> Option<String> {
    let bridges = |d: &ScoreDocument| d.graphs.bridges();
    let is_changed = |d: &ScoreDocument| d.neighbors.used > d.neighbors.requested || bridges(d) > 0;
    let (theirs, ours) = (&baseline.method.connectivity, &document.method.connectivity);
    if theirs != ours && (is_changed(baseline) || is_changed(document)) {
        return differs("connectivity policy", theirs, ours);
    }
    match (bridges(baseline), bridges(document)) {
        (0, ours @ 1..) => Some(format!("bridges where this run has them ({ours}), got none")),
        (theirs @ 1.., 0) => Some(format!("no bridges where this run has none, got {theirs}")),
        _ => None,
    }
}
