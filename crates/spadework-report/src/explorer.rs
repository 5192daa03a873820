//! What the page's script works on: one JSON object with packed columns.

use std::collections::BTreeSet;

use serde::Serialize;
use spadework::Samples;
use spadework::samples::Values;
use spadework_io::Labels;

use crate::error::Result;
use crate::pictures::{Picture, Sheet};
use crate::{InputArray, SampleColumns, packed};

/// Rows of samples that are no pictures: how many, and how many numbers of each.
const ROWS: usize = 1000;
const NUMBERS: usize = 12;
/// Samples of every label that come with a picture, so that a filter by label has something to show.
const OF_A_LABEL: usize = 24;

/// Everything about single samples.
#[derive(Debug, Serialize)]
pub(crate) struct Explorer {
    pub(crate) samples: usize,
    pub(crate) colors: &'static [&'static str],
    pub(crate) labels: Option<ExplorerLabels>,
    pub(crate) models: Vec<ExplorerModel>,
    pub(crate) views: Vec<ExplorerView>,
    pub(crate) pictures: Option<Sheet>,
    pub(crate) rows: Option<ExplorerRows>,
}

/// Labels as positions in a list of names.
#[derive(Debug, Serialize)]
pub(crate) struct ExplorerLabels {
    pub(crate) names: Vec<String>,
    #[serde(skip)]
    pub(crate) of: Vec<u16>,
    packed: String,
}

/// A model's scores and predictions.
#[derive(Debug, Serialize)]
pub(crate) struct ExplorerModel {
    pub(crate) name: String,
    pub(crate) scores: String,
    pub(crate) margins: Option<String>,
    pub(crate) fragility: Option<String>,
    /// Whether each sample is taken for its label: 1 or 0.
    pub(crate) predicted: Option<ExplorerPredictions>,
}

/// Predictions as positions in a list of names.
#[derive(Debug, Serialize)]
pub(crate) struct ExplorerPredictions {
    names: Vec<String>,
    packed: String,
}

/// A scatter plot: which model's, and where its points are.
#[derive(Debug, Serialize)]
pub(crate) struct ExplorerView {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) model: usize,
    pub(crate) points: String,
}

/// The first numbers of some samples.
#[derive(Debug, Serialize)]
pub(crate) struct ExplorerRows {
    pub(crate) samples: Vec<u32>,
    text: Vec<String>,
}

impl ExplorerLabels {
    /// None where there are more labels than a page can tell apart.
    pub(crate) fn of(labels: &Labels) -> Option<Self> {
        let ids: Vec<i64> = labels.ids().iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        if ids.len() > usize::from(u16::MAX) {
            return None;
        }
        let position = |id: &i64| ids.binary_search(id).unwrap_or_default() as u16;
        let of: Vec<u16> = labels.ids().iter().map(position).collect();
        let packed = packed::u16s(&of);
        Some(Self { names: ids.iter().map(|&id| label_name(labels, id)).collect(), of, packed })
    }
}

impl ExplorerModel {
    pub(crate) fn new(
        name: &str,
        scores: &[f64],
        columns: SampleColumns<'_>,
        predicted: Option<ExplorerPredictions>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            scores: packed::f32s(scores),
            margins: columns.margins.map(packed::f32s),
            fragility: columns.fragility.map(packed::f32s),
            predicted,
        }
    }
}

impl ExplorerPredictions {
    pub(crate) fn of(predictions: &[usize], labels: &Labels) -> Self {
        let classes = predictions.iter().max().map_or(0, |&class| class + 1);
        let packed: Vec<u16> = predictions.iter().map(|&class| class as u16).collect();
        let names = (0..classes).map(|class| label_name(labels, class as i64)).collect();
        Self { names, packed: packed::u16s(&packed) }
    }
}

/// A label in words: its name where it has one, its number otherwise.
pub(crate) fn label_name(labels: &Labels, id: i64) -> String {
    labels.class_name(id).map_or_else(|| id.to_string(), str::to_owned)
}

/// Samples and how they are to be seen: the most fragile and most robust ones, of all and of every label, those of
/// `first`, and an even choice of the others as far as there is room.
pub(crate) fn chosen(
    first: &[u32],
    rankings: &[Vec<u32>],
    labels: Option<&ExplorerLabels>,
    most: usize,
) -> Vec<u32> {
    let samples = rankings.first().map_or(0, Vec::len);
    let mut is_chosen = vec![false; samples];
    let mut chosen = Vec::new();
    let mut add = |p: u32| {
        if chosen.len() < most && !std::mem::replace(&mut is_chosen[p as usize], true) {
            chosen.push(p);
        }
    };
    first.iter().copied().for_each(&mut add);
    for ranking in rankings {
        ranking.iter().take(100).copied().for_each(&mut add);
        ranking.iter().rev().take(40).copied().for_each(&mut add);
    }
    if let Some(labels) = labels {
        for ranking in rankings {
            let mut left = vec![OF_A_LABEL; labels.names.len()];
            for &p in ranking {
                let left = &mut left[usize::from(labels.of[p as usize])];
                if *left > 0 {
                    *left -= 1;
                    add(p);
                }
            }
        }
    }
    let step = (samples / most.max(1)).max(1);
    (0..samples).step_by(step).for_each(|p| add(p as u32));
    chosen
}

/// Pictures of samples where they are pictures, otherwise their numbers.
pub(crate) fn pictures_or_rows(
    inputs: Option<&InputArray<'_>>,
    choose: impl Fn(usize) -> Vec<u32>,
) -> Result<(Option<Sheet>, Option<ExplorerRows>)> {
    let Some(inputs) = inputs else { return Ok((None, None)) };
    match Picture::of(inputs.shape) {
        Some(picture) => Ok((Some(Sheet::of(inputs, picture, &choose(picture.most_pictures()))?), None)),
        None => Ok((None, Some(ExplorerRows::of(inputs.samples, choose(ROWS))))),
    }
}

impl ExplorerRows {
    fn of(inputs: &Samples<'_>, samples: Vec<u32>) -> Self {
        let text = samples.iter().map(|&p| row_text(inputs, p as usize)).collect();
        Self { samples, text }
    }
}

fn row_text(samples: &Samples<'_>, p: usize) -> String {
    let (start, shown) = (p * samples.dim(), samples.dim().min(NUMBERS));
    let numbers: Vec<String> = match samples.values() {
        Values::F64(values) => values[start..start + shown].iter().map(ToString::to_string).collect(),
        // As short as single precision allows.
        values => values.singles(start..start + shown).iter().map(ToString::to_string).collect(),
    };
    let rest = if shown < samples.dim() { ", …" } else { "" };
    format!("{}{rest}", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_has_the_fragile_the_robust_and_every_label() {
        let labels =
            ExplorerLabels::of(&Labels::from_ids((0..1000).map(|p| i64::from(p >= 990)).collect())).unwrap();
        let ranking: Vec<u32> = (0..1000).collect();
        let chosen = chosen(&[500], &[ranking], Some(&labels), 300);
        assert_eq!(chosen[0], 500);
        assert_eq!(chosen.len(), 300);
        for p in [0, 99, 999, 990] {
            assert!(chosen.contains(&p), "{p}");
        }
        let distinct: BTreeSet<_> = chosen.iter().collect();
        assert_eq!(distinct.len(), chosen.len());
    }

    #[test]
    fn labels_become_positions_of_names() {
        let labels = ExplorerLabels::of(&Labels::from_words(&["dog", "cat", "dog"])).unwrap();
        assert_eq!((labels.names, labels.of), (vec!["cat".to_owned(), "dog".to_owned()], vec![1, 0, 1]));
    }
}
