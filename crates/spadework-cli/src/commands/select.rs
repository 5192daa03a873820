//! `spadework select`: the ids of the most fragile samples.

use std::num::NonZeroUsize;

use serde::Serialize;
use spadework::scores::NodeScore;
use spadework_io::beside::NodeDocument;
use spadework_io::output::write_bytes;
use spadework_io::probe::ProbeDocument;
use spadework_io::result::{ModelFileDocument, ScoreDocument};

use crate::args::{By, SelectArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::render::json;
use crate::run::{NodeTable, ResultFolder, Scored};

/// Samples selected where the user names no number.
const DEFAULT_TOP: usize = 100;

#[derive(Debug, Serialize)]
struct SelectDocument<'a> {
    schema: &'static str,
    model_score: f64,
    samples: usize,
    top: usize,
    by: &'static str,
    indices: &'a [usize],
    nodes: Vec<NodeDocument>,
    fragility_basis: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<&'a ProbeDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a ModelFileDocument>,
    version: &'a str,
}

pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    check_sense(args)?;
    let folder = ResultFolder::from_args(&args.output, &args.graphs.save_graphs)?;
    let console = Console::new(&args.output);
    let mut scored = Scored::in_stages(&args.model, &args.corruption, Some(&args.probe), None, console)?;
    let top = number_to_select(args.top, scored.report.graphs.nodes())?;
    scored.probe(&args.probe, &args.model, top, console)?;
    let mut selected = scored.ranking(args.by)?;
    selected.truncate(top);
    let document = scored.document(top, folder.as_ref())?;
    let table = with_scores(&scored, &selected)?;
    if let Some(folder) = folder {
        folder.write(&scored, &document)?;
        write_bytes(&folder.path().join("selected.csv"), table.as_bytes())?;
        folder.commit()?;
    }
    if args.output.json {
        Console::data(&to_json(&scored, &document, args.by, &selected)?)
    } else if args.scores {
        Console::data(&table)
    } else {
        Console::data(&selected.iter().map(|index| format!("{index}\n")).collect::<String>())
    }
}

/// Probes are a part of the fragility, and of nothing else that samples are selected by.
fn check_sense(args: &SelectArgs) -> Result<(), Failure> {
    args.probe.check()?;
    if args.probe.probe.is_some() && args.by != By::Fragility {
        let message =
            format!("--probe makes the fragility better, but samples are selected by {}", args.by.word());
        return Err(Failure::usage(message).with_hint("--by fragility"));
    }
    Ok(())
}

fn number_to_select(top: Option<NonZeroUsize>, samples: usize) -> Result<usize, Failure> {
    match top.map(NonZeroUsize::get) {
        None => Ok(DEFAULT_TOP.min(samples)),
        Some(top) if top <= samples => Ok(top),
        Some(top) => {
            Err(Failure::usage(format!("--top must be at most the number of samples ({samples}), got {top}")))
        }
    }
}

fn with_scores(scored: &Scored, selected: &[usize]) -> Result<String, Failure> {
    let table = NodeTable::of(scored)?;
    Ok(table.text(selected.iter().enumerate().map(|(at, &index)| (index, at + 1))))
}

fn to_json(scored: &Scored, document: &ScoreDocument, by: By, selected: &[usize]) -> Result<String, Failure> {
    let facts = scored.facts()?;
    let node = |&index: &usize| {
        let score = scored.report.node_scores.scores()[index];
        let mut node = NodeDocument::new(NodeScore { index, score }, scored.labels.as_ref());
        node.set_facts(facts);
        node
    };
    Ok(json(&SelectDocument {
        schema: "spadework.select/1",
        model_score: document.model_score,
        samples: document.samples,
        top: selected.len(),
        by: by.word(),
        indices: selected,
        nodes: selected.iter().map(node).collect(),
        fragility_basis: document.beside.fragility_basis.as_deref(),
        probe: document.beside.probe.as_ref(),
        model: document.model.as_ref(),
        version: &document.version,
    }))
}
