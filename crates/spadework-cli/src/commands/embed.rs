//! `spadework embed`: coordinates of the samples from each graph and from both (A.6).

use std::path::Path;

use spadework_app::{EmbedRequest, Embedded, EmbeddingFormat, embed, json};

use crate::args_data::CorruptionArgs;
use crate::args_distances::EmbedArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{number, table};

pub(crate) fn run(args: &EmbedArgs) -> Result<(), Failure> {
    let format = args.output.as_deref().map(format_of).transpose()?;
    let request = EmbedRequest {
        data: args.model.data(&CorruptionArgs::default()),
        params: args.model.scoring.params(),
        dims: args.dims.get(),
        file: args.output.as_deref().zip(format),
    };
    let embedded = embed(&request, &args.terminal.console().monitor())?;
    Console::data(&match (args.terminal.json, &args.output) {
        (true, _) => json(&embedded.document),
        (false, Some(path)) => to_text(&embedded, path),
        (false, None) => embedded.csv(),
    })
}

fn format_of(path: &Path) -> Result<EmbeddingFormat, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(EmbeddingFormat::Csv),
        Some("npy") => Ok(EmbeddingFormat::Npy),
        _ => Err(Failure::usage(format!("--output must end in .csv or .npy, got {}", path.display()))),
    }
}

fn to_text(embedded: &Embedded, path: &Path) -> String {
    let rows = embedded.embeddings.iter().map(|embedding| {
        let eigenvalues: Vec<String> = embedding.eigenvalues.iter().map(|value| number(*value)).collect();
        vec![embedding.of.to_owned(), eigenvalues.join("  ")]
    });
    format!(
        "{} samples, written to {}\n{}",
        embedded.samples(),
        path.display(),
        table(&["embedding", "eigenvalues"], rows)
    )
}
