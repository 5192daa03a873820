//! Gates as Markdown: the summary of a job.

use spadework_document::check::{CheckDocument, GateDocument, Outcome};

use super::words::{finding, new_failures, title, verdict};

/// The outcome as Markdown: what the gates come to, and a table of them.
pub(super) fn to_markdown(document: &CheckDocument) -> String {
    let rows: String = document.gates.iter().map(row).collect();
    let failures = new_failures(document).map(|failures| format!("\n{}\n", escaped(&failures)));
    let notes: String =
        document.notes.iter().map(|note| format!("\n> {}\n", escaped(&note.message))).collect();
    format!(
        "### Spadework: {}\n\n{}\n\n|  | gate | found |\n| --- | --- | --- |\n{rows}{}{notes}",
        if document.passed { "passed" } else { "failed" },
        escaped(&verdict(document)),
        failures.unwrap_or_default()
    )
}

fn row(gate: &GateDocument) -> String {
    let mark = match gate.outcome {
        Outcome::Pass => "✅ pass",
        Outcome::Fail => "❌ fail",
        Outcome::Undecided => "❔ undecided",
    };
    format!("| {mark} | {} | {} |\n", escaped(&title(gate)), escaped(&finding(gate)))
}

/// A bar would end its cell, a `#412` would become a link to an issue, and a `<` might begin a tag.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('#', "&#35;").replace('<', "&lt;")
}
