//! The one distance that decides: every search settles its winners with it, so that all agree to the last bit.

/// A number that samples are made of.
pub(crate) trait Element: Copy + Send + Sync + PartialOrd + 'static {
    /// The same number in double precision; exact.
    fn to_f64(self) -> f64;
}

impl Element for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Element for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

/// Independent partial sums: enough for a vector unit, and part of the definition, since it fixes the order of
/// summation and with it the last bits.
const LANES: usize = 8;

/// ‖a − b‖² in double precision.
///
/// Differences, squares and sums are rounded one by one in a fixed order (no fused multiply-add), so the value does not
/// depend on the machine.
#[inline]
pub(crate) fn squared_distance<T: Element>(a: &[T], b: &[T]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let mut lanes = [0.0_f64; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            let difference = a[lane].to_f64() - b[lane].to_f64();
            lanes[lane] += difference * difference;
        }
    }
    for (lane, (&a, &b)) in rest.enumerate() {
        let difference = a.to_f64() - b.to_f64();
        lanes[lane] += difference * difference;
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = lanes;
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact() {
        let a: Vec<f32> = (0..37).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..37).map(|i| (i * i % 11) as f32).collect();
        let exact: i64 = (0..37_i64).map(|i| (i - i * i % 11).pow(2)).sum();
        assert_eq!(squared_distance(&a, &b), exact as f64);
    }

    #[test]
    fn both_directions_agree_to_the_bit() {
        let a: Vec<f64> = (0..19).map(|i| f64::from(i).sin()).collect();
        let b: Vec<f64> = (0..19).map(|i| f64::from(i).cos()).collect();
        assert_eq!(squared_distance(&a, &b).to_bits(), squared_distance(&b, &a).to_bits());
    }
}
