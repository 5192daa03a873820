//! `spadework select`: the ids of the most fragile samples.

use std::num::NonZeroUsize;

use serde::Serialize;
use spadework_io::output::write_bytes;
use spadework_io::result::{ModelFileDocument, NodeDocument, ScoreDocument};

use crate::args::{By, SelectArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::render::json;
use crate::run::{NodeRow, ResultFolder, Scored};

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
    nodes: Vec<SelectedNode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a ModelFileDocument>,
    version: &'a str,
}

#[derive(Debug, Serialize)]
struct SelectedNode {
    #[serde(flatten)]
    node: NodeDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    margin: Option<f64>,
    fragility: f64,
}

pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    let folder = ResultFolder::from_args(&args.output, &args.graphs.save_graphs)?;
    let scored = Scored::from_corrupted(&args.model, &args.corruption, Console::new(&args.output))?;
    let top = number_to_select(args.top, scored.report.graphs.nodes())?;
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
    let fragility = scored.fragility()?;
    let rows = selected.iter().enumerate();
    let rows = rows.map(|(at, &index)| NodeRow { scored, fragility, index, rank: at + 1 }.to_csv() + "\n");
    Ok(format!("{}\n{}", NodeRow::HEADER, rows.collect::<String>()))
}

fn to_json(scored: &Scored, document: &ScoreDocument, by: By, selected: &[usize]) -> Result<String, Failure> {
    let fragility = scored.fragility()?;
    let node = |&index: &usize| SelectedNode {
        node: NodeDocument {
            index,
            score: scored.report.node_scores.scores()[index],
            label: scored.labels.as_ref().map(|labels| labels.ids()[index]),
        },
        margin: scored.margins.as_ref().map(|margins| margins.values()[index]),
        fragility: fragility.values()[index],
    };
    Ok(json(&SelectDocument {
        schema: "spadework.select/1",
        model_score: document.model_score,
        samples: document.samples,
        top: selected.len(),
        by: by.word(),
        indices: selected,
        nodes: selected.iter().map(node).collect(),
        model: document.model.as_ref(),
        version: &document.version,
    }))
}
