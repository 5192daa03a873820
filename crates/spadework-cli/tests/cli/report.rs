//! `spadework report` and the options `--report` and `--plots`.

use crate::support::{Scene, assert_holds};

fn scored() -> Scene {
    let scene = Scene::with_model();
    scene.run("score --inputs x.npy --outputs y.npy --labels labels.npy --out result -q").prints();
    scene
}

#[test]
fn a_page_says_what_the_result_says() {
    let scene = scored();
    assert_eq!(scene.run("report result --out page.html").prints(), "wrote page.html\n");
    assert_eq!(scene.run("report result --out page.html --quiet").prints(), "");
    let (page, result) = (scene.read("page.html"), scene.read_json("result/result.json"));
    // Headlines have three digits.
    let score = result["model_score"].as_f64().unwrap();
    let shown = format!("{score:.*}", 2_usize.saturating_sub(score.log10().floor() as usize));
    assert!(page.contains(&format!("<strong>{shown}</strong>")), "{shown}");
    assert_holds(
        &page,
        &[
            // Without another title, the model's name is one.
            "<h1>y</h1>",
            "Not tested against attacks",
            "Neighbors that the model pulls apart",
            "The sparsest cut",
            "digest blake3:",
            "--labels labels.npy --out result",
        ],
    );
    // The result may be named by its file, as elsewhere.
    scene.run("report result/result.json --out again.html").prints();
    assert_eq!(page, scene.read("again.html"));
}

#[test]
fn the_page_of_a_call_is_that_of_its_result() {
    let scene = scored();
    scene.run("report result --out later.html").prints();
    let call = "score --inputs x.npy --outputs y.npy --labels labels.npy --report now.html -q";
    scene.run(call).prints();
    let without_provenance = |page: String| page.split("provenance-title").next().unwrap().to_owned();
    assert_eq!(without_provenance(scene.read("now.html")), without_provenance(scene.read("later.html")));
}

#[test]
fn comparisons_and_sweeps_have_pages_too() {
    let scene = Scene::with_model();
    let models = "--inputs x.npy --outputs good=y.npy --outputs bad=worse.npy";
    for command in ["compare", "sweep"] {
        scene.run(&format!("{command} {models} --out {command} --report {command}.html -q")).prints();
        scene.run(&format!("report {command} --out later.html")).prints();
        for page in [format!("{command}.html"), "later.html".to_owned()] {
            let page = scene.read(&page);
            assert!(page.contains("good") && page.contains("bad") && page.contains("<svg"), "{command}");
        }
    }
}

/// What the command notes is on the page, however quiet the command was.
#[test]
fn notes_are_on_the_page() {
    let scene = scored();
    let call = "score --inputs x.npy --outputs y.npy --connectivity bridge -k 2 --report page.html -q";
    let json = scene.run(&format!("{call} --json")).json();
    let notes = json["notes"].as_array().unwrap();
    assert!(!notes.is_empty());
    let page = scene.read("page.html");
    for note in notes {
        assert!(page.contains(&format!("<li data-code=\"{}\">", note["code"].as_str().unwrap())), "{note}");
    }
}

/// Names of samples are where samples are named: on the page, now and later, and in tables.
#[test]
fn samples_have_the_names_of_their_file() {
    let scene = Scene::with_model();
    let samples =
        scene.run("score --inputs x.npy --outputs y.npy --json -q").json()["samples"].as_u64().unwrap();
    let ids: String = (0..samples).map(|p| format!("<b>-{p}\n")).collect();
    scene.write("ids.txt", ids.into_bytes());
    let call = "--inputs x.npy --outputs y.npy --ids ids.txt -q";
    scene.run(&format!("score {call} --out result --report page.html")).prints();
    scene.run("report result --out later.html").prints();
    let (page, later) = (scene.read("page.html"), scene.read("later.html"));
    assert!(page == later && page.contains("\\u003cb>-7") && !page.contains("<b>-"));
    let nodes = scene.read("result/nodes.csv");
    assert!(
        nodes.starts_with("index,id,label,") && nodes.lines().nth(8).unwrap().starts_with("7,<b>-7,"),
        "{nodes}"
    );
    let selected = scene.run(&format!("select {call} --scores --top 1")).prints();
    assert!(selected.contains(",<b>-"), "{selected}");
    scene.run(&format!("compare {call} --outputs worse.npy --out both")).prints();
    assert!(scene.read("both/nodes.csv").starts_with("index,id,"));
    scene.write("few.txt", b"a\nb\n");
    let wrong = "score --inputs x.npy --outputs y.npy --ids few.txt";
    scene.run(wrong).refuses(2, &["few.txt", "ids must be one per sample, got 2 for"]);
}

#[test]
fn figures_come_in_three_formats() {
    let scene = scored();
    for (format, begins) in [("svg", "<svg "), ("png", "\u{fffd}PNG"), ("pdf", "%PDF-")] {
        scene.run(&format!("report result --plots {format} --format {format}")).prints();
        let files = scene.listing(format);
        assert!(
            files.contains(&format!("labels.{format}")) && files.contains(&format!("embedding.{format}"))
        );
        let bytes = std::fs::read(scene.path().join(format).join(format!("spectrum.{format}"))).unwrap();
        assert!(String::from_utf8_lossy(&bytes).starts_with(begins), "{format}");
    }
}

/// Digests of versions before BLAKE3: nothing says whether the arrays are the same, and that is what the user reads.
#[test]
fn a_result_with_digests_of_another_version_is_told_in_one_line() {
    let scene = scored();
    let result = scene.read("result/result.json");
    let (before, rest) = result.split_once("blake3:").unwrap();
    let older = format!("{before}fnv64x8:5041ea11e9b91555{}", &rest[32..]);
    assert!(older.contains("\"fnv64x8:5041ea11e9b91555\""), "{older}");
    std::fs::write(scene.path().join("result/result.json"), older).unwrap();
    let said = "x.npy: the result was made from it, but the digest is of another version (fnv64x8; this version compares blake3 digests)";
    scene.run("report result --out page.html").notes(&[said]);
    let new = "score --inputs x.npy --outputs y.npy --reference result";
    scene.run(new).refuses(2, &[said, "hint: "]);
}

#[test]
fn a_result_without_its_arrays_still_has_a_page() {
    let scene = scored();
    std::fs::rename(scene.path().join("y.npy"), scene.path().join("z.npy")).unwrap();
    let told = scene.run("report result --out page.html");
    told.notes(&["no pictures and no scatter plots", "y.npy: no such file", "--outputs"]);
    assert!(scene.read("page.html").contains("y.npy: no such file"));
    scene.run("report result --outputs z.npy --out page.html").prints();
    assert!(!scene.read("page.html").contains("no such file"));
    scene.refuses("report result --outputs worse.npy --out page.html", &["worse.npy", "digest", "hint: "]);
}

#[test]
fn what_is_no_result_is_refused() {
    let scene = scored();
    scene.refuses("report none --out page.html", &["none/result.json"]);
    scene.run("report result").misused(&["--out"]);
    scene.refuses("report result --out x.npy/page.html", &["x.npy"]);
    scene.make_folder("other");
    scene.write("other/result.json", b"{\"schema\": \"spadework.embed/2\"}");
    scene.refuses("report other --out page.html", &["other/result.json", "spadework.embed/2"]);
    scene.write("other/result.json", b"{\"schema\": \"spadework.sweep/1\"}");
    scene.refuses(
        "report other --out page.html",
        &["other/result.json", "spadework.sweep/1", "of another version of spadework: make the result again"],
    );
    scene.write("other/result.json", b"[]");
    scene.refuses("report other --out page.html", &["other/result.json", "schema"]);
    assert!(!scene.path().join("page.html").exists());
    scene.run("score --inputs x.npy --outputs y.npy --format png").misused(&["--plots"]);
}

#[test]
fn a_result_that_does_not_fit_its_arrays_is_refused() {
    let scene = scored();
    let text = scene.read("result/result.json");
    let score = scene.read_json("result/result.json")["model_score"].to_string();
    scene.write("result/result.json", text.replacen(&score, "1.5", 1).into_bytes());
    scene.refuses("report result --out page.html", &["result/result.json", "has SPADE score 1.5", "again"]);
}

/// What a result keeps is enough to make its page again: whatever was asked for, it is the same page.
#[test]
fn a_page_made_again_is_the_same_page() {
    let scene = Scene::with_model();
    let score = "score --inputs x.npy --outputs y.npy";
    let compare = "compare --inputs x.npy --outputs a=y.npy --outputs b=x.npy";
    for options in
        ["", "--eigenpairs all", "--solver power -r 1", "--search approximate --connectivity bridge"]
    {
        for call in [score, compare] {
            scene.run(&format!("{call} -q {options} --out r --report then.html")).prints();
            scene.run("report r -q --out now.html").prints();
            assert!(scene.read("then.html") == scene.read("now.html"), "{call} {options}");
        }
    }
}
