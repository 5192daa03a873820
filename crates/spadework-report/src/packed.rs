//! Long columns of numbers as text: little-endian bytes in Base64, which a page decodes into typed arrays.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// In full precision: a reader saves them as the command would write them.
pub(crate) fn f64s(values: &[f64]) -> String {
    STANDARD.encode(values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

pub(crate) fn u16s(values: &[u16]) -> String {
    STANDARD.encode(values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

/// Points of the plane, each axis from its least to its largest value in 65,536 steps: finer than any screen.
pub(crate) fn points(points: &[[f64; 2]]) -> String {
    let steps = [0, 1].map(|axis| {
        let (low, high) = points
            .iter()
            .map(|point| point[axis])
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let span = if high > low { high - low } else { 1.0 };
        move |value: f64| ((value - low) / span * 65535.0).round() as u16
    });
    let packed: Vec<u16> = points.iter().flat_map(|&[x, y]| [(steps[0])(x), (steps[1])(y)]).collect();
    u16s(&packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_little_endian() {
        assert_eq!(STANDARD.decode(f64s(&[1.0])).unwrap(), [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        assert_eq!(STANDARD.decode(u16s(&[258])).unwrap(), [2, 1]);
    }

    #[test]
    fn points_fill_their_range() {
        let bytes = STANDARD.decode(points(&[[-1.0, 5.0], [1.0, 5.0], [0.0, 5.0]])).unwrap();
        let steps: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        assert_eq!(steps, [0, 0, 65535, 0, 32768, 0]);
    }
}
