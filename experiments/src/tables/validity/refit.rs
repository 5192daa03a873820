//! The estimate of robust accuracy with weights that were fitted to other sources.
//!
//! The odds that a survivor of a search resists are w₀ + w₁ · taken + w₂ · late, where the last two are what search and pilots have shown.
//! The weights in the library were fitted to all sources. Here they are fitted again without the networks of each source, whose
//! estimates then say how well the rule does on networks that had no part in it: least squares of the accuracies, by Levenberg and
//! Marquardt.

use std::collections::BTreeSet;

/// The steps of a fit, at most.
const STEPS: usize = 300;
/// A fit ends where a step gains less than this part.
const GAIN: f64 = 1e-10;
/// Where fits begin: a sample whose whole margin is taken may go either way.
const START: [f64; 3] = [0.0, -10.0, -10.0];

/// A network under attacks of one size.
#[derive(Debug, Clone)]
pub(super) struct Searched {
    pub(super) source: String,
    /// The share that attacks leave.
    pub(super) truth: f64,
    /// Images that were searched.
    pub(super) images: usize,
    /// What was shown of every right image that survived.
    pub(super) shown: Vec<[f64; 2]>,
}

impl Searched {
    /// The share of images that is expected to resist, and how it changes with each weight.
    fn estimate(&self, weights: [f64; 3]) -> (f64, [f64; 3]) {
        let (mut sum, mut slopes) = (0.0, [0.0; 3]);
        for &[taken, late] in &self.shown {
            let numbers = [1.0, taken, late];
            let odds: f64 = weights.iter().zip(numbers).map(|(weight, number)| weight * number).sum();
            let chance = 1.0 / (1.0 + (-odds).exp());
            sum += chance;
            for (slope, number) in slopes.iter_mut().zip(numbers) {
                *slope += chance * (1.0 - chance) * number;
            }
        }
        let share = |part: f64| part / self.images as f64;
        (share(sum), slopes.map(share))
    }
}

/// The error of every case, in shares, with weights that were fitted to the other sources; `None` where there is a single source.
pub(super) fn errors_left_out(cases: &[Searched]) -> Option<Vec<f64>> {
    let sources: BTreeSet<&str> = cases.iter().map(|case| case.source.as_str()).collect();
    if sources.len() < 2 {
        return None;
    }
    let mut errors = vec![0.0; cases.len()];
    for source in sources {
        let others: Vec<&Searched> = cases.iter().filter(|case| case.source != source).collect();
        let weights = fitted(&others);
        for (error, case) in errors.iter_mut().zip(cases).filter(|(_, case)| case.source == source) {
            *error = case.estimate(weights).0 - case.truth;
        }
    }
    Some(errors)
}

/// The weights of the least squares.
fn fitted(cases: &[&Searched]) -> [f64; 3] {
    let squares =
        |weights| cases.iter().map(|case| (case.estimate(weights).0 - case.truth).powi(2)).sum::<f64>();
    let (mut weights, mut damping) = (START, 1e-3);
    let mut least = squares(weights);
    for _ in 0..STEPS {
        let (mut normal, mut gradient) = ([[0.0; 3]; 3], [0.0; 3]);
        for case in cases {
            let (estimate, slopes) = case.estimate(weights);
            for (row, slope) in slopes.iter().enumerate() {
                gradient[row] += slope * (estimate - case.truth);
                for (cell, other) in normal[row].iter_mut().zip(slopes) {
                    *cell += slope * other;
                }
            }
        }
        // Weights that no case tells apart must not make the equations singular.
        for (at, row) in normal.iter_mut().enumerate() {
            row[at] += damping * row[at] + 1e-12;
        }
        let step = solved(normal, gradient);
        let next = [0, 1, 2].map(|at| weights[at] - step[at]);
        let found = squares(next);
        if found < least {
            let gain = least - found;
            (weights, least, damping) = (next, found, damping / 3.0);
            if gain <= GAIN * least {
                break;
            }
        } else if damping > 1e12 {
            break;
        } else {
            damping *= 4.0;
        }
    }
    weights
}

/// The solution of three equations, by Cramer's rule.
fn solved(matrix: [[f64; 3]; 3], right: [f64; 3]) -> [f64; 3] {
    let whole = determinant(matrix);
    [0, 1, 2].map(|column| {
        let mut replaced = matrix;
        for (row, value) in replaced.iter_mut().zip(right) {
            row[column] = value;
        }
        determinant(replaced) / whole
    })
}

fn determinant([[a, b, c], [d, e, f], [g, h, i]]: [[f64; 3]; 3]) -> f64 {
    a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Networks that follow known weights, by numbers without a pattern.
    fn cases(weights: [f64; 3], sources: &[&str]) -> Vec<Searched> {
        let searched = |(at, source): (usize, &&str)| {
            let number = |image: usize| ((7 * at + 13 * image) % 23) as f64 / 23.0;
            let late = (at % 5) as f64 / 50.0;
            let shown = (0..20).map(|image| [0.4 * (number(image) - 0.7), late]).collect();
            let mut case = Searched { source: (*source).to_owned(), truth: 0.0, images: 25, shown };
            case.truth = case.estimate(weights).0;
            case
        };
        sources.iter().enumerate().map(searched).collect()
    }

    #[test]
    fn a_fit_finds_the_weights_that_made_the_truth() {
        let weights = [-0.5, -19.5, -47.0];
        let cases = cases(weights, &["a"; 12]);
        let found = fitted(&cases.iter().collect::<Vec<_>>());
        for (found, expected) in found.iter().zip(weights) {
            assert!((found - expected).abs() < 1e-3 * expected.abs(), "{found} for {expected}");
        }
    }

    /// Networks of `odd` follow other weights. They must not teach the weights that they are judged by.
    #[test]
    fn a_source_is_judged_by_the_others() {
        let mut all = cases([-0.5, -19.5, -47.0], &["a", "b", "a", "b", "a", "b", "a", "b", "a", "b"]);
        all.extend(cases([3.0, -19.5, -47.0], &["odd"; 5]));
        let errors = errors_left_out(&all).unwrap();
        let expected = |case: &Searched| case.estimate([-0.5, -19.5, -47.0]).0 - case.truth;
        for (error, case) in errors.iter().zip(&all).skip(10) {
            assert!((error - expected(case)).abs() < 1e-4 && *error < -0.02, "{error}");
        }
        assert_eq!(errors_left_out(&all[10..]), None);
    }

    #[test]
    fn equations_are_solved() {
        let matrix = [[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [2.0, 0.0, 3.0]];
        let found = solved(matrix, [7.0, 3.0, 11.0]);
        assert!(found.iter().zip([1.0, 2.0, 3.0]).all(|(found, expected)| (found - expected).abs() < 1e-12));
    }
}
