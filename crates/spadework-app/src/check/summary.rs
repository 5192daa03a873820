//! Gates as Markdown: the summary of a job.

use spadework_document::check::{CheckDocument, GateDocument, Outcome};

use super::words::{finding, new_failures, title, verdict};
use crate::tables::markdown_field;
use crate::wording::Voice;

/// The outcome as Markdown: what the gates come to, and a table of them.
pub(super) fn to_markdown(document: &CheckDocument) -> String {
    let rows: String = document.gates.iter().map(row).collect();
    let failures = new_failures(document).map(|failures| format!("\n{}\n", markdown_field(&failures)));
    let notes: String =
        document.notes.iter().map(|note| format!("\n> {}\n", markdown_field(&note.message))).collect();
    format!(
        "### Spadework: {}\n\n{}\n\n|  | gate | found |\n| --- | --- | --- |\n{rows}{}{notes}",
        if document.passed { "passed" } else { "failed" },
        markdown_field(&verdict(document, Voice::Command)),
        failures.unwrap_or_default()
    )
}

fn row(gate: &GateDocument) -> String {
    let mark = match gate.outcome {
        Outcome::Pass => "✅ pass",
        Outcome::Fail => "❌ fail",
        Outcome::Undecided => "❔ undecided",
    };
    format!("| {mark} | {} | {} |\n", markdown_field(&title(gate)), markdown_field(&finding(gate)))
}
