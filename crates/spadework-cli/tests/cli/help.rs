//! Help texts, compared with files. `scripts/generate` writes them again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Scene;

fn snapshot(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "cli", "snapshots", &format!("{name}.txt")].iter().collect()
}

/// The lines around the first difference.
fn difference(expected: &str, got: &str) -> String {
    let (expected, got): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), got.lines().collect());
    let at = expected.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let excerpt = |lines: &[&str], mark: char| -> String {
        lines.iter().skip(at).take(5).map(|line| format!("{mark} {line}\n")).collect()
    };
    format!("line {}:\n{}{}", at + 1, excerpt(&expected, '-'), excerpt(&got, '+'))
}

#[track_caller]
fn matches_snapshot(name: &str, arguments: &str) {
    let got = Scene::empty().run(arguments).prints();
    is_up_to_date(&snapshot(name), &got);
}

/// Compares what is generated with a file of the repository, which `UPDATE_SNAPSHOTS=1` writes again.
#[track_caller]
pub(crate) fn is_up_to_date(path: &Path, got: &str) {
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(path, got).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        got == expected,
        "{} is out of date (scripts/generate writes it again) at {}",
        path.display(),
        difference(&expected, got)
    );
}

#[test]
fn spadework() {
    matches_snapshot("spadework", "--help");
}

#[test]
fn demo() {
    matches_snapshot("demo", "demo --help");
}

#[test]
fn score() {
    matches_snapshot("score", "score --help");
}

#[test]
fn score_in_short() {
    matches_snapshot("score-short", "score -h");
}

#[test]
fn compare() {
    matches_snapshot("compare", "compare --help");
}

#[test]
fn sweep() {
    matches_snapshot("sweep", "sweep --help");
}

#[test]
fn select() {
    matches_snapshot("select", "select --help");
}

#[test]
fn check() {
    matches_snapshot("check", "check --help");
}

#[test]
fn distortion() {
    matches_snapshot("distortion", "distortion --help");
}

#[test]
fn embed() {
    matches_snapshot("embed", "embed --help");
}

#[test]
fn graphs() {
    matches_snapshot("graphs", "graphs --help");
}

#[test]
fn layers() {
    matches_snapshot("layers", "layers --help");
}

#[test]
fn predict() {
    matches_snapshot("predict", "predict --help");
}

#[test]
fn model() {
    matches_snapshot("model", "model --help");
}

#[test]
fn data() {
    matches_snapshot("data", "data --help");
}

#[test]
fn corrupt() {
    matches_snapshot("corrupt", "corrupt --help");
}

#[test]
fn report() {
    matches_snapshot("report", "report --help");
}

#[test]
fn graph() {
    matches_snapshot("graph", "graph --help");
}

#[test]
fn eigen() {
    matches_snapshot("eigen", "eigen --help");
}

#[test]
fn scores() {
    matches_snapshot("scores", "scores --help");
}

#[test]
fn completions() {
    matches_snapshot("completions", "completions --help");
}

#[test]
fn version() {
    let expected = format!("spadework {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Scene::empty().run("--version").prints(), expected);
}

#[test]
fn help_is_no_wider_than_the_terminal() {
    let commands = [
        "",
        "demo",
        "score",
        "compare",
        "sweep",
        "select",
        "check",
        "report",
        "graphs",
        "graph",
        "eigen",
        "scores",
        "distortion",
        "embed",
        "layers",
        "predict",
        "model",
        "data",
        "corrupt",
        "completions",
    ];
    for arguments in commands.map(|command| format!("{command} --help")) {
        let text = Scene::empty().run(&arguments).prints();
        // clap does not wrap the line of usage.
        for line in text.lines().filter(|line| !line.starts_with("Usage: ")) {
            assert!(line.chars().count() <= 100, "{arguments}: {line}");
        }
    }
}

/// The commands of the list that `spadework -h` prints.
fn commands() -> Vec<String> {
    let list = Scene::empty().run("-h").prints();
    let lines = list.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn help_begins_with_examples_and_in_short_fits_a_screen() {
    let commands = commands();
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        for option in ["-h", "--help"] {
            let text = Scene::empty().run(&format!("{command} {option}")).prints();
            let examples = text.find("Examples:\n").unwrap_or_else(|| panic!("{command}: {text}"));
            let options = text.find("\nOptions:").unwrap_or_else(|| panic!("{command}: {text}"));
            assert!(examples < options, "{command} {option}: {text}");
        }
        let lines = Scene::empty().run(&format!("{command} -h")).prints().lines().count();
        assert!(lines <= 45, "{command} -h: {lines} lines");
    }
}

#[test]
fn train() {
    matches_snapshot("train", "train --help");
}

#[test]
fn attack() {
    matches_snapshot("attack", "attack --help");
}

#[test]
fn clever() {
    matches_snapshot("clever", "clever --help");
}

#[test]
fn commands_are_in_groups() {
    let text = Scene::empty().run("-h").prints();
    let titles = ["Assess:", "Explore:", "Models and data:", "Stages:", "Research:", "Options:"];
    let places: Vec<usize> =
        titles.iter().map(|title| text.find(title).unwrap_or_else(|| panic!("{title}"))).collect();
    assert!(places.is_sorted(), "{text}");
    assert!(!text.contains("not in this build"), "these tests are of a build with networks");
}

#[test]
fn old_names_of_options_still_work() {
    let scene = Scene::empty();
    let refused = scene.run("predict --model net.onnx --inputs x.npy --out y.csv");
    refused.refuses(2, &["--output must end in .npy"]);
}

#[test]
fn a_mistyped_value_gets_a_suggestion() {
    let scene = Scene::empty();
    let similar = |word: &str| format!("a similar value exists: '{word}'");
    for (typed, meant) in [("mutal", "mutual"), ("KNN", "knn"), ("sprse:density=2", "sparse:density=2")] {
        let call = format!("score --inputs x.npy --outputs y.npy --graph {typed}");
        scene.run(&call).misused(&[&similar(meant)]);
    }
    scene
        .run("score --inputs x.npy --model m.onnx --probe lnif:0.1")
        .misused(&["a similar value exists: 'linf:0.1'"]);
    scene
        .run("score --inputs x.npy --model m.onnx --probe linf:0.1:serch")
        .misused(&["a similar value exists: 'linf:0.1:search'"]);
    for (typed, meant) in [("gausian-noise:3", "gaussian-noise:3"), ("fogg:1", "fog:1")] {
        let call = format!("score --inputs x.npy --outputs y.npy --corruption {typed}");
        scene.run(&call).misused(&[&similar(meant)]);
    }
    scene
        .run("score --inputs x.npy --outputs y.npy --solver davidsn")
        .misused(&["a similar value exists: 'davidson'"]);
    // Two letters exchanged in a short word.
    scene.run("score --inputs x.npy --outputs y.npy --tables cvs").misused(&[&similar("csv")]);
    // `share` is for packagers and not in the help.
    scene.run("scroe").misused(&["exist: 'scores', 'score'"]);
}

#[test]
fn a_number_that_is_none_is_refused_in_plain_words() {
    let scene = Scene::empty();
    let refused = |options: &str, expected: &str| {
        let outcome = scene.run(&format!("score --inputs x.npy --outputs y.npy {options}"));
        outcome.misused(&[expected, "try '--help'"]);
    };
    refused("--top ten", "invalid value 'ten' for '--top <N>': expected a whole number\n");
    refused("--top 99999999999999999999999", "for '--top <N>': expected a smaller whole number");
    refused("--pictures 1.5", "invalid value '1.5' for '--pictures <N>': expected a whole number");
}

#[test]
fn a_gate_without_a_limit_shows_what_one_looks_like() {
    let scene = Scene::empty();
    scene
        .run("check --inputs x.npy --outputs y.npy")
        .misused(&["tip: a gate needs a limit, e.g. --min-accuracy 90%"]);
}
