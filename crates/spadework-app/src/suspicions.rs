//! Cheap checks for calls that a user probably did not intend.

use spadework::samples::Standardize;
use spadework::{Samples, SpadeParams};
use spadework_probe::{ProbeNorm, RadiusUnit, accuracy};

use crate::failure::Failure;
use crate::observer::Session;
use crate::probing::ProbeRequest;
use crate::side_view::SideView;
use crate::usage::Usage;
use crate::wording::NoteCode;

/// Numbers that are looked at, at most, to tell pixels from other numbers.
const LOOKED_AT: usize = 1 << 20;
/// Numbers per sample from which whole numbers up to 255 are probably pixels.
const FEWEST_PIXELS: usize = 16;
/// Spreads that rounding may make, as a part of the largest number.
const ROUNDING: f64 = 1e-12;
/// Columns whose spreads differ by more than this decide about distances alone.
const MOST_UNEQUAL: f64 = 100.0;
/// Columns of a table, at most; samples with more numbers are images, sounds or embeddings.
const MOST_COLUMNS: usize = 1000;

/// Inputs that a model or a distance will probably misread; `labels` is what the user typed for the labels, `is_run_as_given` holds where a
/// model is run on the inputs without a normalization.
pub(crate) fn about_inputs(
    inputs: &SideView<'_>,
    labels: Option<&str>,
    is_run_as_given: bool,
    params: &SpadeParams,
    session: &Session<'_>,
) {
    let Some(samples) = inputs.samples() else { return };
    if is_run_as_given && look_like_bytes(samples) {
        session.note(
            NoteCode::PixelValues,
            format!(
                "{}: the inputs are whole numbers up to 255, and the model gets them unchanged: if it was trained on 0 to 1, \
                 divide them by 255 (arrays of uint8 are divided automatically), or pass {}",
                inputs.name(),
                session.voice().name("normalize")
            ),
        );
    }
    if inputs.sample_shape().len() == 1 && params.standardize == Standardize::None {
        about_columns(samples, inputs, session);
    }
    if let Some(labels) = labels {
        about_labels_among(inputs, labels, session);
    }
}

/// Labels that are a column of the table that the inputs are.
fn about_labels_among(inputs: &SideView<'_>, labels: &str, session: &Session<'_>) {
    let name = inputs.name();
    let (file, and_others) = name.split_once("?drop=").map_or((name, "?drop="), |(file, _)| (file, ","));
    let Some(column) = labels.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')) else { return };
    if inputs.columns().is_some_and(|columns| columns.iter().any(|name| name == column)) {
        session.note(
            NoteCode::LabelsAmongInputs,
            format!(
                "{labels}: the labels are also a column of the inputs, so they affect which samples are neighbors, and a model would get \
                 them. Leave the column out: {}",
                session.voice().argument("inputs", &format!("'{name}{and_others}{column}'"))
            ),
        );
    }
}

/// Columns of a table whose spreads differ so much that distances are those of the widest.
fn about_columns(samples: &Samples<'_>, inputs: &SideView<'_>, session: &Session<'_>) {
    // Before the numbers are looked at: large arrays are not of columns.
    if samples.dim() < 2 || samples.dim() > MOST_COLUMNS {
        return;
    }
    let [lowest, largest] = samples.values().range();
    if lowest >= 0.0 && largest <= 1.0 || look_like_bytes(samples) {
        return;
    }
    let spreads = standard_deviations(samples);
    // A column that is constant, or would be but for rounding, moves no distance.
    let rounding = ROUNDING * lowest.abs().max(largest.abs());
    let moving = || spreads.iter().copied().enumerate().filter(|(_, spread)| *spread > rounding);
    let by_spread = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
    let (Some((narrow, least)), Some((wide, most))) =
        (moving().min_by(by_spread), moving().max_by(by_spread))
    else {
        return;
    };
    if most > MOST_UNEQUAL * least {
        let column = |at: usize| match inputs.columns().and_then(|columns| columns.get(at)) {
            Some(name) => format!("column {at} (`{name}`)"),
            None => format!("column {at}"),
        };
        session.note(
            NoteCode::UnequalColumns,
            format!(
                "{}: {} of the inputs varies {:.0} times as much as {}, so it decides which samples are neighbors: scale the columns ({})",
                inputs.name(),
                column(wide),
                most / least,
                column(narrow),
                session.voice().name("standardize")
            ),
        );
    }
}

/// Inputs whose largest number is their label, where the outputs' is not: the two were probably exchanged. `accuracies` are those of
/// the outputs of every model.
///
/// # Errors
/// When there is not one label per sample.
pub(crate) fn about_swapped_sides(
    inputs: Option<&Samples<'_>>,
    labels: Option<&[i64]>,
    accuracies: &[Option<f64>],
    session: &Session<'_>,
) -> Result<(), Failure> {
    /// Right for more than half of what is not guessed.
    const CLEARLY: f64 = 0.5;
    let (Some(inputs), Some(labels)) = (inputs, labels) else { return Ok(()) };
    let Some(of_inputs) = accuracy(inputs, labels)? else { return Ok(()) };
    let guessed = 1.0 / inputs.dim() as f64;
    let is_clear = of_inputs > guessed + CLEARLY * (1.0 - guessed);
    if is_clear && accuracies.iter().all(|of_outputs| of_outputs.is_none_or(|part| part < of_inputs)) {
        session.note(
            NoteCode::SwappedSides,
            format!(
                "{:.0} % of the samples have their largest *input* at their label, as only outputs should: were inputs and outputs \
                 swapped?",
                100.0 * of_inputs
            ),
        );
    }
    Ok(())
}

/// Refuses a probe that can turn every sample into any other.
pub(crate) fn check_radius(request: &ProbeRequest, inputs: Option<&Samples<'_>>) -> Result<(), Failure> {
    let (Some(inputs), probe) = (inputs, request.probe) else { return Ok(()) };
    // Columns with radii of their own stay in ranges of their own, and so do those of tables with categories.
    if request.radii.is_some() || request.categories.is_some() || probe.unit() == RadiusUnit::Deviation {
        return Ok(());
    }
    let [lowest, largest] = match inputs.values().range() {
        // Probes take numbers between 0 and 1 for pixels, and stay there.
        [lowest, largest] if lowest >= 0.0 && largest <= 1.0 => [0.0, 1.0],
        range => range,
    };
    // The longest way there is between two samples.
    let longest = match probe.norm() {
        ProbeNorm::Linf => largest - lowest,
        ProbeNorm::L2 => (largest - lowest) * (inputs.dim() as f64).sqrt(),
    };
    if probe.radius() <= longest || longest == 0.0 {
        return Ok(());
    }
    Err(Usage::RadiusBeyondInputs { probe: probe.to_string(), radius: probe.radius(), lowest, largest }
        .into())
}

/// Whether all numbers are whole, between 0 and 255, and some above 1: images of bytes in another type.
fn look_like_bytes(samples: &Samples<'_>) -> bool {
    let [lowest, largest] = samples.values().range();
    let looked_at = 0..LOOKED_AT.min(samples.values().len());
    samples.dim() >= FEWEST_PIXELS
        && lowest >= 0.0
        && (2.0..=255.0).contains(&largest)
        && samples.values().doubles(looked_at).iter().all(|value| value.fract() == 0.0)
}

/// The standard deviation of every column.
fn standard_deviations(samples: &Samples<'_>) -> Vec<f64> {
    let rows = || (0..samples.len()).map(|row| samples.values().doubles(samples.place(row)));
    let count = samples.len() as f64;
    let mut means = vec![0.0; samples.dim()];
    for row in rows() {
        means.iter_mut().zip(&*row).for_each(|(mean, value)| *mean += value / count);
    }
    let mut squares = vec![0.0; samples.dim()];
    for row in rows() {
        for ((square, value), mean) in squares.iter_mut().zip(&*row).zip(&means) {
            *square += (value - mean).powi(2);
        }
    }
    squares.into_iter().map(|square| (square / count).sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probing::ProbeBudget;

    #[test]
    fn bytes_are_whole_and_not_all_small() {
        let of = |value: f32| Samples::from_f32(2, 16, [vec![0.0; 31], vec![value]].concat()).unwrap();
        assert!(look_like_bytes(&of(255.0)) && look_like_bytes(&of(3.0)));
        // Bits, fractions and larger numbers are something else.
        assert!(!look_like_bytes(&of(1.0)) && !look_like_bytes(&of(254.5)) && !look_like_bytes(&of(256.0)));
    }

    #[test]
    fn spreads_are_those_of_columns() {
        let samples = Samples::from_f64(4, 2, vec![1.0, 5.0, 3.0, 5.0, 1.0, 5.0, 3.0, 5.0]).unwrap();
        assert_eq!(standard_deviations(&samples), [1.0, 0.0]);
    }

    #[test]
    fn a_radius_beyond_the_inputs_is_refused() {
        let unit = Samples::from_f32(2, 4, vec![0.0, 1.0, 0.5, 0.25, 1.0, 0.0, 0.0, 0.5]).unwrap();
        let request = |probe: &str| ProbeRequest {
            probe: probe.parse().unwrap(),
            radii: None,
            categories: None,
            budget: ProbeBudget { probes: None, samples: 1, precision: None },
        };
        let check = |probe: &str| check_radius(&request(probe), Some(&unit));
        assert!(check("linf:8/255").is_ok() && check("linf:1").is_ok() && check("l2:2").is_ok());
        assert!(check("linf:8").is_err() && check("l2:2.1").is_err());
    }
}
