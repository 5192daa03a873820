//! Completions and man pages, as shells and readers of pages use them.

use std::process::Command;

use crate::support::{Scene, listing};

/// What bash offers for the last of these words.
fn bash_completes(scene: &Scene, words: &[&str]) -> Vec<String> {
    let script = format!(
        "source completions; COMP_WORDS=({}); COMP_CWORD={}; _spadework spadework '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(scene.path()).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_words() {
    let scene = Scene::empty();
    scene.write("completions", scene.run("completions bash").prints());
    assert_eq!(bash_completes(&scene, &["spadework", "comp"]), ["compare", "completions"]);
    assert_eq!(bash_completes(&scene, &["spadework", "check", "--min-r"]), ["--min-robust-accuracy"]);
    assert_eq!(bash_completes(&scene, &["spadework", "score", "--table", "mark"]), ["markdown"]);
}

#[test]
fn a_package_gets_every_file_in_its_place() {
    let scene = Scene::empty();
    scene.run("share share").prints();
    for place in [
        "share/bash-completion/completions/spadework",
        "share/zsh/site-functions/_spadework",
        "share/fish/vendor_completions.d/spadework.fish",
        "share/powershell/spadework.ps1",
        "share/man/man1/spadework.1",
        "share/man/man1/spadework-score.1",
    ] {
        assert!(!scene.read(place).is_empty(), "{place}");
    }
    let folder = scene.path().join("share/man/man1");
    assert!(listing(&folder).iter().all(|name| name.starts_with("spadework") && name.ends_with(".1")));
    // Again into the same folder, as a packager's script does.
    scene.run("share share").prints();
    scene.write("file", "");
    scene.refuses("share file", &["file", "cannot be written"]);
    scene.run("completions tcsh").misused(&["tcsh", "bash"]);
}
