//! Probes that broke their samples, next to the samples.

use serde::Serialize;
use spadework::Samples;
use spadework_document::words::short;
use spadework_io::Labels;
use spadework_probe::Variant;

use crate::InputArray;
use crate::error::Result;
use crate::label_names::{ColumnNames, class_name};
use crate::pictures::{Picture, Sheet, value_at};

/// Numbers of a table that are shown of a copy.
const NUMBERS: usize = 6;

/// What the script shows of copies.
#[derive(Debug, Serialize)]
pub(crate) struct ExplorerVariants {
    pub(crate) samples: Vec<u32>,
    /// What the model takes the copies for.
    classes: Vec<String>,
    /// By how much differences are amplified.
    amplified: f64,
    /// Every copy and, in the second half, every difference.
    pictures: Option<Sheet>,
    /// What changed, where the samples are no pictures.
    text: Vec<String>,
}

impl ExplorerVariants {
    /// None where there are no copies, or their inputs are not at hand.
    pub(crate) fn of(
        variants: &[Variant],
        inputs: Option<&InputArray<'_>>,
        labels: Option<&Labels>,
        columns: ColumnNames<'_>,
    ) -> Result<Option<Self>> {
        let Some(inputs) = inputs.filter(|_| !variants.is_empty()) else { return Ok(None) };
        let differences = Differences::of(variants, inputs.samples);
        let pictures = Picture::of(inputs.shape)
            .map(|picture| differences.sheet(variants, inputs, picture))
            .transpose()?;
        let text = match &pictures {
            Some(_) => Vec::new(),
            None => variants.iter().map(|variant| changes(variant, inputs.samples, columns)).collect(),
        };
        Ok(Some(Self {
            samples: variants.iter().map(|variant| variant.index as u32).collect(),
            classes: variants.iter().map(|variant| class_name(labels, variant.class)).collect(),
            amplified: differences.amplified,
            pictures,
            text,
        }))
    }
}

/// How differences become pictures: around the middle of the range of the data.
struct Differences {
    low: f64,
    high: f64,
    amplified: f64,
}

impl Differences {
    fn of(variants: &[Variant], inputs: &Samples<'_>) -> Self {
        let dim = inputs.dim();
        let (mut low, mut high, mut largest) = (f64::INFINITY, f64::NEG_INFINITY, 0.0_f64);
        for variant in variants {
            for (at, &moved) in variant.row.iter().enumerate() {
                let (was, is) = (value_at(inputs, variant.index * dim + at), f64::from(moved));
                (low, high) = (low.min(was).min(is), high.max(was).max(is));
                largest = largest.max((is - was).abs());
            }
        }
        if low >= 0.0 && high <= 1.0 {
            (low, high) = (0.0, 1.0);
        }
        // As much as fits between the middle and an end, in whole steps.
        let fits = 0.5 * (high - low) / largest.max(f64::MIN_POSITIVE);
        // Radii are rounded to single precision: 4.99999 is 5.
        Self { low, high, amplified: (fits + 1e-3).floor().clamp(1.0, 1000.0) }
    }

    fn sheet(&self, variants: &[Variant], inputs: &InputArray<'_>, picture: Picture) -> Result<Sheet> {
        let dim = inputs.samples.dim();
        let middle = f64::midpoint(self.low, self.high);
        let mut rows: Vec<f32> = variants.iter().flat_map(|variant| variant.row.iter().copied()).collect();
        for variant in variants {
            rows.extend(variant.row.iter().enumerate().map(|(at, &moved)| {
                let change = f64::from(moved) - value_at(inputs.samples, variant.index * dim + at);
                (middle + self.amplified * change).clamp(self.low, self.high) as f32
            }));
        }
        let count = 2 * variants.len();
        let rows = Samples::from_f32(count, dim, rows)?;
        let shape: Vec<usize> = std::iter::once(count).chain(inputs.shape[1..].iter().copied()).collect();
        let all: Vec<u32> = (0..count as u32).collect();
        Sheet::within(&InputArray { samples: &rows, shape: &shape }, picture, &all, [self.low, self.high])
    }
}

/// The first numbers that differ, as they were and as they are.
fn changes(variant: &Variant, inputs: &Samples<'_>, columns: ColumnNames<'_>) -> String {
    let dim = inputs.dim();
    let was = |at: usize| value_at(inputs, variant.index * dim + at);
    let changed = variant.row.iter().enumerate().filter(|&(at, &moved)| was(at) as f32 != moved);
    let said: Vec<String> = changed
        .clone()
        .take(NUMBERS)
        .map(|(at, &moved)| format!("{} {} → {}", columns.name(at), short(was(at)), short(f64::from(moved))))
        .collect();
    let rest = if changed.count() > NUMBERS { ", …" } else { "" };
    format!("{}{rest}", said.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(row: Vec<f32>) -> Variant {
        let model = |rows: &Samples<'_>| -> std::result::Result<Samples<'static>, spadework_probe::Error> {
            let spadework::samples::Values::F32(values) = rows.values() else { unreachable!() };
            let outputs = values.chunks_exact(2).flat_map(|row| [row[0] - row[1], row[1] - row[0]]);
            Ok(Samples::from_f32(rows.len(), 2, outputs.collect::<Vec<_>>())?)
        };
        let inputs = Samples::from_f32(2, 2, [row, vec![0.0, 1.0]].concat()).unwrap();
        let params = spadework_probe::ProbeParams::new("linf:0.1".parse().unwrap());
        spadework_probe::broken_variants(&inputs, &[0], model, &params, &spadework::Silent).unwrap().remove(0)
    }

    /// A change of 0.1 between 0 and 1 fits five times between the middle and an end.
    #[test]
    fn differences_are_amplified_as_far_as_they_fit() {
        let inputs = Samples::from_f32(2, 2, vec![0.5, 0.45, 0.0, 1.0]).unwrap();
        let broken = variant(vec![0.5, 0.45]);
        assert_eq!(Differences::of(std::slice::from_ref(&broken), &inputs).amplified, 5.0);
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(changes(&broken, &inputs, ColumnNames(Some(&names))), "a 0.5 → 0.4, b 0.45 → 0.55");
    }
}
