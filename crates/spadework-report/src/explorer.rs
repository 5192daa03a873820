//! The data of the page's script: one JSON object with packed columns.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use spadework::Samples;
use spadework_document::words::short;
use spadework_io::Labels;

use crate::error::Result;
use crate::label_names::{ColumnNames, label_name};
use crate::pictures::{Picture, Sheet, value_at};
use crate::variants::ExplorerVariants;
use crate::{InputArray, PageSamples, SampleColumns, packed};

/// Rows of samples that are no pictures: how many, and how many numbers of each.
const ROWS: usize = 1000;
const NUMBERS: usize = 6;

/// Samples that each gallery of the page shows; the script keeps to them, so that every one of them has its picture.
pub(crate) const GALLERIES: Galleries = Galleries { fragile: 16, robust: 8, changed: 16 };

/// Sizes of galleries.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Galleries {
    /// The most fragile samples that fit the filters.
    pub(crate) fragile: usize,
    /// The most robust ones.
    pub(crate) robust: usize,
    /// Those that changed most from one model to another.
    pub(crate) changed: usize,
}

/// Everything about single samples.
#[derive(Debug, Serialize)]
pub(crate) struct Explorer {
    pub(crate) samples: usize,
    /// What the samples are called; by their positions otherwise.
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) galleries: Galleries,
    pub(crate) colors: &'static [&'static str],
    pub(crate) labels: Option<ExplorerLabels>,
    pub(crate) models: Vec<ExplorerModel>,
    pub(crate) views: Vec<ExplorerView>,
    pub(crate) pictures: Option<Sheet>,
    pub(crate) rows: Option<ExplorerRows>,
    pub(crate) variants: Option<ExplorerVariants>,
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
    /// The label that each sample is taken for.
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
    /// Of each, some columns with their values.
    numbers: Vec<Vec<[String; 2]>>,
    /// How many columns are left out of each.
    left_out: usize,
}

impl ExplorerLabels {
    /// None where there are more labels than a page can tell apart.
    pub(crate) fn of(labels: &Labels) -> Option<Self> {
        let (names, of) = named_positions(labels.ids(), labels)?;
        let packed = packed::u16s(&of);
        Some(Self { names, of, packed })
    }
}

/// The names of some labels, and the position of each label among them; none if a page cannot tell so many apart.
fn named_positions(ids: &[i64], labels: &Labels) -> Option<(Vec<String>, Vec<u16>)> {
    let distinct: Vec<i64> = ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    if distinct.len() > usize::from(u16::MAX) {
        return None;
    }
    let position = |id: &i64| distinct.binary_search(id).unwrap_or_default() as u16;
    let names = distinct.iter().map(|&id| label_name(labels, id)).collect();
    Some((names, ids.iter().map(position).collect()))
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
            scores: packed::f64s(scores),
            margins: columns.margins.map(packed::f64s),
            fragility: columns.fragility.map(packed::f64s),
            predicted,
        }
    }
}

impl ExplorerPredictions {
    /// None where there are more labels than a page can tell apart.
    pub(crate) fn of(predicted: &[i64], labels: &Labels) -> Option<Self> {
        let (names, of) = named_positions(predicted, labels)?;
        Some(Self { names, packed: packed::u16s(&of) })
    }
}

/// What the samples of one model are filtered and ranked by.
pub(crate) struct Filters<'a> {
    pub(crate) labels: Option<&'a ExplorerLabels>,
    /// Whether each sample is classified wrongly, where that is known.
    pub(crate) wrong: Option<Vec<bool>>,
    /// Every order that a reader can choose, most fragile first.
    pub(crate) rankings: Vec<Vec<u32>>,
}

impl Filters<'_> {
    /// Every sample that a gallery shows under any filter, those without a filter first.
    pub(crate) fn samples(&self) -> Vec<u32> {
        let ends = |ranking: &[u32]| -> Vec<u32> {
            let robust = ranking.iter().rev().take(GALLERIES.robust);
            ranking.iter().take(GALLERIES.fragile).chain(robust).copied().collect()
        };
        let mut shown: Vec<u32> = self.rankings.iter().flat_map(|ranking| ends(ranking)).collect();
        for ranking in &self.rankings {
            let mut groups = BTreeMap::<(Option<u16>, Option<bool>), Vec<u32>>::new();
            for &p in ranking {
                for group in self.groups(p) {
                    groups.entry(group).or_default().push(p);
                }
            }
            shown.extend(groups.values().flat_map(|members| ends(members)));
        }
        shown
    }

    /// The filters that let a sample through: of its label, of whether it is right, and of both.
    fn groups(&self, p: u32) -> Vec<(Option<u16>, Option<bool>)> {
        let label = self.labels.map(|labels| labels.of[p as usize]);
        let wrong = self.wrong.as_ref().map(|wrong| wrong[p as usize]);
        let mut groups = vec![(label, None), (None, wrong), (label, wrong)];
        groups.retain(|group| *group != (None, None));
        groups.dedup();
        groups
    }
}

/// Samples in the order of a column, largest first and equal ones in their own order.
pub(crate) fn ranked(values: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_by(|&a, &b| values[b as usize].total_cmp(&values[a as usize]).then(a.cmp(&b)));
    order
}

/// The first `most` of the samples that must be seen, each once, and an even choice of the others as far as there is room.
pub(crate) fn chosen(must: impl IntoIterator<Item = u32>, samples: usize, most: usize) -> Vec<u32> {
    let mut is_chosen = vec![false; samples];
    let mut chosen = Vec::new();
    let step = (samples / most.max(1)).max(1);
    for p in must.into_iter().chain((0..samples as u32).step_by(step)) {
        if chosen.len() == most {
            break;
        }
        if !std::mem::replace(&mut is_chosen[p as usize], true) {
            chosen.push(p);
        }
    }
    chosen
}

/// Pictures of samples where they are pictures, otherwise their numbers.
pub(crate) fn pictures_or_rows(
    inputs: Option<&InputArray<'_>>,
    display: &PageSamples<'_>,
    choose: impl Fn(usize) -> Vec<u32>,
) -> Result<(Option<Sheet>, Option<ExplorerRows>)> {
    let Some(inputs) = inputs else { return Ok((None, None)) };
    match Picture::of(inputs.shape) {
        Some(picture) => {
            let samples = choose(picture.most_pictures(display.pictures));
            Ok((Some(Sheet::of(inputs, picture, &samples)?), None))
        }
        None => Ok((None, Some(ExplorerRows::of(inputs.samples, choose(ROWS), display.columns)))),
    }
}

impl ExplorerRows {
    fn of(inputs: &Samples<'_>, samples: Vec<u32>, columns: Option<&[String]>) -> Self {
        let columns = ColumnNames(columns);
        let spreads = Spreads::of(inputs);
        let numbers = samples.iter().map(|&p| spreads.row(inputs, p as usize, columns)).collect();
        Self { samples, numbers, left_out: inputs.dim().saturating_sub(NUMBERS) }
    }
}

/// Mean and standard deviation of every column.
struct Spreads(Vec<[f64; 2]>);

impl Spreads {
    fn of(samples: &Samples<'_>) -> Self {
        let (rows, dim) = (samples.len(), samples.dim());
        let column = |at: usize| (0..rows).map(move |p| value_at(samples, p * dim + at));
        let spread = |at: usize| {
            let mean = column(at).sum::<f64>() / rows as f64;
            let variance = column(at).map(|value| (value - mean).powi(2)).sum::<f64>() / rows as f64;
            [mean, variance.sqrt()]
        };
        Self((0..dim).map(spread).collect())
    }

    /// The columns in which a sample is most unusual, in their own order: the rest says little about it.
    fn row(&self, samples: &Samples<'_>, p: usize, columns: ColumnNames<'_>) -> Vec<[String; 2]> {
        let value = |at: usize| value_at(samples, p * samples.dim() + at);
        let unusual = |at: usize| {
            let [mean, deviation] = self.0[at];
            if deviation > 0.0 { (value(at) - mean).abs() / deviation } else { 0.0 }
        };
        let mut shown: Vec<usize> = (0..samples.dim()).collect();
        shown.sort_by(|&a, &b| unusual(b).total_cmp(&unusual(a)).then(a.cmp(&b)));
        shown.truncate(NUMBERS);
        shown.sort_unstable();
        shown.into_iter().map(|at| [columns.name(at), short(value(at))]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every gallery that filters can make is there, whatever the reader chooses.
    #[test]
    fn every_sample_of_a_gallery_is_chosen() {
        let labels =
            ExplorerLabels::of(&Labels::from_ids((0..1000).map(|p| i64::from(p >= 990)).collect())).unwrap();
        let wrong: Vec<bool> = (0..1000).map(|p| p % 100 == 7).collect();
        let rankings = vec![(0..1000).collect(), (0..1000).rev().collect()];
        let filters =
            Filters { labels: Some(&labels), wrong: Some(wrong.clone()), rankings: rankings.clone() };
        let shown: BTreeSet<u32> = filters.samples().into_iter().collect();
        for ranking in &rankings {
            for label in [None, Some(0), Some(1)] {
                for is_wrong in [None, Some(false), Some(true)] {
                    let fits = |p: &&u32| {
                        let at = **p as usize;
                        label.is_none_or(|label| labels.of[at] == label)
                            && is_wrong.is_none_or(|is| wrong[at] == is)
                    };
                    let first = ranking.iter().filter(fits).take(GALLERIES.fragile);
                    let last = ranking.iter().rev().filter(fits).take(GALLERIES.robust);
                    assert!(first.chain(last).all(|p| shown.contains(p)), "{label:?} {is_wrong:?}");
                }
            }
        }
    }

    #[test]
    fn what_must_be_seen_comes_first_and_once() {
        let chosen = chosen([500, 3, 500], 1000, 300);
        assert_eq!(chosen[..2], [500, 3]);
        assert_eq!(chosen.len(), 300);
        assert_eq!(chosen.iter().collect::<BTreeSet<_>>().len(), 300);
    }

    #[test]
    fn a_row_shows_where_a_sample_is_unusual() {
        let mut values = vec![0.5; 9 * 8];
        for p in 0..9 {
            values[p * 8] = p as f64;
        }
        values[4 * 8 + 7] = 9.0;
        let samples = Samples::from_f64(9, 8, values).unwrap();
        let row = Spreads::of(&samples).row(&samples, 4, ColumnNames(None));
        assert_eq!(row.len(), NUMBERS);
        assert_eq!(row[NUMBERS - 1], ["[7]", "9"].map(str::to_owned));
    }

    #[test]
    fn equal_values_keep_their_order() {
        assert_eq!(ranked(&[1.0, 3.0, 1.0, 2.0]), [1, 3, 0, 2]);
    }

    #[test]
    fn labels_become_positions_of_names() {
        let labels = ExplorerLabels::of(&Labels::from_words(&["dog", "cat", "dog"])).unwrap();
        assert_eq!((labels.names, labels.of), (vec!["cat".to_owned(), "dog".to_owned()], vec![1, 0, 1]));
    }
}
