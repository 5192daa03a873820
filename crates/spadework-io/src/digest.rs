//! Digests of arrays, graphs and files, by which a result recognizes what it was made from.
//!
//! The text of a digest is the name of its method, a colon, and 32 hexadecimal digits: the first 128 bits of BLAKE3
//! (docs/decisions/021-crates.md).

use blake3::Hasher;
use spadework::samples::Values;
use spadework::{Graph, Samples};

/// The method, as the text of a digest names it.
const METHOD: &str = "blake3";
/// Bytes of a digest that are kept.
const KEPT: usize = 16;
/// Numbers that are converted at a time, 16 KiB of them: the method takes as many blocks at once.
const CHUNK: usize = 2048;

/// A digest of the shape and the numbers of samples.
///
/// The hash covers the number of samples and the numbers per sample as 64-bit integers, then every number in double
/// precision, all with the lowest byte first. So the same array in another precision or file format has the same digest.
pub fn digest(samples: &Samples<'_>) -> String {
    let mut hasher = Hasher::new();
    for extent in [samples.len(), samples.dim()] {
        hasher.update(&(extent as u64).to_le_bytes());
    }
    match samples.values() {
        Values::F32(values) => update(&mut hasher, values, |value| f64::from(value).to_le_bytes()),
        Values::F64(values) => update(&mut hasher, values, f64::to_le_bytes),
        Values::U8(values) => update(&mut hasher, values, {
            let numbers = pixel_numbers();
            move |byte| numbers[usize::from(byte)]
        }),
        others => {
            for first in (0..others.len()).step_by(CHUNK) {
                let numbers = others.doubles(first..others.len().min(first + CHUNK));
                update(&mut hasher, &numbers, f64::to_le_bytes);
            }
        }
    }
    text(&hasher)
}

/// A digest of a graph: the number of nodes, then the two ends of each edge and its weight, as in [`digest`].
pub fn graph_digest(graph: &Graph) -> String {
    let mut hasher = Hasher::new();
    hasher.update(&(graph.nodes() as u64).to_le_bytes());
    let edges: Vec<[u64; 3]> =
        graph.edges().map(|(p, q, weight)| [u64::from(p), u64::from(q), weight.to_bits()]).collect();
    update(&mut hasher, edges.as_flattened(), u64::to_le_bytes);
    text(&hasher)
}

/// A digest of the bytes of a file; `b3sum --length 16` prints the same digits.
pub fn digest_bytes(bytes: &[u8]) -> String {
    text(Hasher::new().update(bytes))
}

/// A digest of bytes that come in pieces: `feed` passes each piece to the function that it gets.
pub fn digest_pieces(feed: impl FnOnce(&mut dyn FnMut(&[u8]))) -> String {
    let mut hasher = Hasher::new();
    feed(&mut |bytes| {
        hasher.update(bytes);
    });
    text(&hasher)
}

/// Whether a text is a digest of this version.
pub fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(method, _)| method == METHOD)
}

/// The message for a digest that another method made and that therefore cannot be compared; `None` if it can be
/// compared.
pub fn outdated_digest(kept: &str) -> Option<String> {
    let (method, digits) = kept.split_once(':')?;
    let is_outdated =
        method != METHOD && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_outdated.then(|| {
        format!("the digest is of another version ({method}; this version compares {METHOD} digests)")
    })
}

fn update<T: Copy>(hasher: &mut Hasher, values: &[T], bytes: impl Fn(T) -> [u8; 8]) {
    let mut buffer = [[0; 8]; CHUNK];
    for chunk in values.chunks(CHUNK) {
        for (into, &value) in buffer.iter_mut().zip(chunk) {
            *into = bytes(value);
        }
        hasher.update(buffer[..chunk.len()].as_flattened());
    }
}

/// What every byte stands for, in the bytes that are hashed.
fn pixel_numbers() -> Box<[[u8; 8]]> {
    (0..=u8::MAX).map(|byte| f64::from(f32::from(byte) / 255.0).to_le_bytes()).collect()
}

fn text(hasher: &Hasher) -> String {
    let digits: String =
        hasher.finalize().as_bytes()[..KEPT].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{METHOD}:{digits}")
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
    fn the_same_numbers_have_the_same_digest_in_either_precision() {
        let single: Vec<f32> = vec![0.1, -0.0, 2.5, 1e-30, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 0.25];
        let double: Vec<f64> = single.iter().map(|&value| f64::from(value)).collect();
        assert_eq!(digest(&Samples::from_f64(4, 3, double).unwrap()), of(4, &single));
    }

    #[test]
    fn pixels_have_the_digest_of_the_numbers_they_stand_for() {
        let bytes: Vec<u8> = (0..5000_u32).map(|at| (at * at % 256) as u8).collect();
        let numbers: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
        assert_eq!(digest(&Samples::from_u8(50, 100, bytes).unwrap()), of(50, &numbers));
        let whole: Vec<i16> = (0..5000).map(|at| at - 2500).collect();
        let numbers: Vec<f32> = whole.iter().map(|&number| f32::from(number)).collect();
        let samples = Samples::new(50, 100, Values::I16(whole.into())).unwrap();
        assert_eq!(digest(&samples), of(50, &numbers));
    }

    /// By the Python package `blake3`: `blake3(np.array(x.shape, "<u8").tobytes() + x.astype("<f8").tobytes())` and so on.
    #[test]
    fn digests_are_those_of_another_program() {
        assert_eq!(of(2, &[1.0, 2.0, 3.0, 4.0]), "blake3:9e047acaeed9e52ec6f8fa97d8c5586f");
        // More than one chunk.
        let values: Vec<f32> = (0..10_000_u16).map(f32::from).collect();
        assert_eq!(of(100, &values), "blake3:c6d3cb0fa894a85cb11fc2db6e8d7ff4");
        let path = Graph::from_edges(3, &[(0, 1), (1, 2)]).unwrap();
        assert_eq!(graph_digest(&path), "blake3:d937bd94ac2f87e65a9e68dfbba15835");
        assert_eq!(
            digest_pieces(|take| [b"a", b"b", b"c"].iter().for_each(|piece| take(*piece))),
            digest_bytes(b"abc")
        );
        assert_eq!(digest_bytes(b"abc"), "blake3:6437b3ac38465133ffb63b75273a8db5");
    }

    #[test]
    fn a_digest_of_another_version_is_not_compared() {
        assert_eq!(outdated_digest(&digest_bytes(b"abc")), None);
        let said = "the digest is of another version (fnv64x8; this version compares blake3 digests)";
        assert_eq!(outdated_digest("fnv64x8:5041ea11e9b91555").as_deref(), Some(said));
        assert_eq!(outdated_digest("nothing"), None);
    }
}
