//! Powers of two: multiplying a number by one changes its exponent and none of its digits.
//!
//! Squares and products of numbers near 10^±200 leave the range of double precision. Code that needs them first brings the largest
//! number near 1, and undoes the power of two at the end. Ordinary numbers are not changed.

/// Numbers between 2⁻ᴼ and 2ᴼ are ordinary: their squares, and products of three of them, stay in range.
const ORDINARY: i32 = 300;
/// Most that one multiplication by a power of two can do.
const STEP: i32 = 1000;

/// value · 2^exponent, exact unless the result leaves the range.
pub(crate) fn scaled(mut value: f64, mut exponent: i32) -> f64 {
    while exponent != 0 {
        let step = exponent.clamp(-STEP, STEP);
        value *= power_of_two(step);
        exponent -= step;
    }
    value
}

/// The exponent of the largest even power of two that is at most `value`, a positive finite number. Even, so that the square root
/// of the power is one too.
pub(crate) fn even_exponent(value: f64) -> i32 {
    let exponent = exponent_of(value);
    exponent - exponent.rem_euclid(2)
}

/// The power of two that brings numbers up to `largest` near 1; 0 if they are ordinary.
pub(crate) fn exponent_to_one(largest: f64) -> i32 {
    let exponent = even_exponent(largest);
    if exponent.abs() <= ORDINARY { 0 } else { -exponent }
}

/// The exponent of the largest power of two that is at most `value`. From its bits: the logarithm of numbers just below a power is
/// rounded up to it.
fn exponent_of(value: f64) -> i32 {
    /// Brings subnormal numbers, whose exponent does not stand in their bits, into the normal range.
    const LIFT: i32 = 54;
    let bits = |value: f64| ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    if value < f64::MIN_POSITIVE { bits(value * power_of_two(LIFT)) - LIFT } else { bits(value) }
}

fn power_of_two(exponent: i32) -> f64 {
    debug_assert!(exponent.abs() <= STEP);
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact_both_ways() {
        assert_eq!(scaled(3.0, -2), 0.75);
        let value = 1.234_567_890_123e-200;
        assert_eq!(scaled(scaled(value, 1500), -1500), value);
        assert_eq!(scaled(1.0, 1100), f64::INFINITY);
        assert_eq!(scaled(1.0, -1100), 0.0);
        // The smallest number there is comes into range without a loss.
        assert_eq!(scaled(f64::from_bits(1), 1074), 1.0);
    }

    #[test]
    fn only_numbers_far_from_one_are_scaled() {
        for ordinary in [1.0, 1e-80, 1e80, 255.0] {
            assert_eq!(exponent_to_one(ordinary), 0);
        }
        for extreme in [1e200, 1e-200, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1)] {
            let exponent = exponent_to_one(extreme);
            assert_eq!(exponent % 2, 0);
            assert!((1.0..=8.0).contains(&scaled(extreme, exponent)), "{extreme:e}");
        }
    }
}
