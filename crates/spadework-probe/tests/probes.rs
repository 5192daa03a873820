//! Probes of models whose margins are known in closed form: of a linear model, a copy x' changes the margin by wᵀ(x' − x).

#[path = "../../spadework/tests/support/memory.rs"]
mod memory;

use memory::Memory;
use spadework::samples::Values;
use spadework::threads::with_threads;
use spadework::{Error as CoreError, Monitor, Samples, Silent};
use spadework_probe::{
    ChannelOrder, Error, Grid, Probe, ProbeParams, Probed, VariantParams, accuracy, broken_variants,
    probe_model, probe_regressor, probe_variants, probed_manifold, spread,
};

const DIM: usize = 24;

fn singles<'a>(samples: &'a Samples<'_>) -> &'a [f32] {
    match samples.values() {
        Values::F32(values) => values,
        _ => panic!("probes are in single precision"),
    }
}

/// Weights of both signs and of different sizes, so that no two norms agree.
fn weights() -> Vec<f32> {
    (0..DIM).map(|at| (1.0 + at as f32 / 8.0) * if at % 3 == 0 { -1.0 } else { 1.0 }).collect()
}

/// Samples between −2 and 2 by a rule without period, none at the ends; the first two reach out to ±10, so that no copy of the
/// others is cut off.
fn inputs(count: usize) -> Samples<'static> {
    let number = |at: usize| ((at as f64 * 0.618_033_988_749_895).fract() * 4.0 - 2.0) as f32;
    let mut values: Vec<f32> = (0..count * DIM).map(number).collect();
    values[0] = -10.0;
    values[DIM] = 10.0;
    Samples::from_f32(count, DIM, values).unwrap()
}

/// Two outputs, wᵀx and 0: the margin is |wᵀx|.
fn linear(rows: &Samples<'_>) -> Result<Samples<'static>, Error> {
    let weights = weights();
    let lead = |row: &[f32]| -> f64 {
        row.iter().zip(&weights).map(|(&number, &weight)| f64::from(number) * f64::from(weight)).sum()
    };
    let outputs = singles(rows).chunks_exact(DIM).flat_map(|row| [lead(row), 0.0]).collect::<Vec<f64>>();
    Ok(Samples::from_f64(rows.len(), 2, outputs)?)
}

fn params(probe: &str) -> ProbeParams {
    ProbeParams::new(probe.parse().unwrap()).with_samples(10_000)
}

fn probed(probe: &str, count: usize) -> Probed {
    probe_model(&inputs(count), linear, &params(probe), &Silent).unwrap()
}

fn norms() -> (f64, f64) {
    let weights = weights();
    let largest: f64 = weights.iter().map(|&weight| f64::from(weight.abs())).sum();
    let length: f64 = weights.iter().map(|&weight| f64::from(weight).powi(2)).sum();
    (largest, length.sqrt())
}

/// Over random signs, E (wᵀδ)² = ε²‖w‖₂². Of 3,000 samples with 8 copies each the mean of 24,000 squares is known to a relative
/// √(2/24000) = 0.9 %, and 4 % is beyond four of that.
#[test]
fn random_signs_change_a_linear_margin_by_its_length() {
    let (_, length) = norms();
    for (probe, expected) in
        [("linf:0.1:pixel", 0.1 * length), ("l2:0.5:pixel", 0.5 * length / (DIM as f64).sqrt())]
    {
        let probed = probed(probe, 3002);
        let squares: f64 =
            probed.samples[2..].iter().map(|sample| sample.scatter.unwrap().change.powi(2)).sum();
        let found = (squares / 3000.0).sqrt();
        assert!((found / expected - 1.0).abs() < 0.02, "{probe}: {found} against {expected}");
    }
}

/// In blocks, signs add up before they are squared: E (wᵀδ)² = ε² Σ_blocks (Σ_block w)².
#[test]
fn blocks_change_a_linear_margin_by_their_sums() {
    let sums: f64 = weights().chunks(5).map(|block| f64::from(block.iter().sum::<f32>()).powi(2)).sum();
    let probed = probed("linf:0.1:block:5", 3002);
    let squares: f64 = probed.samples[2..].iter().map(|sample| sample.scatter.unwrap().change.powi(2)).sum();
    let (found, expected) = ((squares / 3000.0).sqrt(), 0.1 * sums.sqrt());
    assert!((found / expected - 1.0).abs() < 0.02, "{found} against {expected}");
}

/// No copy takes more than ε‖w‖₁, and a search that comes down to single numbers takes all of it: 24 numbers make
/// 1 + 2 + 4 + 8 + 12 + 24 blocks of sides 24, 12, 6, 3, 2 and 1.
#[test]
fn a_search_finds_the_worst_corner_of_a_linear_model() {
    let (largest, _) = norms();
    let search = params("linf:0.1").with_probes(1 + 51);
    for probed in
        [probe_model(&inputs(200), linear, &search, &Silent).unwrap(), probed("linf:0.1:pixel", 200)]
    {
        // The first two lie at the ends of the range, where copies are cut off.
        for sample in &probed.samples[2..] {
            let bound = sample.margin - 0.1 * largest;
            // Single precision of numbers up to 10 with weights that sum to some 60.
            assert!(sample.lowest > bound - 1e-4, "{sample:?}");
            if probed.params == search && sample.holds() {
                assert!(sample.lowest < bound + 1e-4, "{sample:?} against {bound}");
            }
        }
    }
    let searched = probe_model(&inputs(200), linear, &search, &Silent).unwrap();
    let expected = searched.samples[2..].iter().filter(|sample| sample.margin > 0.1 * largest).count();
    assert_eq!(searched.samples[2..].iter().filter(|sample| sample.holds()).count(), expected);
    assert!((20..180).contains(&expected), "the case decides something: {expected}");
    // All copies together take at most ε‖w‖₁, so do the last three quarters.
    let losses = || searched.samples.iter().map(|sample| sample.late_loss.unwrap());
    assert!(losses().all(|loss| (0.0..=0.1 * largest + 1e-4).contains(&loss)));
    // The estimate is the sum of all chances, and as many samples are named as it says: those of the largest chances.
    let resisting =
        searched.samples.iter().map(|sample| sample.chance.unwrap().expected).sum::<f64>().round();
    assert_eq!(searched.summary(None).unwrap().robust_accuracy, Some(resisting / 200.0));
    let robust = searched.outcomes(None).unwrap().into_iter().filter(|outcome| outcome.robust == Some(true));
    assert_eq!(robust.count() as f64, resisting);
    assert!(resisting <= expected as f64 + 2.0 && resisting > 0.0, "{resisting}");
    // Samples that are lost need no more copies.
    assert!(searched.evaluations < 200 * 53);
}

/// 24 numbers have 51 blocks, so that 64 copies take all that 800 can: what stands after four times as many is not tried again, and nothing
/// stands that falls.
#[test]
fn samples_that_change_no_more_need_no_more_copies() {
    let (largest, _) = norms();
    let search = params("linf:0.1").with_probes(800);
    let searched = probe_model(&inputs(200), linear, &search, &Silent).unwrap();
    for sample in &searched.samples[2..] {
        assert_eq!(sample.holds(), sample.margin > 0.1 * largest, "{sample:?}");
        assert!(
            !sample.holds() || (sample.lowest - (sample.margin - 0.1 * largest)).abs() < 1e-4,
            "{sample:?}"
        );
    }
    let standing = searched.samples.iter().filter(|sample| sample.holds()).count() as u64;
    assert!(
        searched.evaluations > standing * 64 && searched.evaluations <= 200 * 257,
        "{}",
        searched.evaluations
    );
}

/// The last two times that stock is taken have the same quarter then.
#[test]
fn a_search_may_end_just_after_stock_was_taken() {
    for probe in ["linf:0.1", "l2:0.1"] {
        for probes in 65..=68 {
            let search = params(probe).with_probes(probes);
            let found = probe_model(&inputs(20), linear, &search, &Silent).unwrap();
            assert!(
                found.evaluations <= search.most_evaluations(20, DIM),
                "{probe} {probes}: {}",
                found.evaluations
            );
        }
    }
}

/// Weights without pattern over 4,096 numbers: every size of blocks takes more, so that a search goes on unless it was precise enough.
#[test]
fn a_search_ends_where_its_estimate_is_precise_enough() {
    const WIDE: usize = 4096;
    let weight = |at: usize| ((at * at % 7919) as f64 * 0.618_033_988_749_895).fract() - 0.5;
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        let lead =
            |row: &[f32]| row.iter().enumerate().map(|(at, &x)| weight(at) * f64::from(x)).sum::<f64>();
        let outputs = singles(rows).chunks_exact(WIDE).flat_map(|row| [50.0 + lead(row), 0.0]);
        Ok(Samples::from_f64(rows.len(), 2, outputs.collect::<Vec<f64>>())?)
    };
    let values: Vec<f32> = (0..20 * WIDE).map(|at| (at as f32 * 0.37).fract() * 0.02 - 0.01).collect();
    // The last sample reaches out to ±1, so that no copy of the others is cut off.
    let inputs =
        Samples::from_f32(21, WIDE, [values, vec![-1.0, 1.0], vec![0.0; WIDE - 2]].concat()).unwrap();
    let search = params("linf:0.1").with_probes(400);
    let whole = probe_model(&inputs, model, &search, &Silent).unwrap();
    let early = probe_model(&inputs, model, &search.clone().with_precision(Some(0.9999)), &Silent).unwrap();
    // Three pilots go on to eight times as many probes in any case.
    assert_eq!(early.evaluations, 21 * (1 + 64) + 3 * (3200 - 64));
    assert!(whole.evaluations > early.evaluations, "{}", whole.evaluations);
    for probed in [&whole, &early] {
        let found = probed.summary(None).unwrap();
        let estimated = found.estimated.unwrap();
        assert_eq!((Some(estimated.estimate), estimated.n), (found.robust_accuracy, 21));
        assert!(
            estimated.lower <= estimated.estimate && estimated.estimate <= estimated.upper,
            "{estimated:?}"
        );
    }
    let error = probe_model(&inputs, model, &search.with_precision(Some(1.5)), &Silent).unwrap_err();
    assert_eq!(error, Error::Precision { got: 1.5 });
}

/// A linear model loses ε‖w‖₁ of every margin. Sixty-four probes of 128 numbers find a part of that, and pilots all of it: the estimate is the share of
/// the samples whose margin is larger, although nearly all survive.
#[test]
fn pilots_show_what_few_probes_do_not_find() {
    const WIDE: usize = 128;
    let weights: Vec<f64> =
        (0..WIDE).map(|at| ((at * at % 7919) as f64 * 0.618_033_988_749_895).fract() - 0.5).collect();
    let loss: f64 = weights.iter().map(|weight| 0.1 * weight.abs()).sum();
    let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        let lead =
            |row: &[f32]| row.iter().zip(&weights).map(|(&x, weight)| f64::from(x) * weight).sum::<f64>();
        let outputs = singles(rows).chunks_exact(WIDE).flat_map(|row| [lead(row), 0.0]);
        Ok(Samples::from_f64(rows.len(), 2, outputs.collect::<Vec<f64>>())?)
    };
    // Along the weights, with margins from 0.7 to 1.7 times the loss; the last sample reaches out, so that no probe is cut off.
    let along = |at: usize| (0.7 + (at as f64 + 0.5) / 300.0) * loss / squares;
    let mut values: Vec<f32> =
        (0..300).flat_map(|at| weights.iter().map(move |weight| (along(at) * weight) as f32)).collect();
    values.extend((0..WIDE).map(|at| if weights[at] > 0.0 { 10.0 } else { -10.0 }));
    let inputs = Samples::from_f32(301, WIDE, values).unwrap();
    let search = params("linf:0.1").with_probes(64);
    let probed = probe_model(&inputs, model, &search, &Silent).unwrap();
    let summary = probed.summary(None).unwrap();
    let (truth, estimated) = (211.0 / 301.0, summary.estimated.unwrap());
    assert!(summary.survived > 0.9, "{summary:?}");
    assert!((estimated.estimate - truth).abs() < 0.04, "{summary:?}");
    assert!(estimated.lower < truth && truth < estimated.upper, "{summary:?}");
    // Eight pilots with 512 probes each.
    assert!(probed.evaluations > 8 * 512 && probed.evaluations <= search.most_evaluations(301, WIDE));
    assert_eq!(search.most_evaluations(301, WIDE), 301 * 65 + 8 * (512 - 64));
    // More probes of all samples find the same.
    let longer =
        probe_model(&inputs, model, &search.with_probes(512), &Silent).unwrap().summary(None).unwrap();
    assert!((longer.survived - truth).abs() < 0.01, "{longer:?}");
}

/// A sample 0.05 from the boundary is lost by half of its copies at ±0.1: of 16,000 copies, half to within four standard
/// deviations of 0.5/√16000.
#[test]
fn half_of_the_copies_cross_a_near_boundary() {
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        let outputs: Vec<f32> = singles(rows).chunks_exact(2).flat_map(|row| [row[0], 0.5]).collect();
        Ok(Samples::from_f32(rows.len(), 2, outputs)?)
    };
    let values: Vec<f32> = (0..2000).flat_map(|_| [0.55, 0.5]).collect();
    let inputs = Samples::from_f32(2000, 2, values).unwrap();
    let probed = probe_model(&inputs, model, &params("linf:0.1:pixel"), &Silent).unwrap();
    let kept: f64 = probed.samples.iter().map(|sample| sample.scatter.unwrap().kept).sum();
    assert!((kept / 2000.0 - 0.5).abs() < 0.016, "{kept}");
    let labels = vec![0; 2000];
    let summary = probed.summary(Some(&labels)).unwrap();
    assert_eq!(summary.accuracy, Some(1.0));
    // All eight copies keep the class with a probability of 1/256.
    assert!(summary.survived < 0.02, "{summary:?}");
    // Margin 0.05, change 0.1 whatever the sign.
    assert!((summary.margin_ratio.unwrap() - 0.5).abs() < 1e-5, "{summary:?}");
}

#[test]
fn wrong_samples_are_not_held() {
    let probed = probed("linf:0.01:pixel", 100);
    let right: Vec<i64> = probed.samples.iter().map(|sample| sample.class as i64).collect();
    let wrong: Vec<i64> = right.iter().map(|class| 1 - class).collect();
    let all = probed.summary(None).unwrap();
    assert_eq!(probed.summary(Some(&right)).unwrap().survived, all.survived);
    let none = probed.summary(Some(&wrong)).unwrap();
    assert_eq!((none.accuracy, none.survived, none.stability), (Some(0.0), 0.0, 0.0));
    // Labels that are no positions of outputs say nothing about what is right.
    assert_eq!(probed.summary(Some(&[7; 100])).unwrap(), all);
    assert!(matches!(
        probed.summary(Some(&[0; 99])),
        Err(CoreError::LabelCount { samples: 100, labels: 99 })
    ));
}

/// Of two classes with a boundary, the samples that a copy takes across it, the most certain first.
#[test]
fn changed_samples_are_right_ones_that_do_not_hold() {
    let probed = probed("linf:0.1", 200);
    let changed = probed.changed(None).unwrap();
    assert!(!changed.is_empty() && changed.len() < 200, "the case decides something");
    assert!(changed.iter().all(|sample| sample.lowest <= 0.0));
    assert!(changed.is_sorted_by(|a, b| a.margin >= b.margin));
    let survived = probed.summary(None).unwrap().survived;
    assert_eq!(changed.len(), 200 - (survived * 200.0).round() as usize);
    // Labels turn every second sample wrong, and what is wrong has nothing to lose.
    let label = |at: usize| (probed.samples[at].class as i64 + at as i64) % 2;
    let labels: Vec<i64> = (0..200).map(label).collect();
    let expected: Vec<_> = changed.iter().filter(|sample| sample.index % 2 == 0).copied().collect();
    assert_eq!(probed.changed(Some(&labels)).unwrap(), expected);
    assert!(probed.changed(Some(&labels[1..])).is_err());
}

/// More samples than a model is given at a time come in several parts, and what is found does not depend on them.
#[test]
fn a_model_is_given_a_few_thousand_rows_at_most() {
    let mut most = 0;
    let model = |rows: &Samples<'_>| {
        most = most.max(rows.len());
        linear(rows)
    };
    let few = params("linf:0.1:pixel").with_probes(2);
    let found = probe_model(&inputs(5000), model, &few, &Silent).unwrap();
    assert_eq!(found.samples.len(), 5000);
    assert!((1000..5000).contains(&most), "{most}");
    let beyond = few.with_samples(4999);
    let part = probe_model(&inputs(5000), linear, &beyond, &Silent).unwrap();
    assert!(part.samples.iter().all(|sample| found.samples[sample.index] == *sample));
}

/// Images stay images, and a model is never given more rows than there are samples, however many copies they have.
#[test]
fn copies_stay_in_range_and_come_in_small_numbers() {
    let values: Vec<f32> = (0..50 * 12).map(|at| (at % 11) as f32 / 10.0).collect();
    let inputs = Samples::from_f32(50, 12, values).unwrap();
    let grid = Grid { channels: 3, height: 2, width: 2, order: ChannelOrder::Last };
    for kind in ["search", "pixel", "block:2", "smooth"] {
        let params = params(&format!("linf:0.3:{kind}")).with_grid(Some(grid)).with_probes(40);
        let (mut most_rows, mut rows_seen) = (0, 0);
        let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
            assert!(singles(rows).iter().all(|number| (0.0..=1.0).contains(number)), "{kind}");
            (most_rows, rows_seen) = (most_rows.max(rows.len()), rows_seen + rows.len() as u64);
            let outputs: Vec<f32> =
                singles(rows).chunks_exact(12).flat_map(|row| [row[0], row[11]]).collect();
            Ok(Samples::from_f32(rows.len(), 2, outputs)?)
        };
        let probed = probe_model::<Error, _>(&inputs, model, &params, &Silent).unwrap();
        assert_eq!((most_rows, rows_seen), (50, probed.evaluations), "{kind}");
        assert!(probed.evaluations <= params.most_evaluations(50, 12), "{kind}");
    }
}

/// The same bits for any number of threads, and for a sample whatever other samples are probed with it. Pilots of a search are chosen among all samples.
#[test]
fn probes_depend_on_the_seed_and_the_sample_alone() {
    for kind in ["search", "pixel", "block", "smooth"] {
        let params = params(&format!("linf:0.2:{kind}")).with_probes(20);
        let on = |threads: usize, params: &ProbeParams| {
            let work = || probe_model(&inputs(300), linear, params, &Silent);
            with_threads(std::num::NonZeroUsize::new(threads), work).unwrap()
        };
        let all = on(1, &params);
        assert_eq!(all, on(3, &params), "{kind}");
        let some = on(2, &params.clone().with_samples(40));
        assert_eq!(some.samples.len(), 40);
        assert!(some.samples.windows(2).all(|pair| pair[0].index < pair[1].index));
        if kind == "search" {
            // A pilot of either search may have lost more.
            let same = some
                .samples
                .iter()
                .filter(|sample| all.samples[sample.index].lowest == sample.lowest)
                .count();
            assert!(same >= 40 - 2 * 8, "{same}");
        } else {
            assert!(some.samples.iter().all(|sample| all.samples[sample.index] == *sample), "{kind}");
        }
        let other = on(1, &params.with_seed(1));
        assert_ne!(all.samples, other.samples, "{kind}");
    }
}

/// A search in a ball begins with what all probed samples show, so that it depends on which they are, but not on threads nor on how many
/// rows the model is given at a time.
#[test]
fn a_search_in_a_ball_depends_on_the_seed_and_the_probed_samples_alone() {
    let params = params("l2:0.4").with_probes(40);
    let on = |threads: usize, params: &ProbeParams| {
        let work = || probe_model(&inputs(5000), linear, params, &Silent);
        with_threads(std::num::NonZeroUsize::new(threads), work).unwrap()
    };
    let all = on(1, &params);
    assert_eq!(all, on(3, &params));
    assert_ne!(all.samples, on(1, &params.with_seed(1)).samples);
}

/// What broke samples is found again, although a search in a ball begins with what all probed samples show.
#[test]
fn what_broke_samples_in_a_ball_is_found_again() {
    let (inputs, params) = (inputs(200), params("l2:0.5").with_samples(50).with_precision(Some(0.9)));
    let changed = probe_model(&inputs, linear, &params, &Silent).unwrap().changed(None).unwrap();
    let mut broken: Vec<usize> = changed.iter().map(|sample| sample.index).collect();
    broken.sort_unstable();
    assert!((5..45).contains(&broken.len()), "the case decides something: {}", broken.len());
    let variants = broken_variants(&inputs, &broken, linear, &params, &Silent).unwrap();
    assert_eq!(variants.iter().map(|variant| variant.index).collect::<Vec<_>>(), broken);
    for sample in &changed {
        let variant = variants.iter().find(|variant| variant.index == sample.index).unwrap();
        assert_eq!(variant.margin, sample.lowest, "a search ends with the copy that breaks its sample");
    }
}

/// No copy in a ball takes more than ε‖w‖₂ of a linear margin. The search comes within 2 % of that after 100 copies, and spends no more
/// copies than it may; signs, which are as long, take at most ε‖w‖₁/√d.
#[test]
fn a_search_in_a_ball_finds_the_gradient_of_a_linear_model() {
    let (largest, length) = norms();
    let radius = 0.5;
    let search = params("l2:0.5").with_probes(100);
    let mut rows_seen = 0;
    let counted = |rows: &Samples<'_>| {
        rows_seen += rows.len() as u64;
        linear(rows)
    };
    let searched = probe_model(&inputs(200), counted, &search, &Silent).unwrap();
    assert_eq!(rows_seen, searched.evaluations);
    assert!(searched.evaluations <= search.most_evaluations(200, DIM));
    for sample in &searched.samples[2..] {
        let taken = sample.margin - sample.lowest;
        assert!(taken <= radius * length * (1.0 + 1e-4), "{sample:?}");
        assert!(!sample.holds() || taken > 0.98 * radius * length, "{sample:?} of {}", radius * length);
    }
    assert!(0.98 * length > largest / (DIM as f64).sqrt(), "the case tells signs from directions");
    let expected = searched.samples[2..].iter().filter(|sample| sample.margin > radius * length).count();
    assert!((20..180).contains(&expected), "the case decides something: {expected}");
}

/// Where numbers are at the end of their range, a search in a ball leaves them there and spends the radius on the others.
#[test]
fn a_search_in_a_ball_stays_in_range_and_uses_its_radius() {
    // Half of the numbers are 0, and only less of them would help.
    let values: Vec<f32> = (0..60 * 16).map(|at| if at % 2 == 0 { 0.0 } else { 0.5 }).collect();
    let inputs = Samples::from_f32(60, 16, values).unwrap();
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        assert!(singles(rows).iter().all(|number| (0.0..=1.0).contains(number)));
        let outputs = singles(rows).chunks_exact(16).flat_map(|row| [row.iter().sum::<f32>(), 0.0]);
        Ok(Samples::from_f32(rows.len(), 2, outputs.collect::<Vec<f32>>())?)
    };
    let probed = probe_model(&inputs, model, &params("l2:0.4").with_probes(120), &Silent).unwrap();
    // The eight numbers that can fall share the radius: 0.4·√8 of 4 is taken.
    for sample in &probed.samples {
        let taken = sample.margin - sample.lowest;
        assert!((taken - 0.4 * 8.0_f64.sqrt()).abs() < 0.02, "{sample:?}");
    }
}

#[test]
fn what_cannot_be_probed_is_refused() {
    let inputs = inputs(10);
    let single =
        |rows: &Samples<'_>| Samples::from_f32(rows.len(), 1, vec![0.5; rows.len()]).map_err(Error::from);
    assert_eq!(
        probe_model(&inputs, single, &params("linf:0.1"), &Silent),
        Err(Error::NoMargin { outputs: 1 })
    );
    let short = |_: &Samples<'_>| Samples::from_f32(3, 2, vec![0.5; 6]).map_err(Error::from);
    let mismatch = Error::Core(CoreError::ShapeMismatch { input_rows: 10, output_rows: 3 });
    assert_eq!(probe_model(&inputs, short, &params("linf:0.1"), &Silent), Err(mismatch));
    let none = params("linf:0.1").with_probes(0);
    let error = probe_model(&inputs, linear, &none, &Silent).unwrap_err();
    assert!(matches!(error, Error::ProbeCount { name: "probes", got: 0, .. }), "{error}");
    let grid = Grid { channels: 3, height: 3, width: 3, order: ChannelOrder::First };
    let other = params("linf:0.1").with_grid(Some(grid));
    let error = probe_model(&inputs, linear, &other, &Silent).unwrap_err();
    assert_eq!(error, Error::ProbeGrid { channels: 3, height: 3, width: 3, dim: DIM });
}

#[test]
fn a_run_can_be_stopped() {
    struct Stopped;
    impl Monitor for Stopped {
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    assert_eq!(
        probe_model(&inputs(10), linear, &params("linf:0.1"), &Stopped),
        Err(Error::Core(CoreError::Cancelled))
    );
}

/// A model that counts the rows it is given.
fn counting<'a>(
    rows_seen: &'a mut usize,
    model: impl Fn(&Samples<'_>) -> Result<Samples<'static>, Error> + 'a,
) -> impl FnMut(&Samples<'_>) -> Result<Samples<'static>, Error> + 'a {
    move |rows| {
        *rows_seen += rows.len();
        model(rows)
    }
}

/// Probes that are stopped at any point and begun again give the same, and ask the model no more than they must.
#[test]
fn probes_that_were_interrupted_go_on_where_they_were() {
    // A batch and a bit.
    let (count, many) = (4500, inputs(4500));
    for (probe, probes) in [("linf:0.4", 6), ("l2:0.5", 4), ("linf:0.1:pixel", 4)] {
        let params = params(probe).with_probes(probes).with_samples(count);
        let mut all = 0;
        let whole = probe_model(&many, counting(&mut all, linear), &params, &Silent).unwrap();
        assert_eq!(all as u64, whole.evaluations);
        for stop in [1, 3, 7] {
            let mut memory = Memory::stopping_after(stop, 1);
            let mut asked = 0;
            let stopped = probe_model(&many, counting(&mut asked, linear), &params, &memory);
            assert_eq!(stopped.unwrap_err(), Error::Core(CoreError::Cancelled), "{probe} {stop}");
            memory = memory.next(None);
            let resumed = probe_model(&many, counting(&mut asked, linear), &params, &memory).unwrap();
            assert_eq!(resumed, whole, "{probe}, stopped after {stop}");
            // The first batch goes through the model again, and so may the round at which it was stopped.
            assert!(asked <= all + 2 * 4096, "{probe}, stopped after {stop}: {asked} of {all}");
            // All of it is there now.
            let mut again = 0;
            let known = probe_model(&many, counting(&mut again, linear), &params, &memory).unwrap();
            assert_eq!((known, again), (whole.clone(), 4096), "{probe}");
        }
    }
}

#[test]
fn answers_of_another_model_are_forgotten() {
    let inputs = inputs(300);
    let params = params("linf:0.4").with_probes(30);
    let memory = Memory::stopping_after(12, 1);
    assert!(probe_model(&inputs, linear, &params, &memory).is_err());
    let memory = memory.next(None);
    let other = |rows: &Samples<'_>| {
        let outputs = linear(rows)?;
        let halved: Vec<f64> = outputs.values().all_doubles().iter().map(|value| value / 2.0).collect();
        Samples::from_f64(rows.len(), 2, halved).map_err(Error::from)
    };
    let expected = probe_model(&inputs, other, &params, &Silent).unwrap();
    assert_eq!(probe_model(&inputs, other, &params, &memory).unwrap(), expected);
}

#[test]
fn variants_that_were_interrupted_go_on_where_they_were() {
    let many = inputs(3000);
    let away = |rows: &Samples<'_>, variant: usize, seed: u64| {
        let by = (variant % 7) as f32 * 0.2 + (seed % 100) as f32 * 0.01;
        let moved: Vec<f32> = singles(rows).iter().map(|x| x - by).collect();
        Samples::from_f32(rows.len(), rows.dim(), moved).map_err(Error::from)
    };
    let params = VariantParams::default().with_variants(40).with_samples(1000).with_precision(0.004);
    let whole = probe_variants(&many, linear, away, &params, &Silent).unwrap();
    assert!((11..40).contains(&whole.variants), "{}", whole.variants);
    assert!(whole.samples.iter().any(|sample| sample.first_flip.is_some_and(|first| first > 0)));
    for stop in [1, 5, 10] {
        let mut asked = 0;
        let memory = Memory::stopping_after(stop, 1);
        let stopped = probe_variants(&many, counting(&mut asked, linear), away, &params, &memory);
        assert_eq!(stopped.unwrap_err(), Error::Core(CoreError::Cancelled));
        let memory = memory.next(None);
        let resumed = probe_variants(&many, counting(&mut asked, linear), away, &params, &memory).unwrap();
        assert_eq!(resumed, whole, "stopped after {stop}");
        // The samples go through the model again, and so may the variant at which it was stopped.
        assert!(asked as u64 <= whole.evaluations + 2 * 1000, "stopped after {stop}: {asked}");
        // Another model does not go on from there.
        let memory = memory.next(None);
        let halved = |rows: &Samples<'_>| {
            let outputs = linear(rows)?;
            let values: Vec<f64> = outputs.values().all_doubles().iter().map(|value| value / 2.0).collect();
            Samples::from_f64(rows.len(), 2, values).map_err(Error::from)
        };
        let expected = probe_variants(&many, halved, away, &params, &Silent).unwrap();
        assert_eq!(probe_variants(&many, halved, away, &params, &memory).unwrap(), expected);
    }
}

#[test]
fn a_probed_regressor_goes_on_where_it_was() {
    let (count, many) = (5000, inputs(5000));
    let sum = |rows: &Samples<'_>| {
        let sums = singles(rows).chunks_exact(DIM).map(|row| row.iter().sum::<f32>());
        Samples::from_f32(rows.len(), 1, sums.collect::<Vec<_>>()).map_err(Error::from)
    };
    let unit = spread(&sum(&many).unwrap());
    let params = params("linf:0.1").with_probes(12).with_samples(count);
    let whole = probe_regressor(&many, unit, sum, &params, &Silent).unwrap();
    for stop in [1, 5, 14, 20] {
        let memory = Memory::stopping_after(stop, 1);
        assert!(probe_regressor(&many, unit, sum, &params, &memory).is_err());
        let memory = memory.next(None);
        assert_eq!(probe_regressor(&many, unit, sum, &params, &memory).unwrap(), whole, "{stop}");
    }
}

/// Samples first, then copy after copy, each at its radius from its sample, and none goes through the model twice.
#[test]
fn the_probed_manifold_is_samples_and_copies() {
    let inputs = inputs(30);
    let params = params("l2:0.5:pixel").with_probes(3);
    let mut runs = 0;
    let counted = |rows: &Samples<'_>| {
        runs += rows.len();
        linear(rows)
    };
    let (probed, manifold) = probed_manifold(&inputs, counted, &params, &Silent).unwrap();
    assert_eq!((runs, probed.evaluations), (120, 120));
    assert_eq!(probed, probe_model(&inputs, linear, &params, &Silent).unwrap());
    assert_eq!((manifold.len(), manifold.input().dim()), (120, DIM));
    let expected: Vec<f32> = match linear(manifold.input()).unwrap().values() {
        Values::F64(values) => values.iter().map(|&value| value as f32).collect(),
        _ => unreachable!("the model answers in double precision"),
    };
    assert_eq!(singles(manifold.output()), expected);
    let (all, own) = (singles(manifold.input()), singles(&inputs));
    assert_eq!(&all[..30 * DIM], own);
    for row in 2..120 {
        let (copy, sample) = (&all[row * DIM..(row + 1) * DIM], &own[row % 30 * DIM..(row % 30 + 1) * DIM]);
        let squares: f32 = copy.iter().zip(sample).map(|(a, b)| (a - b).powi(2)).sum();
        let expected = if row < 30 { 0.0 } else { 0.5 };
        // The two samples at the ends of the range are cut off.
        if row % 30 > 1 {
            assert!((squares.sqrt() - expected).abs() < 1e-4, "{row}: {squares}");
        }
    }
    let search: Probe = "linf:0.1".parse().unwrap();
    let error = probed_manifold(&inputs, linear, &ProbeParams::new(search), &Silent).unwrap_err();
    assert_eq!(error, Error::ProbedManifold);
}

#[test]
fn accuracy_counts_the_first_largest_output() {
    let outputs =
        Samples::from_f64(4, 3, vec![0.0, 2.0, 1.0, 5.0, 5.0, 1.0, -3.0, -2.0, -1.0, 0.0, 0.0, 0.0]).unwrap();
    assert_eq!(accuracy(&outputs, &[1, 0, 2, 0]).unwrap(), Some(1.0));
    assert_eq!(accuracy(&outputs, &[1, 1, 2, 0]).unwrap(), Some(0.75));
    assert_eq!(accuracy(&outputs, &[1, 1, 2, 3]).unwrap(), None);
    assert_eq!(accuracy(&outputs, &[-1, 1, 2, 1]).unwrap(), None);
    assert!(accuracy(&outputs, &[1]).is_err());
}

/// What is shown of a sample that breaks is the copy that broke it in the search: as far away as allowed, of another class, with
/// the margin that the search has found. A sample that holds has none.
#[test]
fn variants_are_the_copies_that_broke_their_samples() {
    let weights = [1.0_f32, -2.0, 0.5, 1.5];
    let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
        let Values::F32(values) = rows.values() else { panic!("probes are single precision") };
        let lead = |row: &[f32]| row.iter().zip(weights).map(|(x, w)| x * w).sum::<f32>();
        let outputs = values.chunks_exact(4).flat_map(|row| [lead(row), -lead(row)]).collect::<Vec<_>>();
        Ok(Samples::from_f32(rows.len(), 2, outputs)?)
    };
    let rows = vec![0.49, 0.2, 0.1, 0.1, 0.9, 0.0, 0.9, 0.9, 0.1, 0.4, 0.2, 0.2];
    let inputs = Samples::from_f32(3, 4, rows.clone()).unwrap();
    let params = ProbeParams::new("linf:0.1".parse().unwrap());
    let probed = probe_model::<Error, _>(&inputs, model, &params, &Silent).unwrap();
    let variants = broken_variants::<Error, _>(&inputs, &[2, 0, 1, 2, 9], model, &params, &Silent).unwrap();
    let broken: Vec<usize> = probed.samples.iter().filter(|s| !s.holds()).map(|s| s.index).collect();
    assert_eq!(variants.iter().map(|variant| variant.index).collect::<Vec<_>>(), broken);
    assert!(!broken.is_empty() && broken.len() < 3, "{broken:?}");
    for variant in &variants {
        let sample = &probed.samples[variant.index];
        assert_eq!(variant.margin, sample.lowest);
        assert_ne!(variant.class, sample.class);
        let original = &rows[4 * variant.index..4 * variant.index + 4];
        assert!(variant.row.iter().zip(original).all(|(a, b)| (a - b).abs() <= 0.1 + 1e-6));
    }
    assert!(broken_variants::<Error, _>(&inputs, &[], model, &params, &Silent).unwrap().is_empty());
}

/// A model that returns more or fewer outputs later on would be read beyond its end, or half.
#[test]
fn a_model_keeps_its_number_of_outputs() {
    for (later, probe) in [(2, "linf:0.1"), (4, "linf:0.1"), (2, "linf:0.1:pixel"), (4, "linf:0.1:pixel")] {
        let mut calls = 0;
        let fickle = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
            calls += 1;
            let columns = if calls > 3 { later } else { 3 };
            let outputs: Vec<f64> = (0..rows.len() * columns).map(|at| (at % columns) as f64).collect();
            Ok(Samples::from_f64(rows.len(), columns, outputs)?)
        };
        let error = probe_model(&inputs(20), fickle, &params(probe), &Silent).unwrap_err();
        assert_eq!(error, Error::OutputWidth { batch: 3, expected: 3, got: later }, "{probe}");
    }
}
