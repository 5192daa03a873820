//! What every test needs: a folder to work in, array files made by hand, and a way to call the command.

pub(crate) mod arrays;
mod outcome;
mod scene;

pub(crate) use outcome::{Outcome, assert_holds};
pub(crate) use scene::{Scene, listing};

/// The score of a result or of a model, which lies in its interval.
pub(crate) fn score_in_interval(json: &serde_json::Value) -> f64 {
    let score = json["model_score"].as_f64().unwrap();
    let ends = ["lower", "upper"].map(|end| json["interval"][end].as_f64().unwrap());
    assert!(ends[0] < score && score < ends[1], "{score} in {ends:?}");
    score
}

/// Sends a signal to a process, by the shell: the program `kill` is not on every machine.
pub(crate) fn signal(child: &std::process::Child, name: &str) {
    let script = format!("kill -{name} {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
}
