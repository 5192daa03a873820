//! Calls that are wrong whatever the files hold.

use crate::support::{Outcome, Scene};

#[test]
fn neighbors_and_eigenpairs_must_fit_the_samples() {
    let scene = Scene::with_model();
    for (short, name) in [("-k", "neighbors"), ("-r", "eigenpairs")] {
        scene.score(&format!("{short} 0")).refuses(2, &[name, "at least 1", "got 0"]);
        scene.score(&format!("{short} 300")).refuses(2, &[name, "(300)", "got 300", "hint: "]);
        scene.score(&format!("--{name} 18446744073709551615")).refuses(2, &[name, "(300)"]);
    }
    scene.score("--plan --neighbors 18446744073709551615").refuses(2, &["neighbors", "(300)"]);
}

#[test]
fn the_largest_counts_that_fit_are_fine() {
    let scene = Scene::with_model();
    assert_eq!(scene.score("--json -r 299").json()["eigenvalues"].as_array().unwrap().len(), 299);
    let json = scene.score("--json -k 299").json();
    // Both graphs are complete.
    assert!((json["model_score"].as_f64().unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn options_without_effect_are_refused() {
    let scene = Scene::with_model();
    let run = |call: &str, option: &str| {
        scene.run(&format!("{call} --inputs x.npy --outputs y.npy")).refuses(2, &[option]);
    };
    run("embed --certify", "--certify is not an option of `spadework embed`");
    run("embed --sketch-error 0.2", "--sketch-error is not an option");
    run("embed -r 3", "--eigenpairs is not an option");
    run("sweep --sketch-error 0.2", "--sketch-error is not an option");
    run("distortion --certify", "--certify is not an option");
    run("distortion --sketch-error 0.2", "needs --eigenpairs all or --all-edges");
    for command in ["score", "select", "check --max-score 9", "compare"] {
        run(&format!("{command} --sketch-error 0.1"), "--sketch-error is the error of a sketch");
    }
}

#[test]
fn given_graphs_leave_nothing_to_make() {
    let scene = Scene::with_model();
    scene.write("path.csv", "0,1\n1,2\n2,3\n");
    let run = |option: &str| {
        scene.run(&format!("score --input-graph path.csv --output-graph path.csv -r 1 {option}"))
    };
    run("").prints();
    for option in ["--neighbors 5", "--connectivity error", "--search exact", "--weights gaussian"] {
        let name = option.split(' ').next().unwrap();
        run(option).refuses(2, &[name, "both graphs are given"]);
    }
    // What is made of one side still has its options.
    scene.run("score -q --input-graph path.csv --outputs y.npy -r 1 -k 12").prints();
}

#[test]
fn the_tolerance_has_a_range() {
    let scene = Scene::with_model();
    for wrong in ["0", "0.1", "-1", "NaN"] {
        scene.score(&format!("--tolerance={wrong}")).refuses(2, &["tolerance", "1e-11", "1e-3"]);
    }
}

#[test]
fn counts_are_whole_numbers() {
    let scene = Scene::with_model();
    for wrong in ["--neighbors=-1", "--eigenpairs=two", "--threads=0", "--seed=0.5", "--top=x"] {
        let option = wrong.split('=').next().unwrap();
        scene.score(wrong).misused(&[option]);
    }
}

#[test]
fn threads_have_a_limit() {
    let scene = Scene::with_model();
    scene.score("--threads 1025").misused(&["--threads", "1025", "from 1 to 1024"]);
    scene.run("demo --threads 100000").misused(&["--threads", "100000", "from 1 to 1024"]);
    scene.score("--threads 0").misused(&["--threads", "from 1 to 1024"]);
}

#[test]
fn an_empty_argument_is_named() {
    let scene = Scene::with_model();
    for (option, rest) in [("--inputs", "--outputs y.npy"), ("--outputs", "--inputs x.npy")] {
        let output = scene.command(&format!("score {rest}")).args([option, ""]).output().unwrap();
        Outcome::new(output).misused(&[option, "value is required"]);
    }
    let output = scene.command("score --inputs x.npy --outputs y.npy --labels").arg("").output().unwrap();
    Outcome::new(output).misused(&["--labels", "value is required"]);
}

#[test]
fn unknown_options_and_commands_are_named() {
    let scene = Scene::with_model();
    scene.score("--neigbors 5").misused(&["'--neigbors'", "--neighbors"]);
    scene.run("scroe").misused(&["'scroe'", "score"]);
    scene.run("score --outputs y.npy").misused(&["--inputs <ARRAY>"]);
    scene.run("score --inputs x.npy").misused(&["--outputs <ARRAY>"]);
}

#[test]
fn no_command_shows_the_help() {
    let outcome = Scene::empty().run("");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("Usage: spadework"), "{}", outcome.stderr);
}

/// One line says what is missing, another how to get it.
#[test]
#[cfg(not(feature = "networks"))]
fn commands_of_networks_say_how_to_get_them() {
    let scene = Scene::with_model();
    for call in [
        "train --model lenet5 --data x.npy --out run",
        "attack --model net.onnx --inputs x.npy --eps 0.1",
        "clever --model net.onnx --inputs x.npy",
    ] {
        scene.run(call).refuses(2, &["not in this build", "hint: ", "--features networks"]);
    }
}

/// Kernels that cannot run are not replaced in silence.
#[test]
fn the_kernels_that_the_environment_names_must_exist() {
    let scene = Scene::with_model();
    let run = |kernels: &str| {
        let mut command = scene.command("score --inputs x.npy --outputs y.npy --json");
        Outcome::new(command.env("SPADEWORK_KERNELS", kernels).output().unwrap())
    };
    run("sse9").refuses(2, &["SPADEWORK_KERNELS must be one of", "scalar", "got sse9"]);
    assert!(run("scalar").json()["model_score"].as_f64().unwrap() > 0.0);
}
