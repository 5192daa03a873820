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
