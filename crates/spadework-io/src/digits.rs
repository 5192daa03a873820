//! The embedded data set: *Optical Recognition of Handwritten Digits* by E. Alpaydin and C. Kaynak (UCI Machine Learning
//! Repository, <https://doi.org/10.24432/C50P49>, CC BY 4.0), the 1,797 images as distributed with scikit-learn.

use std::path::Path;

use crate::dataset::Dataset;
use crate::element::Numbers;
use crate::error::Result;
use crate::formats::csv;
use crate::labels::Labels;
use crate::named::DIGITS;

/// What a user types for it.
pub(crate) const NAME: &str = "digits";

const FILE: &[u8] = include_bytes!("../assets/digits.csv.gz");
/// Pixels of a side, and the value of full ink.
const SIDE: usize = 8;
const INK: f64 = 16.0;

/// Whether an argument names the embedded digits: a file or folder of that name goes first.
pub(crate) fn is_meant(argument: &str) -> bool {
    argument == NAME && !Path::new(argument).exists()
}

/// The labels alone.
pub(crate) fn load_labels() -> Result<Labels> {
    Ok(load()?.labels().cloned().unwrap_or_else(|| Labels::from_ids(Vec::new())))
}

/// The embedded digits: 1,797 images of 8 × 8 pixels from 0 to 1, and their labels.
///
/// # Errors
/// None: the file is embedded and read by tests.
pub fn load() -> Result<Dataset> {
    let table = csv::parse(FILE, None, NAME)?;
    let cells: Vec<f64> = match table.numbers {
        Numbers::F32(values) => values.into_iter().map(f64::from).collect(),
        Numbers::F64(values) => values,
    };
    let (rows, _) = cells.as_chunks::<{ SIDE * SIDE + 1 }>();
    let pixels = rows.iter().flat_map(|row| row[..SIDE * SIDE].iter().map(|ink| (ink / INK) as f32));
    let numbers = Numbers::F32(pixels.collect());
    let labels = rows.iter().map(|row| row[SIDE * SIDE] as i64).collect();
    let names = DIGITS.map(str::to_owned).to_vec();
    Ok(Dataset::from_numbers(vec![rows.len(), SIDE, SIDE], numbers, NAME)
        .with_labels(Labels::with_names(labels, names)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spadework::samples::Values;

    #[test]
    fn the_digits_are_those_of_scikit_learn() {
        let digits = load().unwrap();
        assert_eq!(digits.shape(), [1797, 8, 8]);
        // sklearn.datasets.load_digits: data.sum() is 561718, bincount(target) as below.
        let samples = digits.samples().unwrap();
        let Values::F32(values) = samples.values() else { panic!("pixels are f32") };
        assert_eq!(values.iter().map(|&value| (value * 16.0) as u64).sum::<u64>(), 561_718);
        let labels = digits.labels().unwrap();
        let count = |id: i64| labels.ids().iter().filter(|&&label| label == id).count();
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(count),
            [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
        );
        assert_eq!((&labels.ids()[..4], labels.class_name(3)), (&[0, 1, 2, 3][..], Some("3")));
    }
}
