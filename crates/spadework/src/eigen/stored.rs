//! Eigenpairs that were stored in a file or found by another program.

use super::{EigenInfo, GeneralizedEigenpairs};
use crate::error::{Error, Result};
use crate::graph::GraphPair;
use crate::laplacian::Laplacian;

/// How far stored pairs may be off what they must be: scores are asked for to six digits, and the pairs of any solver that
/// converged to that are much nearer.
const TOLERANCE: f64 = 1e-6;

/// Eigenpairs as read from a file, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEigenpairs {
    /// λ_1 ≥ … ≥ λ_r.
    pub values: Vec<f64>,
    /// v_1, …, v_r, each of length n.
    pub vectors: Vec<Vec<f64>>,
    /// Relative residuals, as they were measured when the pairs were found.
    pub residuals: Vec<f64>,
    /// How they were found.
    pub info: EigenInfo,
}

impl GeneralizedEigenpairs {
    /// Restores eigenpairs of these graphs that were found earlier. They are checked and then used unchanged, bit by bit.
    ///
    /// The residuals are not checked: computing an [`Enclosure`](super::Enclosure) of λ_1 shows whether
    /// they are right.
    ///
    /// # Errors
    /// [`Error::NoEigenpairs`]; [`Error::StoredShape`] if numbers are missing; [`Error::StoredEigenpair`] if a value is not
    /// the Rayleigh quotient of its vector, the vectors are not L_Y-orthonormal with mean zero, or the order is wrong.
    pub fn restore(graphs: &GraphPair, stored: StoredEigenpairs) -> Result<Self> {
        let StoredEigenpairs { values, vectors, residuals, info } = stored;
        if values.is_empty() {
            return Err(Error::NoEigenpairs);
        }
        check_shape("vectors", values.len(), vectors.len())?;
        check_shape("residuals", values.len(), residuals.len())?;
        for vector in &vectors {
            check_shape("entries of a vector", graphs.nodes(), vector.len())?;
        }
        let (input, output) = (Laplacian::of(graphs.input()), Laplacian::of(graphs.output()));
        for (pair, (&value, vector)) in values.iter().zip(&vectors).enumerate() {
            let check = |what: &'static str, expected: f64, got: f64, scale: f64| {
                // NaN is near nothing.
                if (expected - got).abs() <= TOLERANCE * scale {
                    return Ok(());
                }
                Err(Error::StoredEigenpair { pair, what, expected, got })
            };
            let largest = vector.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
            check("the mean of its vector", 0.0, mean(vector), largest)?;
            check("its Rayleigh quotient", value, input.quadratic_form(vector), value)?;
            let product = output.apply(vector);
            for (other, earlier) in vectors[..=pair].iter().enumerate() {
                let expected = if other == pair { 1.0 } else { 0.0 };
                check("a product v_iᵀL_Yv_j of its vector", expected, dot(earlier, &product), 1.0)?;
            }
            if pair > 0 && value > values[pair - 1] {
                return Err(Error::StoredEigenpair {
                    pair,
                    what: "its value, at most that of the pair before,",
                    expected: values[pair - 1],
                    got: value,
                });
            }
        }
        Ok(Self { values, vectors, residuals, info, guards: Vec::new() })
    }
}

fn check_shape(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::StoredShape { what, expected, got }) }
}

fn mean(vector: &[f64]) -> f64 {
    vector.iter().sum::<f64>() / vector.len() as f64
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eigen::{EigenParams, dominant_eigenpairs};
    use crate::graph::{ConnectedGraph, generators};

    fn ring_and_line() -> (GraphPair, StoredEigenpairs) {
        let output = ConnectedGraph::new(generators::path(20)).unwrap();
        let graphs = GraphPair::new(generators::cycle(20), output).unwrap();
        let pairs = dominant_eigenpairs(&graphs, &EigenParams::default()).unwrap();
        let GeneralizedEigenpairs { values, vectors, residuals, info, .. } = pairs;
        (graphs, StoredEigenpairs { values, vectors, residuals, info })
    }

    #[test]
    fn pairs_come_back_as_they_were() {
        let (graphs, stored) = ring_and_line();
        let pairs = GeneralizedEigenpairs::restore(&graphs, stored.clone()).unwrap();
        assert_eq!((pairs.values(), pairs.vectors()), (&stored.values[..], &stored.vectors[..]));
    }

    #[test]
    fn what_is_no_eigenpair_is_refused() {
        let (graphs, stored) = ring_and_line();
        let refused = |change: fn(&mut StoredEigenpairs)| {
            let mut stored = stored.clone();
            change(&mut stored);
            GeneralizedEigenpairs::restore(&graphs, stored).unwrap_err().to_string()
        };
        let message = refused(|stored| stored.values[0] *= 1.0 + 1e-5);
        assert!(message.starts_with("eigenpair 1: its Rayleigh quotient must be 20.0002"), "{message}");
        assert!(refused(|stored| stored.values[0] = f64::NAN).contains("Rayleigh"));
        assert!(refused(|stored| stored.vectors[0].iter_mut().for_each(|v| *v += 1.0)).contains("mean"));
        let doubled = refused(|stored| stored.vectors[1] = stored.vectors[0].clone());
        assert!(doubled.contains("must be"), "{doubled}");
        let shape = "there must be 20 entries of a vector, got 19";
        assert_eq!(refused(|stored| stored.vectors[1].truncate(19)), shape);
        assert!(refused(|stored| stored.residuals.clear()).contains("2 residuals, got 0"));
        let reversed = refused(|stored| {
            stored.values.reverse();
            stored.vectors.reverse();
        });
        assert!(reversed.contains("at most that of the pair before"), "{reversed}");
    }
}
