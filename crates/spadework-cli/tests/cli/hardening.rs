//! What goes wrong around a call, and files that were made to go wrong: one message and the right exit code.

#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use spadework_io::output::{Column, write_parquet};

use crate::support::arrays::{Random, floats, npy, npz};
use crate::support::{Outcome, Scene, listing, signal};

fn pipe(scene: &Scene, name: &str) {
    assert!(Command::new("mkfifo").arg(scene.path().join(name)).status().unwrap().success());
}

#[test]
fn pages_go_into_pipes_and_devices_and_do_not_replace_them() {
    let scene = Scene::with_model();
    pipe(&scene, "page");
    let path = scene.path().join("page");
    let reader = std::thread::spawn(move || {
        let mut page = String::new();
        File::open(path).unwrap().read_to_string(&mut page).unwrap();
        page
    });
    scene.score("--quiet --report page --out result").prints();
    assert!(reader.join().unwrap().starts_with("<!"));
    assert!(fs::metadata(scene.path().join("page")).unwrap().file_type().is_fifo());
    symlink("/dev/null", scene.path().join("null")).unwrap();
    scene.run("report result --quiet --out null").prints();
    assert!(fs::symlink_metadata(scene.path().join("null")).unwrap().is_symlink());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    scene.make_folder("folder");
    scene.score("--quiet --report folder").refuses(2, &["folder: cannot be written"]);
}

/// What stdout of a shell goes to is a regular file here, which a link to a descriptor leads to.
#[test]
fn links_stay_and_what_they_lead_to_is_written() {
    let scene = Scene::with_model();
    scene.score("--quiet --out result").prints();
    let path = |name: &str| scene.path().join(name);
    for (link, target) in [("null", "/dev/null"), ("out", "/dev/fd/1"), ("pages", "page"), ("new", "page")] {
        symlink(target, path(link)).unwrap();
    }
    pipe(&scene, "page");
    let pages = path("page");
    let reader = std::thread::spawn(move || fs::read_to_string(pages).unwrap());
    for call in ["null > printed", "out > page.html", "pages > printed"] {
        scene.shell(&format!("\"$SW\" report result --out {call}")).prints();
    }
    assert!(reader.join().unwrap().starts_with("<!"));
    let page = scene.read("page.html");
    assert!(page.starts_with("<!") && page.ends_with("</html>wrote out\n"), "{:?}", page.lines().last());
    scene.shell("printf before > log; \"$SW\" report result --quiet --out out >> log").prints();
    assert!(scene.read("log").starts_with("before<!"));
    // A file is replaced where it is, whether it is there already or not.
    fs::remove_file(path("page")).unwrap();
    for link in ["pages", "new"] {
        scene.run(&format!("report result --quiet --out {link}")).prints();
        assert!(
            fs::symlink_metadata(path("page")).unwrap().is_file() && scene.read("page").starts_with("<!")
        );
    }
    for link in ["null", "out", "pages", "new"] {
        assert!(fs::symlink_metadata(path(link)).unwrap().is_symlink(), "{link}");
    }
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    symlink("circle", path("circle")).unwrap();
    scene.run("report result --out circle").refuses(2, &["circle: cannot be written"]);
}

#[test]
fn a_file_of_a_result_replaces_no_pipe() {
    let scene = Scene::with_model();
    scene.make_folder("result");
    pipe(&scene, "result/nodes.csv");
    scene.score("--quiet --out result").refuses(2, &["nodes.csv", "a pipe"]);
    assert!(fs::metadata(scene.path().join("result/nodes.csv")).unwrap().file_type().is_fifo());
}

/// Nobody writes into the pipe: a call that read it would never end.
#[test]
fn a_pipe_under_the_name_of_a_result_is_not_read() {
    let scene = Scene::with_model();
    scene.make_folder("result");
    pipe(&scene, "result/result.json");
    let gate = "check --inputs x.npy --outputs y.npy --baseline result --max-drop 1%";
    for call in ["report result --output page.html", gate] {
        scene.run(call).refuses(2, &["result.json", "expected a regular file, got a pipe or a device"]);
    }
    scene.score("--quiet --out result").refuses(2, &["result.json", "a pipe"]);
    fs::remove_file(scene.path().join("result/result.json")).unwrap();
    // As an endless one would be.
    symlink("/dev/null", scene.path().join("result/result.json")).unwrap();
    scene.run("report result --output page.html").refuses(2, &["result.json", "a device"]);
}

/// The stages of a result, too, are neither waited for nor removed.
#[test]
fn pipes_and_devices_under_the_names_of_stages_stay() {
    let scene = Scene::with_model();
    let graph = "graph --quiet --inputs x.npy --outputs y.npy --out result";
    scene.run(graph).prints();
    scene.run("eigen result --quiet").prints();
    for (file, calls) in [
        ("eigenpairs.npz", &["eigen result", "scores result", "eigen result --force"][..]),
        ("output_graph.npz", &[graph, "eigen result", &format!("{graph} --force")][..]),
    ] {
        let path = scene.path().join("result/stages").join(file);
        fs::remove_file(&path).unwrap();
        pipe(&scene, &format!("result/stages/{file}"));
        for call in calls {
            scene.run(call).refuses(2, &[file, "expected a regular file, got a pipe or a device"]);
        }
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    }
    scene.make_folder("other/.unfinished");
    symlink("/dev/null", scene.path().join("other/.unfinished/input_graph.npz")).unwrap();
    scene.score("--quiet --out other").refuses(2, &["input_graph.npz", "a device"]);
}

/// A folder of results may come from somebody else.
#[test]
fn links_in_a_folder_of_results_lead_nowhere() {
    let scene = Scene::with_model();
    scene.write("own", "kept");
    let path = |name: &str| scene.path().join(name);
    let graph = "graph --quiet --inputs x.npy --outputs y.npy --out result";
    scene.make_folder("result/stages");
    for target in ["own", "new"] {
        symlink(path(target), path("result/.lock")).unwrap();
        for call in [graph, "score --quiet --inputs x.npy --outputs y.npy --out result"] {
            scene.run(call).refuses(2, &["result/.lock: expected a regular file", "got a link"]);
        }
        fs::remove_file(path("result/.lock")).unwrap();
    }
    // Nor are files behind a folder that is a link read, replaced or removed.
    scene.make_folder("elsewhere");
    for file in ["input_graph.npz", "output_graph.npz", "eigenpairs.npz", "inputs-0.part"] {
        scene.write(&format!("elsewhere/{file}"), "kept");
    }
    let score = "score --quiet --inputs x.npy --outputs y.npy --out linked";
    scene.make_folder("linked");
    for (folder, call) in [
        (".unfinished", score.to_owned()),
        (".unfinished", score.replace("--outputs y.npy", "a=y.npy b=y.npy").replace("score", "compare")),
        ("stages", format!("{graph} --force").replace("result", "linked")),
    ] {
        symlink(path("elsewhere"), path(&format!("linked/{folder}"))).unwrap();
        scene.run(&call).refuses(2, &[&format!("linked/{folder}: expected a folder"), "got a symbolic link"]);
        fs::remove_file(path(&format!("linked/{folder}"))).unwrap();
    }
    for file in ["input_graph.npz", "output_graph.npz", "eigenpairs.npz", "inputs-0.part"] {
        assert_eq!(scene.read(&format!("elsewhere/{file}")), "kept");
    }
    // Links to nothing: what is there already is refused unless it is to be replaced.
    let stages = ["stages/input_graph.npz", "stages/output_graph.npz", "stages/eigenpairs.npz"];
    for file in stages.iter().chain(&["input_graph.csv"]) {
        symlink(path("new"), path(&format!("result/{file}"))).unwrap();
    }
    scene.run(&format!("{graph} --save-graphs csv")).prints();
    scene.run("eigen result --quiet").prints();
    assert!(!path("new").exists());
    for file in stages {
        fs::remove_file(path(&format!("result/{file}"))).unwrap();
        symlink(path("own"), path(&format!("result/{file}"))).unwrap();
    }
    scene.run(&format!("{graph} --force")).prints();
    scene.run("eigen result --quiet --force").prints();
    for file in stages {
        assert!(fs::symlink_metadata(path(&format!("result/{file}"))).unwrap().is_file(), "{file}");
    }
    assert_eq!(scene.read("own"), "kept");
}

/// Long enough to be looked at while it runs.
fn long_work() -> Scene {
    let scene = Scene::empty();
    scene.write("x.npy", floats(1000, &Random::new(8).points(20_000 * 1000)));
    scene.write("y.npy", floats(2, &Random::new(9).points(20_000 * 2)));
    scene
}

const LONG: &str = "score --inputs x.npy --outputs y.npy --threads 1";

fn started(scene: &Scene, options: &str) -> Child {
    let mut command = scene.interruptible(&format!("{LONG} {options}"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for something that another process does.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn signals_that_a_parent_ignores_stay_ignored() {
    let scene = long_work();
    for name in ["HUP", "INT"] {
        let script = format!("trap '' {name}; exec \"$SW\" {LONG}");
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .env("SW", env!("CARGO_BIN_EXE_spadework"))
            .current_dir(scene.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(500));
        signal(&child, name);
        sleep(Duration::from_millis(1500));
        assert!(child.try_wait().unwrap().is_none(), "SIG{name} ended it");
        signal(&child, "TERM");
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}

#[test]
fn a_folder_takes_one_run_at_a_time() {
    let scene = long_work();
    for out in ["new/result", "there"] {
        fs::create_dir_all(scene.path().join("there")).unwrap();
        let mut first = started(&scene, &format!("--out {out}"));
        let (inside, above) = (scene.path().join("there/.lock"), scene.path().join(".new%result.lock"));
        until("the first run locks its folder", || inside.exists() || above.exists());
        sleep(Duration::from_millis(50));
        let words = format!("another run (process {})", first.id());
        let second = format!("score --quiet --inputs y.npy --outputs y.npy --out {out}");
        scene.run(&second).refuses(2, &[out, &words]);
        scene.run(&format!("graph --quiet --inputs y.npy --outputs y.npy --out {out}")).refuses(2, &[&words]);
        // Nothing of a killed process is an obstacle.
        first.kill().unwrap();
        first.wait().unwrap();
        assert!(inside.exists() || above.exists());
        scene.run(&second).prints();
        assert!(!inside.exists() && !above.exists());
        assert!(scene.path().join(out).join("result.json").exists());
    }
}

/// A pipe that nobody reads yet holds a run up while it writes the last of its files.
#[test]
fn the_lock_holds_until_everything_is_written() {
    let scene = Scene::with_model();
    let page = "--report result/page.html";
    let layers = "layers --inputs samples.npy --model model.onnx --quiet";
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx/mlp.onnx");
    scene.write("samples.npy", floats(4, &Random::new(3).points(800)));
    scene.write("model.onnx", fs::read(fixture).unwrap());
    let arrays = "--inputs x.npy --outputs y.npy --quiet";
    for (call, last, done) in [
        (format!("score {arrays} {page}"), "page.html", "result.json"),
        (format!("compare {arrays} --outputs x.npy {page}"), "page.html", "result.json"),
        (format!("sweep {arrays} --neighbors 5,6 {page}"), "page.html", "result.json"),
        (format!("{layers} {page}"), "page.html", "result.json"),
        (format!("graph {arrays} --save-graphs csv"), "input_graph.csv", "stages/output_graph.npz"),
    ] {
        scene.make_folder("result");
        pipe(&scene, &format!("result/{last}"));
        let mut command = scene.interruptible(&format!("{call} --out result"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let result = scene.path().join("result");
        until(&call, || result.join(done).exists());
        sleep(Duration::from_millis(300));
        assert!(result.join(".lock").exists(), "{call}");
        scene.run("graph --quiet --inputs y.npy --outputs y.npy --out result").refuses(2, &["another run"]);
        fs::read(result.join(last)).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{call}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!result.join(".lock").exists());
        fs::remove_dir_all(result).unwrap();
    }
}

#[test]
fn an_interrupted_run_leaves_no_lock() {
    let scene = long_work();
    let mut child = started(&scene, "--out new/result");
    until("the run locks its folder", || scene.path().join(".new%result.lock").exists());
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(listing(scene.path()), ["x.npy", "y.npy"]);
}

/// Waits until a process has mapped the inputs.
#[cfg(target_os = "linux")]
fn until_mapped(child: &Child) {
    let maps = format!("/proc/{}/maps", child.id());
    until("the run maps its inputs", || fs::read_to_string(&maps).is_ok_and(|maps| maps.contains("x.npy")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_shortened_or_rewritten_during_a_run_is_named() {
    let scene = long_work();
    let child = started(&scene, "");
    until_mapped(&child);
    File::options().write(true).open(scene.path().join("x.npy")).unwrap().set_len(4096).unwrap();
    let outcome = Outcome::new(child.wait_with_output().unwrap());
    outcome.refuses(2, &["x.npy", "was shortened while it was read"]);

    // Small enough to be done soon, large enough to be mapped.
    let values = Random::new(4).points(3000 * 500);
    scene.write("x.npy", floats(500, &values));
    scene.write("y.npy", floats(2, &Random::new(9).points(3000 * 2)));
    let child = started(&scene, "--out result");
    until_mapped(&child);
    let mut file = File::options().write(true).open(scene.path().join("x.npy")).unwrap();
    file.write_all(&floats(500, &values)).unwrap();
    drop(file);
    let outcome = Outcome::new(child.wait_with_output().unwrap());
    outcome.refuses(2, &["x.npy", "was changed while it was read"]);
    assert!(!scene.path().join("result/result.json").exists());

    // Numbers that the search could not have been given: it stops at what they break.
    scene.write("x.npy", floats(500, &values));
    let child = started(&scene, "");
    until_mapped(&child);
    let mut file = File::options().write(true).open(scene.path().join("x.npy")).unwrap();
    file.write_all(&floats(500, &vec![f32::NAN; 3000 * 500])).unwrap();
    drop(file);
    let outcome = Outcome::new(child.wait_with_output().unwrap());
    outcome.refuses(2, &["x.npy", "was changed while it was read"]);
}

#[test]
fn without_threads_the_work_is_done_by_one() {
    let scene = Scene::with_model();
    let expected = scene.score("--quiet").prints();
    // Stacks so large that the address space has room for one.
    let call = "ulimit -v 2500000; RUST_MIN_STACK=1500000000 RAYON_NUM_THREADS=8 \"$SW\" score --inputs x.npy --outputs y.npy";
    let printed = scene.shell(call).notes(&["no more threads could be started; one is used"]);
    let without_times =
        |text: &str| text.lines().filter(|line| !line.contains(" s")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_times(&printed), without_times(&expected));
    // More than any machine can start.
    let call = "RAYON_NUM_THREADS=100000000 \"$SW\" score --inputs x.npy --outputs y.npy";
    let printed = scene.shell(call).notes(&["RAYON_NUM_THREADS is more than this machine can use"]);
    assert_eq!(without_times(&printed), without_times(&expected));
}

#[test]
fn pipes_and_devices_in_image_folders_are_refused() {
    for device in [false, true] {
        let scene = Scene::empty();
        scene.make_folder("pictures");
        if device {
            symlink("/dev/zero", scene.path().join("pictures/a.png")).unwrap();
        } else {
            pipe(&scene, "pictures/a.png");
        }
        scene
            .run("score --inputs images:pictures --outputs images:pictures")
            .refuses(2, &["a.png", "a pipe or a device"]);
    }
    let scene = Scene::with_model();
    scene.refuses("score --inputs /dev/zero --outputs y.npy", &["/dev/zero: expected a file, got a device"]);
}

#[test]
fn names_that_occur_twice_name_nothing() {
    let scene = Scene::with_model();
    let array = floats(2, &[1.0; 20]);
    scene.write("two.npz", npz(&[("a", array.clone()), ("a", array)]));
    scene.write("two.csv", "a,b,a\n1,2,3\n4,5,6\n");
    scene.refuses(
        "score --inputs two.npz:a --outputs y.npy",
        &["two.npz:a", "names must differ, but its 2 members have 1 name"],
    );
    let columns = [1.0, 2.0, 3.0].map(|value| [value, 2.0 * value, value * value]);
    let named = ["a", "b", "a"].iter().zip(&columns).map(|(name, column)| (*name, Column::F64(column)));
    write_parquet(&scene.path().join("two.parquet"), &named.collect::<Vec<_>>()).unwrap();
    for file in ["two.csv", "two.parquet"] {
        scene.refuses(&format!("score --inputs {file}:a --outputs y.npy"), &[file, "`a` occurs 2 times"]);
        scene.refuses(
            &format!("score --inputs x.npy --outputs y.npy --labels {file}:a"),
            &["`a` occurs 2 times"],
        );
    }
}

#[test]
fn integers_that_doubles_do_not_hold_are_refused() {
    let scene = Scene::with_model();
    let values: Vec<u8> = (0..300_i64).flat_map(|value| (value + (1 << 53)).to_le_bytes()).collect();
    scene.write("ids.npy", npy("<i8", false, &[300, 1], &values));
    scene.refuses("score --inputs ids.npy --outputs y.npy", &["ids.npy", "below 2^53", "9007199254740992"]);
}

#[test]
fn control_characters_of_a_name_are_not_printed() {
    let scene = Scene::with_model();
    let mut command = scene.command("score --outputs y.npy --inputs");
    let output = command.arg("gone\u{1b}[31m\nx.npy").output().unwrap();
    // The outcome checks that there is no escape character.
    Outcome::new(output).refuses(2, &["gone\\u{1b}[31m\\nx.npy: no such file"]);
    let scene = Scene::with_model();
    scene.score("--quiet --out result").prints();
    let output = scene.command("report result --output").arg("page\u{1b}[31m.html").output().unwrap();
    assert_eq!(Outcome::new(output).prints(), "wrote page\\u{1b}[31m.html\n");
    // By the parser of the command line: more files than a pattern was to match, and a value.
    let output =
        scene.command("report result").args(["--output", "a", "b\u{1b}]0;x\u{7}\r"]).output().unwrap();
    Outcome::new(output).misused(&["b\\u{1b}]0;x\\u{7}\\r"]);
    let output = scene.command("score --graph").arg("knn\u{8}").output().unwrap();
    Outcome::new(output).misused(&["knn\\u{8}"]);
}

/// Plain notation has hundreds of zeros.
#[test]
fn messages_have_no_hundreds_of_zeros() {
    let scene = Scene::with_network();
    scene.write("graph.csv", "p,q,weight\n0,1,-1e-200\n");
    scene
        .run("score --input-graph graph.csv --output-graph graph.csv")
        .refuses(2, &["line 2: a weight must be positive and finite, got -1e-200"]);
    scene.write("radii.csv", "1\n1\n-1e-200\n1\n");
    for (probe, said) in [
        ("linf:1 --probe-radii radii.csv", "not negative, got -1e-200 for column 2"),
        ("linf:1e300", "the radius of --probe is 1e300, but the inputs only range from"),
    ] {
        let call = format!("score --quiet --inputs x.npy --model mlp.onnx --probe {probe}");
        scene.run(&call).refuses(2, &[said]);
    }
    let outcome = scene.run("score --inputs x.npy --model mlp.onnx --probe linf:1e-200 --probes 9");
    assert!(outcome.stderr.contains("linf:1e-200:search"), "{}", outcome.stderr);
    outcome.notes(&[]);
}

/// Tables are read by others: a short field must be the same double.
#[test]
fn tables_have_no_hundreds_of_zeros_and_read_back_to_the_same_doubles() {
    let scene = Scene::empty();
    for (name, closed) in [("ring.csv", true), ("line.csv", false)] {
        edges(&scene, name, |p| 1e-200 * (p + 1) as f64 / 7.0, closed);
    }
    edges(&scene, "ones.csv", |_| 1.0, true);
    let call = "--quiet --input-graph ring.csv --output-graph line.csv";
    scene.run(&format!("score {call} --out result --tables csv,npy --save-graphs csv,npz")).prints();
    // Of a size of 1e-200.
    let call = "--quiet --input-graph ring.csv --output-graph ones.csv";
    scene.run(&format!("score {call} --out small --tables csv,npy")).prints();
    scene.run(&format!("distortion {call} --all-edges --out distances")).prints();
    let column = |file: &str, name: &str| -> Vec<f64> {
        let text = scene.read(file);
        let (header, rows) = text.split_once('\n').unwrap();
        let at = header.split(',').position(|column| column == name).unwrap();
        rows.lines().map(|row| row.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    for file in [
        "result/nodes.csv",
        "result/edges.csv",
        "result/input_graph.csv",
        "small/nodes.csv",
        "small/edges.csv",
        "distances/pairs.csv",
        "distances/edge_distances.csv",
    ] {
        let long = scene.read(file).split([',', '\n']).find(|field| field.len() > 25).map(str::to_owned);
        assert_eq!(long, None, "{file}");
    }
    for (folder, table) in [("result", "node"), ("result", "edge"), ("small", "node"), ("small", "edge")] {
        let array = fs::read(scene.path().join(format!("{folder}/{table}_scores.npy"))).unwrap();
        let written = column(&format!("{folder}/{table}s.csv"), "score");
        let values = &array[array.len() - 8 * written.len()..];
        let expected: Vec<u8> = written.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert!(values == expected, "{folder} {table}");
    }
    let weights = column("ring.csv", "weight");
    assert!(weights[1] < 1e-199);
    assert_eq!(column("result/input_graph.csv", "weight").len(), weights.len());
    let mut both = [weights, column("result/input_graph.csv", "weight")];
    for weights in &mut both {
        weights.sort_by(f64::total_cmp);
    }
    assert_eq!(both[0], both[1]);
    // This program reads them too.
    let call = "--json --input-graph result/input_graph.csv --output-graph line.csv";
    let again = scene.run(&format!("score {call}")).json();
    assert_eq!(again["model_score"], scene.read_json("result/result.json")["model_score"]);
}

#[test]
fn labels_that_spreadsheets_would_compute_are_marked_as_text() {
    let scene = Scene::with_model();
    let labels: String =
        (0..300).map(|i| if i % 2 == 0 { "=cmd|' /C calc'!A0\n" } else { "-3x\n" }).collect();
    scene.write("labels.csv", format!("label\n{labels}"));
    scene.score("--quiet --labels labels.csv --out result --tables csv,parquet").prints();
    for table in ["nodes.csv", "labels.csv"] {
        let text = scene.read(&format!("result/{table}"));
        assert!(text.contains("'=cmd|' /C calc'!A0") && text.contains("'-3x"), "{text}");
        assert!(!text.contains(",=cmd") && !text.contains("\n=cmd"), "{text}");
    }
}

fn edges(scene: &Scene, name: &str, weight: impl Fn(usize) -> f64, closed: bool) {
    let mut text = String::from("p,q,weight\n");
    for p in 0..40 - usize::from(!closed) {
        text.push_str(&format!("{p},{},{:e}\n", (p + 1) % 40, weight(p)));
    }
    scene.write(name, text);
}

/// A ring against a line: 40 times the ratio of their weights.
#[test]
fn weights_far_from_one_give_right_scores_or_none() {
    let scene = Scene::empty();
    edges(&scene, "ring.csv", |_| 1.0, true);
    edges(&scene, "line.csv", |_| 1e-200, false);
    edges(&scene, "large.csv", |_| 1e200, true);
    for solver in ["davidson", "power"] {
        let call =
            format!("score --json --solver {solver} --input-graph ring.csv --output-graph line.csv -r 1");
        let outcome = scene.run(&call);
        // The score is 4e201; the scores of edges are its square root's square times 1e200, which is no number.
        outcome.refuses(3, &["within the range of double precision", "1e-200"]);
        let call = format!(
            "score --json --solver {solver} --input-graph large.csv --output-graph ring-line.csv -r 1"
        );
        edges(&scene, "ring-line.csv", |_| 1.0, false);
        let score = scene.run(&call).json()["model_score"].as_f64().unwrap();
        assert!((score / 4e201 - 1.0).abs() < 1e-9, "{score:e}");
    }
}

#[test]
fn tiny_data_give_the_scores_of_ordinary_data() {
    let scene = Scene::with_model();
    let doubles = |factor: f64, seed: u64| {
        let values = Random::new(seed).points(600);
        let bytes: Vec<u8> =
            values.iter().flat_map(|&value| (f64::from(value) * factor).to_le_bytes()).collect();
        npy("<f8", false, &[200, 3], &bytes)
    };
    let tiny = 2.0_f64.powi(-664);
    for (name, factor) in [("usual", 1.0), ("tiny", tiny)] {
        scene.write(&format!("{name}-x.npy"), doubles(factor, 5));
        scene.write(&format!("{name}-y.npy"), doubles(factor, 6));
    }
    let score = |name: &str| {
        let call = format!("score --json --inputs {name}-x.npy --outputs {name}-y.npy");
        scene.run(&call).json()["model_score"].as_f64().unwrap()
    };
    assert_eq!(score("tiny"), score("usual"));
}

#[test]
fn models_that_mix_a_batch_are_refused() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx");
    let scene = Scene::with_model();
    scene.write("x.npy", floats(4, &Random::new(3).points(800)));
    for model in ["mixes_mean", "mixes_sum"] {
        scene.write("model.onnx", fs::read(fixtures.join(format!("{model}.onnx"))).unwrap());
        for command in ["score", "layers"] {
            scene
                .run(&format!("{command} --quiet --inputs x.npy --model model.onnx"))
                .refuses(2, &["model.onnx", "mixes the samples of a batch"]);
        }
    }
}
