//! Results as a table with one row per model, for papers and for other programs.

use spadework::error::Readable;
use spadework_app::{csv_field, markdown_field};
use spadework_document::comparison::CompareDocument;
use spadework_document::estimates::ShareDocument;
use spadework_document::facts::FactsDocument;
use spadework_document::score::ScoreDocument;
use spadework_document::words::grouped;
use spadework_io::output::optional_field;

use crate::args_table::Format;
use crate::render::{number_short, printable};
use crate::render_shares::{share_with_range, unevenness_with_range};

/// What a table says of one model.
struct Row<'a> {
    /// Only models that were compared have one.
    rank: Option<usize>,
    model: String,
    samples: usize,
    model_score: f64,
    facts: &'a FactsDocument,
}

/// One scored model.
pub(crate) fn of_score(document: &ScoreDocument, format: Format) -> String {
    let row = Row {
        rank: None,
        model: document.name.as_deref().map_or_else(|| "model".to_owned(), printable),
        samples: document.samples,
        model_score: document.spectrum.model_score,
        facts: &document.facts,
    };
    written(&[row], format)
}

/// Several models, most robust first.
pub(crate) fn of_comparison(document: &CompareDocument, format: Format) -> String {
    let rows: Vec<Row<'_>> = document
        .models
        .iter()
        .map(|model| Row {
            rank: Some(model.rank),
            model: printable(&model.name),
            samples: document.settings.samples,
            model_score: model.spectrum.model_score,
            facts: &model.facts,
        })
        .collect();
    written(&rows, format)
}

fn written(rows: &[Row<'_>], format: Format) -> String {
    match format {
        Format::Latex => latex(rows),
        Format::Markdown => markdown(rows),
        Format::Csv => csv(rows),
    }
}

/// The cell of a model, where it has one.
type Cell = fn(&Row<'_>) -> Option<String>;

/// Columns for people: headings and cells.
const COLUMNS: [(&str, Cell); 9] = [
    ("rank", |row| row.rank.map(|rank| rank.to_string())),
    ("robust accuracy", |row| share(row.facts.estimates.robust_accuracy)),
    ("survived", |row| share(row.facts.estimates.survived)),
    ("accuracy", |row| share(row.facts.estimates.accuracy)),
    ("unevenness", |row| row.facts.estimates.unevenness.map(|found| unevenness_with_range(&found))),
    ("overlap", |row| share(row.facts.estimates.overlap)),
    ("SPADE score", |row| Some(score(row))),
    ("change of output", |row| row.facts.output_change.as_ref().map(|found| number_short(found.median))),
    ("permuted", |row| row.facts.references.map(|found| number_short(found.permuted))),
];

fn share(share: Option<ShareDocument>) -> Option<String> {
    share.as_ref().map(share_with_range)
}

fn score(row: &Row<'_>) -> String {
    let interval = row
        .facts
        .interval
        .map(|interval| format!(" ({} – {})", number_short(interval.lower), number_short(interval.upper)));
    format!("{}{}", number_short(row.model_score), interval.unwrap_or_default())
}

/// The headings that at least one model has a cell for, and the cells; the model itself comes first.
fn cells(rows: &[Row<'_>]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let used: Vec<_> =
        COLUMNS.iter().filter(|(_, cell)| rows.iter().any(|row| cell(row).is_some())).collect();
    let headings = std::iter::once("model").chain(used.iter().map(|(heading, _)| *heading)).collect();
    let line = |row: &Row<'_>| {
        let numbers = used.iter().map(|(_, cell)| cell(row).unwrap_or_default());
        std::iter::once(row.model.clone()).chain(numbers).collect()
    };
    (headings, rows.iter().map(line).collect())
}

/// What the numbers rest on, in a sentence or two.
fn basis(rows: &[Row<'_>]) -> String {
    let samples = rows.first().map_or(0, |row| row.samples);
    let probed = rows.iter().find_map(|row| row.facts.probe.as_ref()).map(|probe| {
        format!(" Robust accuracy and survived: {} on {} samples.", probe.probe, grouped(probe.samples))
    });
    let samples = grouped(samples);
    format!("{samples} samples. In parentheses: 95 % confidence intervals.{}", probed.unwrap_or_default())
}

fn markdown(rows: &[Row<'_>]) -> String {
    let (headings, lines) = cells(rows);
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let escaped = |cells: &Vec<String>| cells.iter().map(|cell| markdown_field(cell)).collect::<Vec<_>>();
    let header: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let rule: Vec<String> =
        (0..headings.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned()).collect();
    let body: String = lines.iter().map(|cells| line(&escaped(cells))).collect();
    format!("{}{}{body}\n{}\n", line(&header), line(&rule), markdown_field(&basis(rows)))
}

fn latex(rows: &[Row<'_>]) -> String {
    let (headings, lines) = cells(rows);
    let line = |cells: Vec<String>| format!("  {} \\\\\n", cells.join(" & "));
    let header = line(headings.iter().map(|heading| latex_text(heading)).collect());
    let body: String =
        lines.iter().map(|cells| line(cells.iter().map(|cell| latex_text(cell)).collect())).collect();
    let columns = headings.len();
    format!(
        "% \\usepackage{{booktabs}}\n\\begin{{tabular}}{{l{}}}\n  \\toprule\n{header}  \\midrule\n{body}  \\bottomrule\n  \
         \\multicolumn{{{columns}}}{{l}}{{\\footnotesize {}}} \\\\\n\\end{{tabular}}\n",
        "r".repeat(columns - 1),
        latex_text(&basis(rows))
    )
}

/// Text in which nothing is a command, with the signs that ours has.
fn latex_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => escaped.extend(['\\', letter]),
            '–' => escaped.push_str("--"),
            '∞' => escaped.push_str("$\\infty$"),
            'λ' => escaped.push_str("$\\lambda$"),
            other => escaped.push(other),
        }
    }
    // A percent sign stays with its number.
    escaped.replace(" \\%", "~\\%")
}

/// An estimate of what is known, where it is.
type Share = fn(&FactsDocument) -> Option<ShareDocument>;

/// An estimate as four columns: itself, both ends and n.
const SHARES: [(&str, Share); 5] = [
    ("accuracy", |facts| facts.estimates.accuracy),
    ("robust_accuracy", |facts| facts.estimates.robust_accuracy),
    ("survived", |facts| facts.estimates.survived),
    ("unevenness", |facts| facts.estimates.unevenness),
    ("overlap", |facts| facts.estimates.overlap),
];

/// What follows the shares.
const AFTER: [&str; 6] =
    ["model_score", "model_score_lower", "model_score_upper", "permuted", "output_change", "probe"];

fn csv(rows: &[Row<'_>]) -> String {
    let shares =
        SHARES.iter().flat_map(|(name, _)| ["", "_lower", "_upper", "_n"].map(|end| format!("{name}{end}")));
    let header: Vec<String> =
        ["model", "rank", "samples"].map(str::to_owned).into_iter().chain(shares).collect();
    let header = header.join(",") + "," + &AFTER.join(",");
    let body: String = rows.iter().map(|row| format!("{}\n", csv_fields(row).join(","))).collect();
    format!("{header}\n{body}")
}

fn csv_fields(row: &Row<'_>) -> Vec<String> {
    let number = |value: Option<f64>| optional_field(value.map(Readable));
    let facts = row.facts;
    let rank = row.rank.map_or_else(String::new, |rank| rank.to_string());
    let mut fields = vec![csv_field(&row.model), rank, row.samples.to_string()];
    for (_, of) in SHARES {
        let share = of(facts);
        fields.extend([share.map(|share| share.estimate), share.map(|share| share.lower)].map(number));
        fields.push(number(share.map(|share| share.upper)));
        fields.push(share.map_or_else(String::new, |share| share.n.to_string()));
    }
    fields.push(Readable(row.model_score).to_string());
    let interval = facts.interval;
    fields.extend(
        [interval.map(|interval| interval.lower), interval.map(|interval| interval.upper)].map(number),
    );
    fields.push(number(facts.references.map(|found| found.permuted)));
    fields.push(number(facts.output_change.as_ref().map(|found| found.median)));
    let probe = facts.probe.as_ref().map(|probe| probe.probe.as_str());
    fields.push(
        probe
            .or(facts.output_change.as_ref().map(|found| found.probe.as_str()))
            .map_or_else(String::new, csv_field),
    );
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> FactsDocument {
        let mut facts = FactsDocument::default();
        facts.estimates.accuracy =
            Some(ShareDocument { estimate: 0.992, lower: 0.99, upper: 0.9935, n: 10_000, queries: None });
        facts
    }

    fn rows(facts: &FactsDocument) -> [Row<'_>; 1] {
        [Row { rank: None, model: "a_b|c,d & 5 %".to_owned(), samples: 10_000, model_score: 41.466_8, facts }]
    }

    #[test]
    fn columns_that_no_model_has_are_left_out_for_people() {
        let text = markdown(&rows(&facts()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "| model | accuracy | SPADE score |");
        assert_eq!(lines[1], "| --- | ---: | ---: |");
        assert_eq!(lines[2], "| a_b\\|c,d & 5 % | 99.2 % (99.0 – 99.4) | 41.5 |");
        assert_eq!(lines[4], "10,000 samples. In parentheses: 95 % confidence intervals.");
    }

    #[test]
    fn latex_has_no_commands_of_others() {
        let text = latex(&rows(&facts()));
        assert!(text.contains("a\\_b|c,d \\& 5~\\% & 99.2~\\% (99.0 -- 99.4) & 41.5 \\\\\n"), "{text}");
        assert!(text.contains("\\begin{tabular}{lrr}"), "{text}");
        assert_eq!(
            latex_text("\\x{^~$#∞"),
            "\\textbackslash{}x\\{\\textasciicircum{}\\textasciitilde{}\\$\\#$\\infty$"
        );
    }

    #[test]
    fn csv_has_the_same_columns_for_every_call() {
        let text = csv(&rows(&facts()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split(',').count(), 3 + 4 * SHARES.len() + AFTER.len());
        assert!(
            lines[1].starts_with("\"a_b|c,d & 5 %\",,10000,0.992,0.99,0.9935,10000,,,,,"),
            "{}",
            lines[1]
        );
        assert!(lines[1].ends_with(",41.4668,,,,,"), "{}", lines[1]);
    }
}
