//! `spadework demo`.

use crate::support::{Scene, assert_holds, listing};

#[test]
fn compares_two_models_without_any_file() {
    let scene = Scene::empty();
    let text = scene.run("demo").prints();
    // An independent computation with SciPy gives 7.446325336 and 10.25662286.
    let score_of = |model: &str| row_of(&text, model).last().unwrap().parse::<f64>().unwrap();
    assert!((score_of("robust") - 7.446_325_336).abs() < 5e-5, "{text}");
    assert!((score_of("standard") - 10.256_622_86).abs() < 5e-5, "{text}");
    assert!(text.find("  robust") < text.find("  standard"), "most robust first: {text}");
    // Ranked as `compare` ranks the same arrays, by unevenness.
    assert!(text.contains("most robust first by unevenness (10 neighbors)"), "{text}");
    let ranks: Vec<&str> = ["robust", "standard"].map(|model| row_of(&text, model)[0]).into();
    assert_eq!(ranks, ["1", "2"], "{text}");
    assert!(!text.contains("--max-score") && text.contains("--min-overlap"), "{text}");
    assert!(listing(scene.path()).is_empty());
}

/// The words of a model's row in the table.
fn row_of<'a>(text: &'a str, model: &str) -> Vec<&'a str> {
    let mut rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.find(|row| row.get(1) == Some(&model)).expect(model)
}

#[test]
fn draws_ten_pictures_and_tells_where_to_go_next() {
    let text = Scene::empty().run("demo --threads 1").prints();
    assert_eq!(text.matches('#').count(), 10, "{text}");
    assert_eq!(text.matches(", read").count(), 10, "{text}");
    let inked = text.lines().filter(|line| line.contains(['░', '▒', '▓', '█']));
    assert_eq!(inked.count(), 3 * 8, "{text}");
    assert_holds(&text, &["spadework score ", "spadework select ", "spadework check ", "--help", "Data: "]);
}

#[test]
fn fits_a_terminal() {
    let text = Scene::empty().run("demo").prints();
    for line in text.lines().filter(|line| !line.starts_with("Data: ")) {
        assert!(line.chars().count() <= 110, "{line}");
        assert_eq!(line, line.trim_end());
    }
}
