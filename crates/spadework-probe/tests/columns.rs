//! Radii of columns: how far probes move every column of a table.

use spadework::{Samples, Silent};
use spadework_probe::{Error, ProbeParams, probe_model, probe_regressor};

/// Columns: 0 to 3 in halves, a flag, a count, a constant.
const TABLE: [[f64; 4]; 4] =
    [[0.0, 0.0, 10.0, 5.5], [1.5, 1.0, 20.0, 5.5], [3.0, 0.0, 30.0, 5.5], [1.5, 1.0, 20.0, 5.5]];

fn table() -> Samples<'static> {
    Samples::from_f64(4, 4, TABLE.concat()).unwrap()
}

fn params(probe: &str, radii: Option<&[f64]>) -> ProbeParams {
    ProbeParams::new(probe.parse().unwrap()).with_probes(64).with_radii(radii.map(Into::into))
}

/// Every row that a model is given, in order: first the samples, then the same copy of each, again and again.
fn rows_of(probe: &str, radii: Option<&[f64]>) -> Result<Vec<[f32; 4]>, Error> {
    let mut seen: Vec<[f32; 4]> = Vec::new();
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        let values = rows.values().all_singles();
        seen.extend(values.chunks_exact(4).map(|row| [row[0], row[1], row[2], row[3]]));
        let outputs: Vec<f32> =
            values.chunks_exact(4).flat_map(|row| [100.0 + row.iter().sum::<f32>(), 0.0]).collect();
        Ok(Samples::from_f32(rows.len(), 2, outputs)?)
    };
    probe_model(&table(), model, &params(probe, radii), &Silent)?;
    Ok(seen)
}

/// The numbers that a column takes over all copies, rounded to thousandths and sorted.
fn taken(rows: &[[f32; 4]], column: usize) -> Vec<i64> {
    let mut values: Vec<i64> =
        rows.iter().map(|row| (f64::from(row[column]) * 1000.0).round() as i64).collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[test]
fn columns_move_by_their_own_deviations_and_stay_in_their_ranges() {
    let rows = rows_of("linf:0.5sd", None).unwrap();
    // Half of √(2 · 1.5² / 4) = 1.0607: 0 and 3 are the ends of the column.
    assert_eq!(taken(&rows, 0), [0, 530, 970, 1500, 2030, 2470, 3000]);
    // Whole numbers and constants are left alone.
    assert_eq!(
        (taken(&rows, 1), taken(&rows, 2), taken(&rows, 3)),
        (vec![0, 1000], vec![10_000, 20_000, 30_000], vec![5500])
    );
    // In noise too.
    let rows = rows_of("linf:0.5sd:pixel", None).unwrap();
    assert_eq!((taken(&rows, 0).len(), taken(&rows, 2).len()), (7, 3));
}

#[test]
fn radii_move_whole_numbers_in_whole_steps() {
    let rows = rows_of("linf:1:pixel", Some(&[0.25, 1.0, 7.9, 0.0])).unwrap();
    assert_eq!(taken(&rows, 0), [0, 250, 1250, 1500, 1750, 2750, 3000]);
    assert_eq!(taken(&rows, 1), [0, 1000]);
    assert_eq!(taken(&rows, 2), [10_000, 13_000, 17_000, 20_000, 23_000, 27_000, 30_000]);
    assert_eq!(taken(&rows, 3), [5500]);
    // The flags of some copies are turned over.
    assert!(rows.chunks(4).any(|copy| f64::from(copy[1][1]) != TABLE[1][1]));
    let doubled = rows_of("linf:2:pixel", Some(&[0.25, 0.0, 0.0, 0.0])).unwrap();
    assert_eq!(taken(&doubled, 0), [0, 500, 1000, 1500, 2000, 2500, 3000]);
    // 1 unlike 0.5sd · 2: both in units of deviations.
    assert_eq!(taken(&rows_of("linf:0.25sd", Some(&[2.0, 0.0, 0.0, 0.0])).unwrap(), 0).len(), 7);
}

/// Of a linear model y = 2 x₀ + x₂ it is the sum of the steps that columns take, in the middle of their ranges.
#[test]
fn regressors_are_moved_within_the_radii() {
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        let values = rows.values().all_singles();
        let outputs: Vec<f32> = values.chunks_exact(4).map(|row| 2.0 * row[0] + row[2]).collect();
        Ok(Samples::from_f32(rows.len(), 1, outputs)?)
    };
    let params = params("linf:1", Some(&[0.25, 1.0, 3.0, 0.0]));
    let found = probe_regressor(&table(), 1.0, model, &params, &Silent).unwrap();
    assert!((found.samples[1].change - 3.5).abs() < 1e-5, "{:?}", found.samples);
}

#[test]
fn radii_that_cannot_be_are_refused() {
    let refused = |probe: &str, radii: &[f64]| rows_of(probe, Some(radii)).unwrap_err();
    assert_eq!(refused("linf:1", &[0.0; 4]), Error::NothingMoves { columns: 4 });
    assert_eq!(refused("linf:1", &[0.0, 0.5, 0.9, 3.0]), Error::NothingMoves { columns: 4 });
    assert_eq!(refused("linf:1", &[1.0; 3]), Error::RadiiCount { dim: 4, got: 3 });
    assert_eq!(refused("linf:1", &[1.0, -1.0, 1.0, 1.0]), Error::Radius { column: 1, got: -1.0 });
    assert!(matches!(refused("linf:1", &[1.0, 1.0, f64::NAN, 1.0]), Error::Radius { column: 2, .. }));
    assert_eq!(refused("l2:1", &[1.0; 4]), Error::RadiiNorm { norm: "l2".to_owned() });
}

/// Columns: a number, a category of three (the second of which no sample has) or none, a category of two.
const CATEGORIES: [[f64; 6]; 4] = [
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.5],
    [1.5, 0.0, 0.0, 1.0, 0.5, 0.0],
    [2.5, 0.0, 0.0, 0.0, 0.5, 0.0],
    [1.0, 0.0, 0.0, 1.0, 0.0, 0.5],
];
const OF_COLUMNS: [usize; 6] = [0, 7, 7, 7, 2, 2];

fn categorical(
    probe: &str,
    radii: Option<&[f64]>,
    categories: &[usize],
    table: &[[f64; 6]; 4],
) -> Result<Vec<[i32; 6]>, Error> {
    let mut seen: Vec<[i32; 6]> = Vec::new();
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        let values = rows.values().all_singles();
        seen.extend(
            values.chunks_exact(6).map(|row| std::array::from_fn(|at| (row[at] * 100.0).round() as i32)),
        );
        let outputs = values.chunks_exact(6).flat_map(|row| [100.0 + row.iter().sum::<f32>(), 0.0]);
        Ok(Samples::from_f32(rows.len(), 2, outputs.collect::<Vec<f32>>())?)
    };
    let inputs = Samples::from_f64(4, 6, table.concat())?;
    let params = params(probe, radii).with_categories(Some(categories.into()));
    probe_model(&inputs, model, &params, &Silent)?;
    Ok(seen)
}

/// What the rows have in some columns, sorted, each once.
fn parts<const N: usize>(rows: &[[i32; 6]], first: usize) -> Vec<[i32; N]> {
    let mut parts: Vec<[i32; N]> = rows.iter().map(|row| std::array::from_fn(|at| row[first + at])).collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}

#[test]
fn categories_change_as_a_whole() {
    for probe in ["linf:0.5", "linf:0.1sd", "linf:0.5:pixel"] {
        let rows = categorical(probe, None, &OF_COLUMNS, &CATEGORIES).unwrap();
        // The second column stays as it is; no category is one that a sample has.
        assert_eq!(parts::<3>(&rows, 1), [[0, 0, 0], [0, 0, 100], [100, 0, 0]], "{probe}");
        assert_eq!(parts::<2>(&rows, 4), [[0, 50], [50, 0]], "{probe}");
        // Every sample is moved to each of them, from whichever it has.
        for (sample, row) in CATEGORIES.iter().enumerate() {
            let own: Vec<[i32; 6]> = rows.iter().skip(sample).step_by(4).copied().collect();
            assert_eq!((parts::<3>(&own, 1).len(), parts::<2>(&own, 4).len()), (3, 2), "{probe}: {row:?}");
        }
    }
    // Noise always changes a category.
    let rows = categorical("linf:0.5:pixel", None, &OF_COLUMNS, &CATEGORIES).unwrap();
    for (at, row) in rows.iter().enumerate().skip(4) {
        let own = CATEGORIES[at % 4].map(|number| (number * 100.0) as i32);
        assert!(row[1..4] != own[1..4] && row[4..] != own[4..], "{at}");
    }
    // A radius of 0 keeps a category from being chosen, and 1 lets it.
    let radii = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    let rows = categorical("linf:1", Some(&radii), &OF_COLUMNS, &CATEGORIES).unwrap();
    let first: Vec<[i32; 6]> = rows.iter().step_by(4).copied().collect();
    assert_eq!(parts::<6>(&first, 0), [[0, 0, 0, 100, 0, 50], [0, 100, 0, 0, 0, 50]]);
    // A single one that may be chosen is enough: samples of others are moved there.
    let radii = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let rows = categorical("linf:1", Some(&radii), &OF_COLUMNS, &CATEGORIES).unwrap();
    let of_sample = |at: usize| rows.iter().skip(at).step_by(4).copied().collect::<Vec<[i32; 6]>>();
    assert_eq!(parts::<2>(&of_sample(0), 4), [[0, 50], [50, 0]]);
    assert_eq!(parts::<2>(&of_sample(1), 4), [[50, 0]]);
}

/// Of a linear model: the number by its step, the best category of each kind, whatever is moved first.
#[test]
fn regressors_are_moved_to_other_categories() {
    let weights = [1.0, 5.0, 9.0, -2.0, 0.0, 8.0];
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        let of_row =
            |row: &[f32]| row.iter().zip(weights).map(|(number, weight)| number * weight).sum::<f32>();
        let values = rows.values().all_singles();
        Ok(Samples::from_f32(rows.len(), 1, values.chunks_exact(6).map(of_row).collect::<Vec<f32>>())?)
    };
    let inputs = Samples::from_f64(4, 6, CATEGORIES.concat()).unwrap();
    let params = params("linf:0.25", None).with_categories(Some(OF_COLUMNS[..].into()));
    let found = probe_regressor(&inputs, 1.0, model, &params, &Silent).unwrap();
    // Sample 1: 0.25 up, from −2 to 5, from 0 to 0.5 · 8.
    assert!((found.samples[1].change - 11.25).abs() < 1e-5, "{:?}", found.samples);
}

#[test]
fn categories_that_cannot_be_are_refused() {
    let refused =
        |probe: &str, categories: &[usize]| categorical(probe, None, categories, &CATEGORIES).unwrap_err();
    assert_eq!(refused("linf:1", &[0, 1]), Error::CategoriesCount { dim: 6, got: 2 });
    assert_eq!(refused("l2:1", &OF_COLUMNS), Error::CategoriesNorm { norm: "l2".to_owned() });
    // A number, two that a row has both of.
    assert_eq!(
        refused("linf:1", &[1, 1, 0, 0, 0, 0]),
        Error::NotOneHot { category: 1, row: 1, column: 0, got: 1.5 }
    );
    assert_eq!(
        refused("linf:1", &[0, 3, 0, 0, 0, 3]),
        Error::NotOneHot { category: 3, row: 0, column: 5, got: 0.5 }
    );
    let whole = [[1.0, 1.0, 0.0, 0.0, 0.0, 1.0]; 4];
    let still = categorical("linf:1", None, &OF_COLUMNS, &whole).unwrap_err();
    assert_eq!(still, Error::NothingMoves { columns: 6 });
}
