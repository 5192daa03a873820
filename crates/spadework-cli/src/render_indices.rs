//! Margins and indices as text for people.

use spadework::laplacian::Estimate;
use spadework::pipeline::AverageIndices;
use spadework::scores::Spread;
use spadework_document::comparison::ModelDocument;
use spadework_document::margins::MarginsDocument;

use crate::render::{number_short, printable, table};

/// How far decisions lead, where labels say that the outputs are classes.
pub(crate) fn margins(margins: Option<&MarginsDocument>) -> String {
    let Some(margins) = margins.filter(|margins| margins.kind == "labeled") else { return String::new() };
    let Spread { median, p5, .. } = margins.spread;
    format!("  margin             median {}, 5 % below {}\n", number_short(median), number_short(p5))
}

/// What of a spread is shown: mean, median and 95 %.
const SPREAD: [&str; 3] = ["mean", "median", "95 %"];

fn spread(spread: Spread) -> Vec<String> {
    [spread.mean, spread.median, spread.p95].map(number_short).to_vec()
}

fn estimate(Estimate { value, standard_error, .. }: Estimate) -> String {
    format!("{} ± {}", number_short(value), number_short(standard_error))
}

/// The indices of one model.
pub(crate) fn indices(indices: Option<&AverageIndices>) -> String {
    let Some(indices) = indices else { return String::new() };
    let mut text = format!("\nindices\n  mean eigenvalue    {}\n", estimate(indices.mean_eigenvalue));
    if let Some(found) = indices.neighborhoods {
        let rows = found.rows;
        text.push_str(&format!("  trustworthiness    {:.4}   ({rows} samples)\n", found.trustworthiness));
        text.push_str(&format!("  continuity         {:.4}\n", found.continuity));
    }
    let kinds = [("geodesic", Some(indices.geodesic)), ("resistance", indices.resistance)];
    let rows = kinds.into_iter().filter_map(|(kind, found)| {
        let mut row = vec![kind.to_owned()];
        row.extend(spread(found?));
        Some(row)
    });
    let [mean, median, most] = SPREAD;
    text.push_str(&format!("  distortion of {} random input edges\n", indices.edges));
    text.push_str(&table(&["distance", mean, median, most], rows));
    text
}

/// The indices of several models, a row each.
pub(crate) fn indices_of(models: &[ModelDocument]) -> String {
    let rows = models.iter().filter_map(|model| {
        let found = model.facts.indices?;
        let part = |part: Option<f64>| part.map_or_else(String::new, |part| format!("{part:.4}"));
        Some(vec![
            printable(&model.name),
            estimate(found.mean_eigenvalue),
            number_short(found.geodesic.mean),
            found.resistance.map_or_else(String::new, |spread| number_short(spread.mean)),
            part(found.neighborhoods.map(|found| found.trustworthiness)),
            part(found.neighborhoods.map(|found| found.continuity)),
        ])
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = ["model", "mean eigenvalue", "hops", "resistance", "trustworthiness", "continuity"];
    format!(
        "\nindices (hops and resistance: mean distortion of random input edges)\n{}",
        table(&header, rows.into_iter())
    )
}
