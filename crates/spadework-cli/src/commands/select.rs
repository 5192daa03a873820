//! `spadework select`: the ids of the most fragile samples.

use std::num::NonZeroUsize;

use serde::Serialize;
use spadework_io::output::write_bytes;
use spadework_io::result::{ModelFileDocument, NodeDocument, ScoreDocument};

use crate::args::SelectArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{csv_field, json};
use crate::run::{ResultFolder, Scored, label_text};

/// Samples selected where the user names no number.
const DEFAULT_TOP: usize = 100;

#[derive(Debug, Serialize)]
struct SelectDocument<'a> {
    schema: &'static str,
    model_score: f64,
    samples: usize,
    top: usize,
    indices: Vec<usize>,
    nodes: &'a [NodeDocument],
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a ModelFileDocument>,
    version: &'a str,
}

pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    let folder = ResultFolder::from_args(&args.output, &args.graphs.save_graphs)?;
    let scored = Scored::from_corrupted(&args.model, &args.corruption, Console::new(&args.output))?;
    let top = number_to_select(args.top, scored.report.graphs.nodes())?;
    let document = scored.document(top, folder.as_ref())?;
    let table = with_scores(&scored, &document);
    if let Some(folder) = folder {
        folder.write(&scored, &document)?;
        write_bytes(&folder.path().join("selected.csv"), table.as_bytes())?;
        folder.commit()?;
    }
    if args.output.json {
        Console::data(&to_json(&document))
    } else if args.scores {
        Console::data(&table)
    } else {
        Console::data(&document.top_nodes.iter().map(|node| format!("{}\n", node.index)).collect::<String>())
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

fn with_scores(scored: &Scored, document: &ScoreDocument) -> String {
    let mut table = String::from("index,label,score,rank\n");
    for (rank, node) in document.top_nodes.iter().enumerate() {
        let label = scored.labels.as_ref().map(|labels| csv_field(&label_text(labels, node.index)));
        table.push_str(&format!(
            "{},{},{},{}\n",
            node.index,
            label.unwrap_or_default(),
            node.score,
            rank + 1
        ));
    }
    table
}

fn to_json(document: &ScoreDocument) -> String {
    let selected = SelectDocument {
        schema: "spadework.select/1",
        model_score: document.model_score,
        samples: document.samples,
        top: document.top_nodes.len(),
        indices: document.top_nodes.iter().map(|node| node.index).collect(),
        nodes: &document.top_nodes,
        model: document.model.as_ref(),
        version: &document.version,
    };
    json(&selected)
}
