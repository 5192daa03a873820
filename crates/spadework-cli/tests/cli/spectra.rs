//! `spadework embed`, and the options that choose spectra: `--eigenpairs all`, `--solver power`.

use crate::support::Scene;

#[test]
fn embeddings_are_printed_as_csv() {
    let scene = Scene::with_model();
    let text = scene.run("embed --inputs x.npy --outputs y.npy --labels labels.npy --dims 3").prints();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some(
            "index,label,input_1,input_2,input_3,output_1,output_2,output_3,generalized_1,generalized_2,generalized_3"
        )
    );
    assert_eq!(lines.clone().count(), Scene::SAMPLES);
    assert!(lines.next().unwrap().starts_with("0,0,"));
}

/// Mean zero, the entry of largest magnitude positive, and the generalized coordinates those of `score`.
#[test]
fn embeddings_have_their_normal_form() {
    let scene = Scene::with_model();
    let json = scene.run("embed --inputs x.npy --outputs y.npy --json").json();
    assert_eq!(json["schema"], "spadework.embed/2");
    for embedding in json["embeddings"].as_array().unwrap() {
        for dim in 0..2 {
            let column: Vec<f64> = embedding["coordinates"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row[dim].as_f64().unwrap())
                .collect();
            assert_eq!(column.len(), Scene::SAMPLES);
            let largest = column.iter().copied().fold(0.0_f64, |m, v| if v.abs() > m.abs() { v } else { m });
            assert!(largest > 0.0, "{}", embedding["of"]);
            assert!(column.iter().sum::<f64>().abs() < 1e-9 * largest * 300.0, "{}", embedding["of"]);
        }
    }
    let eigenvalues = &scene.score("--json").json()["eigenvalues"];
    for i in 0..2 {
        let [a, b] = [&json["embeddings"][2]["eigenvalues"], eigenvalues].map(|v| v[i].as_f64().unwrap());
        assert!((a / b - 1.0).abs() < 1e-9, "{a} and {b}");
    }
}

#[test]
fn embeddings_are_written_as_csv_or_npy() {
    let scene = Scene::with_model();
    let text = scene.run("embed --inputs x.npy --outputs y.npy --out a/emb.csv").prints();
    assert!(text.contains("300 samples, written to a/emb.csv"), "{text}");
    let printed = scene.run("embed --inputs x.npy --outputs y.npy").prints();
    assert_eq!(scene.read("a/emb.csv"), printed);
    scene.run("embed --inputs x.npy --outputs y.npy --out emb.npy").prints();
    let bytes = std::fs::read(scene.path().join("emb.npy")).unwrap();
    assert!(String::from_utf8_lossy(&bytes[..128]).contains("'shape': (3, 300, 2)"));
    assert_eq!(bytes.len(), 128 + 3 * 300 * 2 * 8);
    let json = scene.run("embed --inputs x.npy --outputs y.npy --out emb.npy --json").json();
    assert!(json["embeddings"][0].get("coordinates").is_none(), "they are in the file");
}

#[test]
fn embeddings_refuse_what_they_cannot_do() {
    let scene = Scene::with_model();
    let embed = |options: &str| scene.run(&format!("embed --inputs x.npy --outputs y.npy {options}"));
    embed("--out emb.txt").refuses(2, &["--out", ".csv or .npy", "emb.txt"]);
    embed("--dims 0").misused(&["--dims"]);
    embed("--dims 300").refuses(2, &["300", "number of samples"]);
    scene.write("file", "");
    embed("--out file/emb.csv").refuses(2, &["file"]);
}

#[test]
fn the_power_iteration_gives_the_same_score() {
    let scene = Scene::with_model();
    let [davidson, power] =
        ["davidson", "power"].map(|solver| scene.score(&format!("--json --solver {solver}")).json());
    assert_eq!((&davidson["solver"], &power["solver"]), (&"davidson".into(), &"power".into()));
    let [a, b] = [&davidson, &power].map(|json| json["model_score"].as_f64().unwrap());
    assert!((a / b - 1.0).abs() < 1e-6, "{a} and {b}");
    let upper = power["numerical_bounds"]["upper"].as_f64().unwrap();
    assert!(b <= upper && upper < b * 1.001, "{power}");
    scene.score("--solver jacobi").misused(&["--solver", "power"]);
}

/// Edge scores of all eigenpairs are at least those of two, and with r = n − 1 the same.
#[test]
fn all_eigenpairs_add_up() {
    let scene = Scene::with_model();
    let scores = |eigenpairs: &str| -> Vec<f64> {
        scene.score(&format!("-r {eigenpairs} --out result")).prints();
        let text = scene.read("result/edges.csv");
        text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect()
    };
    let (two, every, all) = (scores("2"), scores("299"), scores("all"));
    for ((two, every), all) in two.iter().zip(&every).zip(&all) {
        // Three hundred samples are solved for exactly; eigenpairs with a residual of 1e-6 are not.
        assert!((every / all - 1.0).abs() < 1e-6, "{every} and {all}");
        assert!(two <= &(all * (1.0 + 1e-6)), "{two} above {all}");
    }
    let json = scene.score("-r all --json").json();
    assert_eq!(json["full_spectrum"]["probability"], 1.0);
    assert!(scene.score("-r all").prints().contains("of all eigenpairs, by solves"));
    assert!(scene.score("--json").json().get("full_spectrum").is_none());
}

#[test]
fn the_error_of_all_eigenpairs_has_a_range() {
    let scene = Scene::with_model();
    for wrong in ["0", "1", "NaN", "-1"] {
        scene.score(&format!("-r all --sketch-error={wrong}")).refuses(2, &["0.02", "0.9"]);
    }
    scene.score("-r everything").misused(&["--eigenpairs", "whole number or `all`"]);
}
