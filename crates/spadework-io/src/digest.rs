//! A fingerprint of an array, to tell it again.

use spadework::samples::Values;
use spadework::{Graph, Samples};

/// FNV-1a's offset and prime, for words of 64 bits.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;
/// Words are dealt out to this many sums, so that one multiplication need not wait for the other.
const LANES: usize = 8;

/// A digest of the shape and the numbers of samples, 16 hexadecimal digits behind the name of the method.
///
/// Every number is taken in double precision, so the same array in another precision or file format has the same digest.
/// It finds mix-ups, not forgeries.
pub fn digest(samples: &Samples<'_>) -> String {
    let shape = [samples.len() as u64, samples.dim() as u64];
    let sum = match samples.values() {
        Values::F32(values) => words(shape, values, |value| f64::from(value).to_bits()),
        Values::F64(values) => words(shape, values, f64::to_bits),
    };
    format!("fnv64x8:{sum:016x}")
}

/// A digest of the edges of a graph and their weights, in the manner of [`digest`].
pub fn graph_digest(graph: &Graph) -> String {
    let edges =
        graph.edges().flat_map(|(p, q, weight)| [u64::from(p) << 32 | u64::from(q), weight.to_bits()]);
    let sum = std::iter::once(graph.nodes() as u64).chain(edges).fold(OFFSET, mixed);
    format!("fnv64:{sum:016x}")
}

/// The same of the bytes of a file, eight to a word; its length stands for the shape.
pub fn digest_bytes(bytes: &[u8]) -> String {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let word = |chunk: [u8; 8]| u64::from_le_bytes(chunk);
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let shape = [bytes.len() as u64, word(last)];
    format!("fnv64x8:{:016x}", words(shape, chunks, word))
}

fn words<T: Copy>(shape: [u64; 2], values: &[T], bits: impl Fn(T) -> u64) -> u64 {
    let mut lanes = [OFFSET; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = mixed(*lane, bits(value));
        }
    }
    let ends = rest.iter().map(|&value| bits(value));
    shape.into_iter().chain(lanes).chain(ends).fold(OFFSET, mixed)
}

/// One step. The high half goes into the low one, since a product carries only upwards.
fn mixed(sum: u64, word: u64) -> u64 {
    let product = (sum ^ word).wrapping_mul(PRIME);
    product ^ (product >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(len: usize, values: &[f32]) -> String {
        digest(&Samples::from_f32(len, values.len() / len, values).unwrap())
    }

    #[test]
    fn every_number_and_the_shape_count() {
        let values: Vec<f32> = (0..30_u8).map(f32::from).collect();
        let whole = of(6, &values);
        assert_ne!(of(5, &values), whole);
        assert_ne!(of(10, &values), whole);
        for at in 0..values.len() {
            let mut other = values.clone();
            other[at] += 0.5;
            assert_ne!(of(6, &other), whole, "number {at}");
            other.copy_from_slice(&values);
            other.swap(at, (at + 8) % 30);
            assert_ne!(of(6, &other), whole, "numbers {at} and eight on swapped");
        }
    }

    #[test]
    fn every_edge_and_weight_counts() {
        let path = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
        let others = [
            Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3)]).unwrap(),
            Graph::from_edges(4, &[(0, 1), (1, 3), (2, 3)]).unwrap(),
            Graph::from_weighted_edges(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 2.0)]).unwrap(),
        ];
        assert!(others.iter().all(|other| graph_digest(other) != graph_digest(&path)));
        let same = Graph::from_weighted_edges(4, &[(3, 2, 1.0), (0, 1, 1.0), (2, 1, 1.0)]).unwrap();
        assert_eq!(graph_digest(&same), graph_digest(&path));
    }

    #[test]
    fn precision_does_not_count() {
        let single: Vec<f32> = (0..12_u8).map(|i| f32::from(i) / 7.0).collect();
        let double: Vec<f64> = single.iter().map(|&value| f64::from(value)).collect();
        assert_eq!(digest(&Samples::from_f64(4, 3, double).unwrap()), of(4, &single));
    }

    /// A digest that is kept in files must stay what it is. The value is by a few lines of Python.
    #[test]
    fn stays_what_it_is() {
        assert_eq!(of(2, &[1.0, 2.0, 3.0, 4.0]), "fnv64x8:5041ea11e9b91555");
    }
}
