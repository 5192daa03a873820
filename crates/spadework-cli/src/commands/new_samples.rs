//! `spadework score --reference`: new samples against a scored model.

use std::path::Path;

use spadework_app::{NewSamplesRequest, ReferenceSource, json, printable, score_new_samples};
use spadework_document::new_samples::NewSamplesDocument;

use crate::args::ScoreArgs;
use crate::args_many::ReferenceArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{counted, number, table};
use crate::render_graphs::distances_line;

pub(crate) fn run(args: &ScoreArgs, result: &Path) -> Result<(), Failure> {
    let ReferenceArgs { reference_inputs, reference_outputs, .. } = &args.reference;
    let formats = args.scored.output.formats(None);
    let request = NewSamplesRequest {
        data: args.scored.model.data(&args.scored.corruption),
        reference: ReferenceSource::Folder {
            path: result,
            inputs: reference_inputs.as_deref(),
            outputs: reference_outputs.as_deref(),
        },
        params: args.scored.model.scoring.params(),
        top: args.top,
        folder: args.scored.output.folder(&formats),
    };
    let scored = score_new_samples(&request, &Console::new(&args.scored.output).monitor())?;
    let document = &scored.document;
    Console::data(&if args.scored.output.terminal.json { json(document) } else { to_text(document) })
}

fn to_text(document: &NewSamplesDocument) -> String {
    let NewSamplesDocument { reference, samples, known, top_nodes, .. } = document;
    let labelled = top_nodes.iter().any(|node| node.label.is_some());
    let mut header = vec!["rank", "sample", "score", "above"];
    header.extend(labelled.then_some("label"));
    let rows = top_nodes.iter().enumerate().map(|(rank, node)| {
        let mut row = vec![
            (rank + 1).to_string(),
            node.index.to_string(),
            number(node.score),
            format!("{:.1} %", 100.0 * node.quantile),
        ];
        row.extend(node.label.as_deref().map(printable));
        row
    });
    format!(
        "new samples   {samples}, {known} of them samples of the reference\n\
         reference     {} samples, SPADE score {}, {}, {}\n{}\n\
         most fragile new samples (above: the share of the reference samples with a lower score)\n{}\n\
         seconds: {:.3}\n",
        reference.samples,
        number(reference.model_score),
        counted(reference.neighbors, "neighbor"),
        counted(reference.eigenpairs, "eigenpair"),
        distances_line(&reference.distances, "distances     "),
        table(&header, rows),
        document.total_s,
    )
}
