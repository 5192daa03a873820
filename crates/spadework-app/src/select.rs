//! Selects the samples to look at first.

use spadework_document::facts::NodeDocument;
use spadework_document::select::{SCHEMA, SelectDocument};
use spadework_document::{MadeDocument, SelectionDocument};
use spadework_io::output::write_bytes;
use spadework_probe::{FragilityBasis, SampleFacts};

use crate::failure::Failure;
use crate::observer::{Observer, Session};
use crate::result_folder::{NodeTable, ResultFolder};
use crate::score::{Addition, Probes, ScoreRequest, Scored, score_and};
use crate::usage::Usage;
use crate::wording::NoteCode;

/// Samples selected where the request names no number.
const DEFAULT_TOP: usize = 100;

/// What samples are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The best evidence available: fragility for a classifier, and the node score otherwise.
    Auto,
    /// The node score.
    Node,
    /// Fragility: what an attack breaks first.
    Fragility,
    /// The margin, smallest first.
    Margin,
    /// The share of its input neighbors that a sample keeps, smallest first.
    Overlap,
}

impl By {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            By::Auto => "auto",
            By::Node => "node",
            By::Fragility => "fragility",
            By::Margin => "margin",
            By::Overlap => "overlap",
        }
    }

    /// What `Auto` stands for with these facts; everything else stands for itself.
    fn or_best(self, facts: &SampleFacts) -> Self {
        match self {
            By::Auto if facts.fragility.basis() == FragilityBasis::NodeScores => By::Node,
            By::Auto => By::Fragility,
            by => by,
        }
    }
}

/// Which samples to select.
#[derive(Debug, Clone)]
pub struct SelectRequest<'a> {
    /// The model; its `top` is not used.
    pub score: ScoreRequest<'a>,
    /// How many samples; 100, or all if there are fewer, by default.
    pub top: Option<usize>,
    /// What they are ranked by.
    pub by: By,
}

/// Selected samples.
#[derive(Debug, Clone)]
pub struct Selected {
    /// The model.
    pub scored: Scored,
    /// The samples, most fragile first.
    pub indices: Vec<usize>,
    /// The samples with all their numbers, as CSV with a header.
    pub table: String,
    /// All of it as a document.
    pub document: SelectDocument,
}

/// Selects the most fragile samples.
///
/// # Errors
/// As [`score`](crate::score), and when there are fewer samples than asked for, or no margins to rank by.
pub fn select(request: &SelectRequest<'_>, observer: &dyn Observer) -> Result<Selected, Failure> {
    let SelectRequest { by, top, .. } = *request;
    // Probes are a part of the fragility, and of nothing else that samples are selected by.
    if !matches!(request.score.probes, Probes::None) && !matches!(by, By::Auto | By::Fragility) {
        return Err(Usage::ProbeWithoutFragility { by: by.word() }.into());
    }
    let score = ScoreRequest { top: top.unwrap_or(DEFAULT_TOP), ..request.score.clone() };
    let (scored, (indices, table)) = score_and(&score, Selection { by, top }, observer)?;
    let document = document(&scored, by.or_best(&scored.facts), &indices);
    Ok(Selected { scored, indices, table, document })
}

struct Selection {
    by: By,
    top: Option<usize>,
}

impl Addition for Selection {
    type Found = (Vec<usize>, String);

    fn check(&self, samples: usize) -> Result<(), Failure> {
        match self.top {
            Some(top) if top > samples => Err(Usage::TooManySelected { samples, top }.into()),
            _ => Ok(()),
        }
    }

    fn note(&self, facts: &SampleFacts, session: &Session<'_>) {
        if self.by == By::Fragility && facts.fragility.basis() == FragilityBasis::NodeScores {
            session.note(
                NoteCode::NoFragility,
                format!(
                    "--by fragility needs outputs that are one number per class; samples are ranked by node score instead. For two classes in one \
                     column, pass {}",
                    session.voice().argument("task", "classes")
                ),
            );
        }
    }

    fn finish(
        self,
        scored: &Scored,
        folder: Option<&ResultFolder<'_>>,
    ) -> Result<(Vec<usize>, String), Failure> {
        let mut indices = ranking(scored, self.by)?;
        indices.truncate(self.top.unwrap_or(DEFAULT_TOP));
        let samples = scored.samples();
        let table = NodeTable::of(&samples)?;
        let rows = indices.iter().enumerate().map(|(at, &index)| table.row(index, at + 1));
        let table = table.header() + &rows.collect::<String>();
        if let Some(folder) = folder {
            write_bytes(&folder.path().join("selected.csv"), table.as_bytes())?;
        }
        Ok((indices, table))
    }
}

/// All samples, most fragile first.
fn ranking(scored: &Scored, by: By) -> Result<Vec<usize>, Failure> {
    let Scored { report, facts, .. } = scored;
    match (by.or_best(facts), &facts.margins) {
        (By::Node | By::Auto, _) => {
            let top = report.node_scores.top(report.graphs.nodes());
            Ok(top.into_iter().map(|node| node.index).collect())
        }
        (By::Fragility, _) => Ok(facts.fragility.ranking()),
        (By::Overlap, _) => Ok(facts.overlap.samples().ranking(report.node_scores.scores())),
        (By::Margin, Some(margins)) => Ok(margins.ranking()),
        (By::Margin, None) => Err(Usage::NoMargins.into()),
    }
}

fn document(scored: &Scored, by: By, indices: &[usize]) -> SelectDocument {
    let Scored { report, facts, labels, ids, document, .. } = scored;
    let node = |&index: &usize| {
        let node = NodeDocument::new(report.node_scores.of(index), labels.as_ref());
        let mut node = node.named(ids.as_deref());
        node.set_facts(facts);
        node
    };
    SelectDocument {
        schema: SCHEMA.to_owned(),
        model_score: document.spectrum.model_score,
        samples: document.samples,
        by: by.word().to_owned(),
        selection: SelectionDocument::new(indices, ids.as_deref()),
        nodes: indices.iter().map(node).collect(),
        fragility_basis: document.facts.fragility_basis.clone(),
        probe: document.facts.probe.clone(),
        model: document.sources.model.clone(),
        made: MadeDocument { command: None, ..document.made.clone() },
    }
}
