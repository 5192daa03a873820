//! `--table`: results for papers and for other programs.

use crate::support::Scene;

const TWO: &str = "compare --inputs x.npy --outputs bad=worse.npy --outputs good=y.npy";

/// A row of CSV by the names of its columns.
fn field<'a>(csv: &'a str, row: usize, column: &str) -> &'a str {
    let mut lines = csv.lines();
    let at = lines.next().unwrap().split(',').position(|name| name == column).expect(column);
    lines.nth(row).unwrap().split(',').nth(at).unwrap()
}

#[test]
fn csv_has_the_numbers_of_the_document() {
    let scene = Scene::with_model();
    let csv = scene.score("--table csv --interval --references").prints();
    let json = scene.score("--json --interval --references").json();
    for (column, place) in [
        ("overlap", "/estimates/overlap/estimate"),
        ("overlap_lower", "/estimates/overlap/lower"),
        ("overlap_n", "/estimates/overlap/n"),
        ("model_score", "/model_score"),
        ("model_score_upper", "/interval/upper"),
        ("permuted", "/references/permuted"),
        ("samples", "/samples"),
    ] {
        assert_eq!(
            field(&csv, 0, column).parse::<f64>().ok(),
            json.pointer(place).unwrap().as_f64(),
            "{column}"
        );
    }
    assert_eq!(
        (field(&csv, 0, "model"), field(&csv, 0, "rank"), field(&csv, 0, "accuracy")),
        ("y.npy", "", "")
    );
}

#[test]
fn compared_models_have_a_row_each_in_the_same_columns() {
    let scene = Scene::with_model();
    let csv = scene.run(&format!("{TWO} --rank-by overlap --table csv")).prints();
    assert_eq!(csv.lines().next(), scene.score("--table csv").prints().lines().next());
    assert_eq!((field(&csv, 0, "model"), field(&csv, 0, "rank")), ("good", "1"));
    assert_eq!((field(&csv, 1, "model"), field(&csv, 1, "rank")), ("bad", "2"));
}

#[test]
fn people_get_intervals_and_what_they_rest_on() {
    let scene = Scene::with_model();
    let markdown = scene.run(&format!("{TWO} --rank-by overlap --table markdown")).prints();
    assert!(markdown.starts_with(
        "| model | rank | unevenness | overlap | SPADE score |\n| --- | ---: | ---: | ---: | ---: |\n| good | 1 | "
    ));
    assert!(markdown.ends_with("\n300 samples. In parentheses: 95 % confidence intervals.\n"), "{markdown}");
    let latex = scene.run(&format!("{TWO} --rank-by overlap --table latex")).prints();
    for words in
        ["\\begin{tabular}{lrrrr}\n", "\n  good & 1 & ", "~\\% (", "300 samples.", "\\end{tabular}\n"]
    {
        assert!(latex.contains(words), "{words}: {latex}");
    }
}

#[test]
fn a_table_is_one_form_of_the_result_and_takes_no_other_beside_it() {
    let scene = Scene::with_model();
    scene.score("--table csv --json").misused(&["--table", "--json"]);
    scene.score("--table word").misused(&["latex", "markdown", "csv"]);
    scene.score("-q --out r").prints();
    scene.score("--table csv --reference r").misused(&["--table", "--reference"]);
}
