//! Sixteen sums of 32 bits at once, for each instruction set.
//!
//! Compilers do not use the instruction that multiplies pairs of 16-bit numbers and adds the two products, which does twice
//! the work of one in single precision. So it is called explicitly here, with plain Rust for other machines.

use pulp::{Scalar, Simd};

use crate::kernels::arch;

/// Numbers of 32 bits handled together.
pub(super) const LANES: usize = 16;

/// A way of handling sixteen numbers of 32 bits, or as many pairs of 16 bits.
pub(crate) trait Lanes: Simd {
    /// Sixteen numbers.
    type Numbers: Copy;

    /// Whether registers hold sixteen such and some more.
    const MANY_REGISTERS: bool;

    fn splat(self, number: i32) -> Self::Numbers;
    fn load(self, numbers: &[i32; LANES]) -> Self::Numbers;
    fn load_pairs(self, numbers: &[i16; 2 * LANES]) -> Self::Numbers;
    fn store(self, numbers: Self::Numbers) -> [i32; LANES];
    fn add(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;
    fn sub(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;
    fn min(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;
    fn max(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;
    /// The sum of all lanes.
    fn total(self, numbers: Self::Numbers) -> i32;
    /// A bit for every lane in which a ≥ b.
    fn at_least(self, a: Self::Numbers, b: Self::Numbers) -> u16;
    /// sums + a₀b₀ + a₁b₁ in every lane, its low and high 16 bits being two numbers.
    fn add_pair_products(self, sums: Self::Numbers, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;
    /// sums + Σ (a − b)², where each lane takes four of the squares. Which four depends on the instruction set; the total does not.
    fn add_byte_squares(self, sums: Self::Numbers, a: &Bytes, b: &Bytes) -> Self::Numbers;
}

/// As many bytes as [`LANES`] numbers take.
pub(super) type Bytes = [u8; 4 * LANES];

/// A task for the instruction set in use.
///
/// Its `run` must be `#[inline(always)]`, and so must what it calls.
pub(super) trait LanesTask {
    type Output;

    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Runs a task on the instruction set in use.
pub(super) fn dispatch<T: LanesTask>(task: T) -> T::Output {
    match arch() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(set) => set.vectorize(x86::On(set, task)),
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(set) => set.vectorize(x86::On(set, task)),
        _ => task.run(Scalar),
    }
}

/// Plain Rust.
impl Lanes for Scalar {
    type Numbers = [i32; LANES];

    const MANY_REGISTERS: bool = false;

    #[inline(always)]
    fn splat(self, number: i32) -> [i32; LANES] {
        [number; LANES]
    }

    #[inline(always)]
    fn load(self, numbers: &[i32; LANES]) -> [i32; LANES] {
        *numbers
    }

    #[inline(always)]
    fn load_pairs(self, numbers: &[i16; 2 * LANES]) -> [i32; LANES] {
        std::array::from_fn(|lane| pair(numbers[2 * lane], numbers[2 * lane + 1]))
    }

    #[inline(always)]
    fn store(self, numbers: [i32; LANES]) -> [i32; LANES] {
        numbers
    }

    #[inline(always)]
    fn add(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        std::array::from_fn(|lane| a[lane].wrapping_add(b[lane]))
    }

    #[inline(always)]
    fn sub(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        std::array::from_fn(|lane| a[lane].wrapping_sub(b[lane]))
    }

    #[inline(always)]
    fn total(self, numbers: [i32; LANES]) -> i32 {
        numbers.into_iter().fold(0, i32::wrapping_add)
    }

    #[inline(always)]
    fn min(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        std::array::from_fn(|lane| a[lane].min(b[lane]))
    }

    #[inline(always)]
    fn max(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        std::array::from_fn(|lane| a[lane].max(b[lane]))
    }

    #[inline(always)]
    fn at_least(self, a: [i32; LANES], b: [i32; LANES]) -> u16 {
        (0..LANES).fold(0, |mask, lane| mask | u16::from(a[lane] >= b[lane]) << lane)
    }

    #[inline(always)]
    fn add_pair_products(self, sums: [i32; LANES], a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        let (low, high) = (|pair: i32| i32::from(pair as i16), |pair: i32| pair >> 16);
        std::array::from_fn(|lane| {
            let products = (low(a[lane]) * low(b[lane])).wrapping_add(high(a[lane]) * high(b[lane]));
            sums[lane].wrapping_add(products)
        })
    }

    #[inline(always)]
    fn add_byte_squares(self, sums: [i32; LANES], a: &Bytes, b: &Bytes) -> [i32; LANES] {
        std::array::from_fn(|lane| {
            let square = |at: usize| i32::from(a[at].abs_diff(b[at])).pow(2);
            (4 * lane..4 * lane + 4).fold(sums[lane], |sum, at| sum.wrapping_add(square(at)))
        })
    }
}

/// Two numbers of 16 bits in one of 32.
#[inline(always)]
pub(super) fn pair(low: i16, high: i16) -> i32 {
    i32::from(high) << 16 | i32::from(low as u16)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use pulp::x86::{V3, V4};
    use pulp::{NullaryFnOnce, cast};
    use std::arch::x86_64::{__m256i, __m512i};

    use super::{Bytes, LANES, Lanes, LanesTask};

    /// A task on an instruction set.
    pub(super) struct On<L, T>(pub(super) L, pub(super) T);

    impl<L: Lanes, T: LanesTask> NullaryFnOnce for On<L, T> {
        type Output = T::Output;

        #[inline(always)]
        fn call(self) -> T::Output {
            self.1.run(self.0)
        }
    }

    impl Lanes for V4 {
        type Numbers = __m512i;

        const MANY_REGISTERS: bool = true;

        #[inline(always)]
        fn splat(self, number: i32) -> __m512i {
            self.avx512f._mm512_set1_epi32(number)
        }

        #[inline(always)]
        fn load(self, numbers: &[i32; LANES]) -> __m512i {
            cast(*numbers)
        }

        #[inline(always)]
        fn load_pairs(self, numbers: &[i16; 2 * LANES]) -> __m512i {
            cast(*numbers)
        }

        #[inline(always)]
        fn store(self, numbers: __m512i) -> [i32; LANES] {
            cast(numbers)
        }

        #[inline(always)]
        fn add(self, a: __m512i, b: __m512i) -> __m512i {
            self.avx512f._mm512_add_epi32(a, b)
        }

        #[inline(always)]
        fn sub(self, a: __m512i, b: __m512i) -> __m512i {
            self.avx512f._mm512_sub_epi32(a, b)
        }

        #[inline(always)]
        fn total(self, numbers: __m512i) -> i32 {
            self.avx512f._mm512_reduce_add_epi32(numbers)
        }

        #[inline(always)]
        fn min(self, a: __m512i, b: __m512i) -> __m512i {
            self.avx512f._mm512_min_epi32(a, b)
        }

        #[inline(always)]
        fn max(self, a: __m512i, b: __m512i) -> __m512i {
            self.avx512f._mm512_max_epi32(a, b)
        }

        #[inline(always)]
        fn at_least(self, a: __m512i, b: __m512i) -> u16 {
            self.avx512f._mm512_cmpge_epi32_mask(a, b)
        }

        #[inline(always)]
        fn add_pair_products(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
            self.add(sums, self.avx512bw._mm512_madd_epi16(a, b))
        }

        #[inline(always)]
        fn add_byte_squares(self, sums: __m512i, a: &Bytes, b: &Bytes) -> __m512i {
            let (a, b): (__m512i, __m512i) = (cast(*a), cast(*b));
            // One of the two differences is cut off at zero.
            let (over, under) = (self.avx512bw._mm512_subs_epu8(a, b), self.avx512bw._mm512_subs_epu8(b, a));
            let differences = self.avx512f._mm512_or_si512(over, under);
            let zero = self.splat(0);
            let low = self.avx512bw._mm512_unpacklo_epi8(differences, zero);
            let high = self.avx512bw._mm512_unpackhi_epi8(differences, zero);
            self.add_pair_products(self.add_pair_products(sums, low, low), high, high)
        }
    }

    /// [`Lanes::add_byte_squares`] of half as many bytes.
    #[inline(always)]
    fn add_half_of_byte_squares(set: V3, sums: [__m256i; 2], a: __m256i, b: __m256i) -> [__m256i; 2] {
        let (over, under) = (set.avx2._mm256_subs_epu8(a, b), set.avx2._mm256_subs_epu8(b, a));
        let differences = set.avx2._mm256_or_si256(over, under);
        let zero = set.avx._mm256_set1_epi32(0);
        let low = set.avx2._mm256_unpacklo_epi8(differences, zero);
        let high = set.avx2._mm256_unpackhi_epi8(differences, zero);
        set.add_pair_products(sums, [low, high], [low, high])
    }

    impl Lanes for V3 {
        type Numbers = [__m256i; 2];

        const MANY_REGISTERS: bool = false;

        #[inline(always)]
        fn splat(self, number: i32) -> [__m256i; 2] {
            [self.avx._mm256_set1_epi32(number); 2]
        }

        #[inline(always)]
        fn load(self, numbers: &[i32; LANES]) -> [__m256i; 2] {
            cast(*numbers)
        }

        #[inline(always)]
        fn load_pairs(self, numbers: &[i16; 2 * LANES]) -> [__m256i; 2] {
            cast(*numbers)
        }

        #[inline(always)]
        fn store(self, numbers: [__m256i; 2]) -> [i32; LANES] {
            cast(numbers)
        }

        #[inline(always)]
        fn add(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
            [self.avx2._mm256_add_epi32(a[0], b[0]), self.avx2._mm256_add_epi32(a[1], b[1])]
        }

        #[inline(always)]
        fn sub(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
            [self.avx2._mm256_sub_epi32(a[0], b[0]), self.avx2._mm256_sub_epi32(a[1], b[1])]
        }

        #[inline(always)]
        fn total(self, numbers: [__m256i; 2]) -> i32 {
            let halves: [i32; LANES / 2] = cast(self.avx2._mm256_add_epi32(numbers[0], numbers[1]));
            halves.into_iter().fold(0, i32::wrapping_add)
        }

        #[inline(always)]
        fn min(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
            [self.avx2._mm256_min_epi32(a[0], b[0]), self.avx2._mm256_min_epi32(a[1], b[1])]
        }

        #[inline(always)]
        fn max(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
            [self.avx2._mm256_max_epi32(a[0], b[0]), self.avx2._mm256_max_epi32(a[1], b[1])]
        }

        #[inline(always)]
        fn at_least(self, a: [__m256i; 2], b: [__m256i; 2]) -> u16 {
            let less = [self.avx2._mm256_cmpgt_epi32(b[0], a[0]), self.avx2._mm256_cmpgt_epi32(b[1], a[1])];
            let low = self.avx._mm256_movemask_ps(self.avx._mm256_castsi256_ps(less[0]));
            let high = self.avx._mm256_movemask_ps(self.avx._mm256_castsi256_ps(less[1]));
            !(low | high << 8) as u16
        }

        #[inline(always)]
        fn add_pair_products(self, sums: [__m256i; 2], a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
            self.add(sums, [self.avx2._mm256_madd_epi16(a[0], b[0]), self.avx2._mm256_madd_epi16(a[1], b[1])])
        }

        #[inline(always)]
        fn add_byte_squares(self, sums: [__m256i; 2], a: &Bytes, b: &Bytes) -> [__m256i; 2] {
            let (a, b): ([__m256i; 2], [__m256i; 2]) = (cast(*a), cast(*b));
            let sums = add_half_of_byte_squares(self, sums, a[0], b[0]);
            add_half_of_byte_squares(self, sums, a[1], b[1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Kernels, with_kernels};

    /// Every operation on numbers that tell lanes, signs and halves apart.
    struct Everything;

    impl LanesTask for Everything {
        type Output = Vec<i32>;

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Vec<i32> {
            let a: [i32; LANES] = std::array::from_fn(|lane| pair(lane as i16 - 5, 3000 - 701 * lane as i16));
            let b: [i16; 2 * LANES] = std::array::from_fn(|at| (at as i16 - 11) * 997);
            let (a, b) = (lanes.load(&a), lanes.load_pairs(&b));
            let sums = lanes.add_pair_products(lanes.splat(-7), a, b);
            let mask = lanes.at_least(sums, lanes.splat(0));
            let mut all = lanes.store(lanes.add(sums, lanes.min(a, b))).to_vec();
            all.extend(lanes.store(lanes.max(a, b)));
            all.extend(lanes.store(lanes.sub(a, b)));
            all.extend([i32::from(mask), lanes.total(sums)]);
            let (first, second): (Bytes, Bytes) = bytes();
            all.push(lanes.total(lanes.add_byte_squares(lanes.splat(3), &first, &second)));
            all
        }
    }

    /// Bytes of all sizes, with differences of both signs, the largest included.
    fn bytes() -> (Bytes, Bytes) {
        (std::array::from_fn(|at| (at * 4) as u8), std::array::from_fn(|at| 255 - (at * at % 256) as u8))
    }

    #[test]
    fn all_instruction_sets_agree() {
        let want = Everything.run(Scalar);
        assert!(want.iter().any(|&number| number < 0) && want.iter().any(|&number| number > 0));
        for kernels in Kernels::available() {
            assert_eq!(with_kernels(kernels, || dispatch(Everything)).unwrap(), want, "{kernels}");
        }
    }

    #[test]
    fn squares_of_bytes_are_those_of_integers() {
        let (first, second) = bytes();
        let squares = first.iter().zip(&second).map(|(&a, &b)| (i32::from(a) - i32::from(b)).pow(2));
        assert_eq!(Scalar.total(Scalar.add_byte_squares([0; LANES], &first, &second)), squares.sum());
    }

    #[test]
    fn pair_products_are_those_of_integers() {
        let sums = Scalar.add_pair_products([10; LANES], [pair(-3, 200); LANES], [pair(7, -150); LANES]);
        assert_eq!(sums, [10 - 21 - 30_000; LANES]);
    }
}
