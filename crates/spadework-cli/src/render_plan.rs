//! What a score would take, as text for people.

use spadework::error::size_in_words;
use spadework_document::plan::{PlanDocument, PlannedMemory};
use spadework_document::words::grouped;

use crate::render::table;

/// The whole plan.
pub(crate) fn plan(plan: &PlanDocument) -> String {
    let mut text = format!(
        "plan for {} samples, {} numbers in, {} out, k = {}, from a trial on {} of them ({} threads)\n\n",
        grouped(plan.samples),
        grouped(plan.input_dim),
        grouped(plan.output_dim),
        plan.neighbors,
        grouped(plan.tried_on),
        plan.threads,
    );
    text.push_str(&times(plan));
    text.push('\n');
    text.push_str(&memory(&plan.memory));
    text.push_str(&format!("\nsearch        {}\n", search(plan)));
    text.push_str(&format!("connectivity  {}\n", connectivity(plan)));
    text
}

fn times(plan: &PlanDocument) -> String {
    let seconds = &plan.seconds;
    let stages = [
        ("model", seconds.model),
        ("input neighbors", seconds.neighbors_input),
        ("output neighbors", seconds.neighbors_output),
        ("graphs", seconds.graphs),
        ("eigenpairs", seconds.eigen),
        ("numerical bounds", seconds.numerical_bounds),
        ("scores", seconds.scores),
        ("all", seconds.total),
    ];
    // A model that is not run takes no line.
    let shown = stages.iter().filter(|(stage, seconds)| *stage != "model" || *seconds > 0.0);
    table(
        &["time by stage", "about"],
        shown.map(|(stage, seconds)| vec![(*stage).to_owned(), duration(*seconds)]),
    )
}

fn memory(memory: &PlannedMemory) -> String {
    let place = if memory.inputs_mapped { " (mapped)" } else { "" };
    let mut rows = vec![
        (format!("inputs{place}"), memory.inputs),
        ("outputs".to_owned(), memory.outputs),
        ("search, at most".to_owned(), memory.search),
        ("graphs, eigenvectors".to_owned(), memory.graphs),
        ("all at one time".to_owned(), memory.total),
    ];
    rows.extend(memory.available.map(|bytes| ("available now".to_owned(), bytes)));
    let mut text =
        table(&["memory", "about"], rows.into_iter().map(|(what, bytes)| vec![what, size_in_words(bytes)]));
    if memory.available.is_some_and(|available| available < memory.total) {
        text.push_str(
            "  more than is available: use fewer samples, or numbers of a narrower type (uint8, float16)\n",
        );
    }
    text
}

fn search(plan: &PlanDocument) -> String {
    if plan.search == "exact" {
        return "exact".to_owned();
    }
    format!("{}; the time above is that of the exact search (--search exact)", plan.search)
}

fn connectivity(plan: &PlanDocument) -> String {
    let found = &plan.connectivity;
    match found.output_components {
        1 => format!("the output graph of the trial is connected with k = {}", plan.neighbors),
        components if found.neighbors_used > plan.neighbors => format!(
            "k will probably grow: the output graph of the trial has {components} components with k = {}, and needed k = {}",
            plan.neighbors, found.neighbors_used
        ),
        components => {
            format!("the output graph of the trial has {components} components with k = {}", plan.neighbors)
        }
    }
}

/// `0.35 s`, `12 s`, `7.5 min`, `3.2 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        ..10.0 => format!("{seconds:.2} s"),
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_reads_best() {
        let said = [0.354, 59.6, 450.0, 11_500.0].map(duration);
        assert_eq!(said, ["0.35 s", "60 s", "7.5 min", "3.2 h"]);
    }
}
