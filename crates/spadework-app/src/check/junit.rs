//! Gates as test cases: JUnit XML, which systems of continuous integration read.

use spadework_document::check::{CheckDocument, GateDocument, Outcome};
use spadework_report::escape;

use super::words::{finding, percent, title};

/// The outcome as JUnit XML: a test case per gate. One that is undecided is skipped, or a failure where that counts as failed.
pub(super) fn to_xml(document: &CheckDocument) -> String {
    let is_failure = |gate: &&GateDocument| outcome_of(document, gate) == Outcome::Fail;
    let is_skipped = |gate: &&GateDocument| outcome_of(document, gate) == Outcome::Undecided;
    let gates = &document.gates;
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
        gates.len(),
        gates.iter().filter(is_failure).count(),
        gates.iter().filter(is_skipped).count()
    );
    let cases: String = gates.iter().map(|gate| test_case(gate, outcome_of(document, gate))).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"spadework check\" {counts}>\n\
         {cases}  </testsuite>\n</testsuites>\n"
    )
}

/// What a gate counts as.
fn outcome_of(document: &CheckDocument, gate: &GateDocument) -> Outcome {
    match (gate.outcome, document.undecided) {
        (Outcome::Undecided, Outcome::Fail) => Outcome::Fail,
        (outcome, _) => outcome,
    }
}

fn test_case(gate: &GateDocument, outcome: Outcome) -> String {
    let limit = if gate.found.score.is_some() { gate.limit.to_string() } else { percent(gate.limit) };
    let name = escape(&format!("{}: --{} {limit}", title(gate), gate.gate));
    let found = escape(&finding(gate));
    let result = match outcome {
        Outcome::Pass => format!("<system-out>{found}</system-out>"),
        Outcome::Fail => format!("<failure message=\"{found}\">{found}</failure>"),
        Outcome::Undecided => format!("<skipped message=\"{found}\"/>"),
    };
    format!("    <testcase classname=\"spadework.check\" name=\"{name}\">{result}</testcase>\n")
}
