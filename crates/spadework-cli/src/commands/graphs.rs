//! `spadework graphs`: one model on graphs made in every way.

use spadework_app::{ArraySource, GraphsRequest, InputSource, ModelData, graphs, json};
use spadework_document::graphs::{ConstructionsDocument, Outcome};

use crate::args_graphs::GraphsArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{number, table};
use crate::render_comparison::correlation;
use crate::render_graphs::{brief, distances_line};
use crate::requests::outputs;

pub(crate) fn run(args: &GraphsArgs) -> Result<(), Failure> {
    let inputs = InputSource::Array(ArraySource::Named(&args.inputs));
    let data = ModelData {
        run: args.network.run.options(),
        ..ModelData::new(inputs, outputs(&args.network, args.outputs.as_deref(), None))
    };
    let request = GraphsRequest {
        data,
        params: args.general.params(args.neighbors),
        kinds: args.graph.clone(),
        weights: args.weights.clone(),
        top: args.top.get(),
        folder: args.out.as_deref(),
    };
    let document = graphs(&request, &args.terminal.console().monitor())?;
    Console::data(&if args.terminal.json { json(&document) } else { to_text(&document) })
}

fn to_text(document: &ConstructionsDocument) -> String {
    let top = format!("top {} shared", document.top);
    let header = [
        "graph",
        "weights",
        "SPADE score",
        "k",
        "input edges",
        "output edges",
        "components",
        "tau",
        &top,
        "seconds",
        "",
    ];
    let lines = document.constructions.iter().map(|row| {
        let seconds = format!("{:.2}", row.seconds);
        let mut line = vec![row.graph.clone(), row.weights.clone()];
        match &row.outcome {
            Outcome::Scored(scores) => {
                let (input, output) = (&scores.graphs.input, &scores.graphs.output);
                line.extend([
                    number(scores.spectrum.model_score),
                    scores.neighbors_used.to_string(),
                    input.edges.to_string(),
                    output.edges.to_string(),
                    format!("{}, {}", input.connection.components_found, output.connection.components_found),
                    correlation(scores.kendall_tau),
                    scores.top_shared.map_or_else(|| "-".to_owned(), |part| format!("{:.0} %", 100.0 * part)),
                    seconds,
                    brief(input, output),
                ]);
            }
            Outcome::Failed { error } => {
                line.extend(std::iter::repeat_n("-".to_owned(), 7));
                line.extend([seconds, error.clone()]);
            }
        }
        line
    });
    format!(
        "{} samples, {} numbers in, {} out; {} neighbors, connectivity {}\n{}\n{}\n\
         components: pieces of the input and output graph with {} neighbors, before the policy joins them\n\
         tau: Kendall's rank correlation of the node scores with those on knn graphs of unit weights\n\
         {top}: the share of the most fragile samples in common with those\n",
        document.samples,
        document.input_dim,
        document.output_dim,
        document.neighbors,
        document.made.request.connectivity,
        distances_line(&document.made.request.distances, "distances: "),
        table(&header, lines),
        document.neighbors,
    )
}
