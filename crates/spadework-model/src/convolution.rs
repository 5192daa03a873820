//! Convolutions of images. The built-in engine spends most of its time on them, and two thirds of that on copying the pixels under
//! every window, so they are computed here instead.
//!
//! An image is copied once, with its padding, into planes in which the pixels under one weight of the window are next to each other:
//! one plane per channel, or several if the window moves by more than a pixel. The sums of all windows are then sums of shifted
//! rows, computed weight by weight in registers. Windows that would reach beyond the end of a line are computed with the others and
//! left out of the result.

use pulp::{Arch, Simd, WithSimd};
use spadework::kernels;

/// Bytes of weights that stay in the cache of a core while an image goes through all of them.
const CACHED_WEIGHTS: usize = 1 << 18;
/// Numbers in the planes of all images that go through the weights together, at most.
const MOST_TOGETHER: usize = 1 << 22;
/// Numbers that the widest registers hold together, for the most registers that a block has.
const MOST_POSITIONS: usize = 16 * 6;
/// Channels of the output that are computed together, at most.
const MOST_CHANNELS: usize = 8;
/// Pixels that a window moves by, at most.
const MOST_STRIDE: usize = 8;

/// How a window moves over an image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// Lines and columns of it.
    pub(super) kernel: [usize; 2],
    pub(super) strides: [usize; 2],
    pub(super) dilations: [usize; 2],
    /// Lines above the image and columns left of it; those below and right follow from the shape of the output.
    pub(super) pads: [usize; 2],
    pub(super) groups: usize,
}

/// A convolution with its weights, made ready for images of one shape.
pub(super) struct Convolution {
    /// Channels, lines and columns of an image, and of what becomes of it.
    input: [usize; 3],
    output: [usize; 3],
    window: Window,
    /// For each pixel that the window moves by, one after the other: whether any weight meets it, and if so the place of its plane.
    phases: Vec<Option<usize>>,
    /// Lines and columns of a plane.
    plane: [usize; 2],
    /// Numbers in the planes of a channel.
    channel: usize,
    /// Where the pixels under each weight begin, from the first plane of the group on.
    taps: Vec<usize>,
    packed: Packed,
    /// Negative results become zero.
    rectified: bool,
    arch: Arch,
}

/// Weights of some channels of the output, next to each other for every pixel under the window.
enum Packed {
    Eight(Blocks<MOST_CHANNELS>),
    Six(Blocks<6>),
    Four(Blocks<4>),
}

/// Blocks of the first group, then of the second, and so on; those of a group that is not full are filled up with zeros.
struct Blocks<const CHANNELS: usize> {
    weights: Vec<[f32; CHANNELS]>,
    biases: Vec<[f32; CHANNELS]>,
    /// Of one group.
    count: usize,
}

impl<const CHANNELS: usize> Blocks<CHANNELS> {
    /// From weights by channel of the output, as ONNX has them.
    fn new(weights: &[f32], bias: Option<&[f32]>, channels: usize, groups: usize) -> Self {
        let (each, taps) = (channels / groups, weights.len() / channels);
        let count = each.div_ceil(CHANNELS);
        let mut blocks = Self { weights: Vec::new(), biases: Vec::new(), count };
        for block in 0..groups * count {
            let first = block / count * each + block % count * CHANNELS;
            let end = (block / count + 1) * each;
            let row = |lane: usize| Some(first + lane).filter(|&row| row < end);
            let weight = |tap: usize| {
                std::array::from_fn(|lane| row(lane).map_or(0.0, |row| weights[row * taps + tap]))
            };
            blocks.weights.extend((0..taps).map(weight));
            blocks
                .biases
                .push(std::array::from_fn(|lane| row(lane).and_then(|row| Some(bias?[row])).unwrap_or(0.0)));
        }
        blocks
    }
}

impl Convolution {
    /// Whether images of that shape are better computed here: most sums are results, and planes are not much larger than images.
    pub(super) fn pays([input, output]: [[usize; 3]; 2], window: &Window) -> bool {
        let Window { kernel, strides, pads, groups, .. } = *window;
        if input.contains(&0)
            || output.contains(&0)
            || groups == 0
            || strides.iter().any(|&s| s > MOST_STRIDE)
        {
            return false;
        }
        // What the engine has its own ways for, without copies.
        let alone = kernel == [1, 1] && strides == [1, 1] && pads == [0, 0] && output[1..] == input[1..];
        let depthwise = groups == input[0] && groups == output[0];
        let [lines, columns] = plane(output, window);
        let moved = strides[0] * strides[1];
        let size = |extents: &[usize]| extents.iter().fold(1_usize, |product, &e| product.saturating_mul(e));
        let planes = size(&[input[0], moved.min(size(&kernel)), lines, columns]);
        let results = output[1] * output[2];
        let computed = (output[1] - 1).saturating_mul(columns) + output[2];
        !alone
            && !depthwise
            && planes <= 4 * (size(&input) + size(&output))
            && computed.max(MOST_POSITIONS / 2) <= 4 * results
    }

    /// Bytes that so many images take besides themselves and their results, at most: their planes, and the sums of a block.
    pub(super) fn room([input, output]: [[usize; 3]; 2], window: &Window, images: usize) -> u64 {
        let size = |extents: &[usize]| extents.iter().fold(1_usize, |product, &e| product.saturating_mul(e));
        let [lines, columns] = plane(output, window);
        let phases = size(&window.strides).min(size(&window.kernel));
        let planes = size(&[input[0], phases, lines, columns]);
        let together = (MOST_TOGETHER / planes.max(1)).clamp(1, images.max(1));
        let sums = size(&[MOST_CHANNELS, lines, columns]).saturating_add(MOST_CHANNELS * MOST_POSITIONS);
        4_u64.saturating_mul(together.saturating_mul(planes).saturating_add(sums) as u64)
    }

    /// From weights by channel of the output. The shapes are those of one image; they have been checked against the window.
    pub(super) fn new(
        [input, output]: [[usize; 3]; 2],
        window: Window,
        weights: &[f32],
        bias: Option<&[f32]>,
        rectified: bool,
    ) -> Self {
        let arch = kernels::arch();
        let Window { kernel, strides, dilations, groups, .. } = window;
        let plane = plane(output, &window);
        let mut phases = vec![None; strides[0] * strides[1]];
        let places =
            (0..kernel[0]).flat_map(|y| (0..kernel[1]).map(move |x| [y * dilations[0], x * dilations[1]]));
        let phase = |[y, x]: [usize; 2]| y % strides[0] * strides[1] + x % strides[1];
        let mut used = 0;
        for place in places.clone() {
            phases[phase(place)].get_or_insert_with(|| {
                used += 1;
                used - 1
            });
        }
        let channel = used * plane[0] * plane[1];
        let tap = |place: [usize; 2]| {
            let within = place[0] / strides[0] * plane[1] + place[1] / strides[1];
            phases[phase(place)].unwrap_or(0) * plane[0] * plane[1] + within
        };
        let taps =
            (0..input[0] / groups).flat_map(|c| places.clone().map(move |place| c * channel + tap(place)));
        let taps: Vec<usize> = taps.collect();
        let packed = Packed::new(weights, bias, output[0], groups, arch);
        Self { input, output, window, phases, plane, channel, taps, packed, rectified, arch }
    }

    /// Channels, lines and columns of an image.
    pub(super) fn input(&self) -> [usize; 3] {
        self.input
    }

    /// The result for some images, one after the other.
    pub(super) fn run(&self, images: &[f32]) -> Vec<f32> {
        let [input, output] = [self.input, self.output].map(|shape| shape.iter().product::<usize>());
        let count = images.len() / input;
        let mut results = vec![0.0; count * output];
        // Either an image goes through all weights, or all images through some of the weights.
        let planes = self.input[0] * self.channel;
        let together = if 4 * self.weights() <= CACHED_WEIGHTS {
            1
        } else {
            (MOST_TOGETHER / planes).clamp(1, count.max(1))
        };
        let mut buffer = vec![0.0; together * planes + MOST_POSITIONS];
        for (images, results) in images.chunks(together * input).zip(results.chunks_mut(together * output)) {
            for (image, planes) in images.chunks(input).zip(buffer.chunks_mut(planes)) {
                self.spread(image, planes);
            }
            let work = Work { convolution: self, buffer: &buffer, results };
            self.arch.dispatch(work);
        }
        results
    }

    fn weights(&self) -> usize {
        match &self.packed {
            Packed::Eight(blocks) => blocks.weights.as_flattened().len(),
            Packed::Six(blocks) => blocks.weights.as_flattened().len(),
            Packed::Four(blocks) => blocks.weights.as_flattened().len(),
        }
    }

    /// Copies an image into its planes. What is padding there is never written, and stays zero.
    fn spread(&self, image: &[f32], planes: &mut [f32]) {
        let [_, lines, columns] = self.input;
        let Window { strides, pads, .. } = self.window;
        let [plane_lines, plane_columns] = self.plane;
        for (pixels, planes) in image.chunks_exact(lines * columns).zip(planes.chunks_exact_mut(self.channel))
        {
            for (phase, place) in self.phases.iter().enumerate() {
                let Some(place) = place else { continue };
                let plane = &mut planes[place * plane_lines * plane_columns..][..plane_lines * plane_columns];
                let [down, right] = [phase / strides[1], phase % strides[1]];
                // The first column of the plane that lies on the image, and the pixel that lies there.
                let first = pads[1].saturating_sub(right).div_ceil(strides[1]);
                let begin = first * strides[1] + right - pads[1];
                for (at, line) in plane.chunks_exact_mut(plane_columns).enumerate() {
                    let Some(y) = (at * strides[0] + down).checked_sub(pads[0]).filter(|&y| y < lines) else {
                        continue;
                    };
                    let (Some(line), Some(pixels)) =
                        (line.get_mut(first..), pixels[y * columns..][..columns].get(begin..))
                    else {
                        continue;
                    };
                    if strides[1] == 1 {
                        let common = line.len().min(pixels.len());
                        line[..common].copy_from_slice(&pixels[..common]);
                    } else {
                        for (place, pixel) in line.iter_mut().zip(pixels.iter().step_by(strides[1])) {
                            *place = *pixel;
                        }
                    }
                }
            }
        }
    }
}

/// Lines and columns of a plane: from the first that a window meets to the last.
fn plane(output: [usize; 3], window: &Window) -> [usize; 2] {
    let Window { kernel, strides, dilations, .. } = window;
    [0, 1].map(|axis| {
        let reach = (output[axis + 1] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1;
        reach.div_ceil(strides[axis])
    })
}

impl Packed {
    /// In blocks that leave the fewest channels empty, as large as the registers allow.
    fn new(weights: &[f32], bias: Option<&[f32]>, channels: usize, groups: usize, arch: Arch) -> Self {
        let each = channels / groups;
        let sizes: &[usize] = if few_registers(arch) { &[6, 4] } else { &[MOST_CHANNELS, 6, 4] };
        let best = sizes.iter().min_by_key(|&&size| each.next_multiple_of(size));
        match best {
            Some(&MOST_CHANNELS) => Packed::Eight(Blocks::new(weights, bias, channels, groups)),
            Some(6) => Packed::Six(Blocks::new(weights, bias, channels, groups)),
            _ => Packed::Four(Blocks::new(weights, bias, channels, groups)),
        }
    }
}

/// Sixteen, where others have thirty-two.
fn few_registers(arch: Arch) -> bool {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => true,
        _ => false,
    }
}

/// Some images that lie in their planes, compiled for each instruction set.
struct Work<'a> {
    convolution: &'a Convolution,
    buffer: &'a [f32],
    results: &'a mut [f32],
}

impl WithSimd for Work<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let few = few_registers(self.convolution.arch);
        // As many sums as there are registers, but for those of the pixels and the weight.
        match &self.convolution.packed {
            Packed::Eight(blocks) => self.through::<S, 8, 3>(simd, blocks),
            Packed::Six(blocks) if few => self.through::<S, 6, 2>(simd, blocks),
            Packed::Six(blocks) => self.through::<S, 6, 4>(simd, blocks),
            Packed::Four(blocks) if few => self.through::<S, 4, 3>(simd, blocks),
            Packed::Four(blocks) => self.through::<S, 4, 6>(simd, blocks),
        }
    }
}

impl Work<'_> {
    /// All images through the weights, block by block.
    #[inline(always)]
    fn through<S: Simd, const CHANNELS: usize, const REGISTERS: usize>(
        self,
        simd: S,
        blocks: &Blocks<CHANNELS>,
    ) {
        let Convolution { input, output, window, plane, channel, taps, rectified, .. } = self.convolution;
        let [channels, lines, columns] = *output;
        let each = channels / window.groups;
        let step = S::F32_LANES * REGISTERS;
        // From the first window to the last, with those that reach over the end of a line.
        let positions = (lines - 1) * plane[1] + columns;
        let length = positions.next_multiple_of(step);
        let mut sums = vec![0.0; CHANNELS * length];
        let planes = input[0] * channel;
        for (at, (weights, bias)) in blocks.weights.chunks_exact(taps.len()).zip(&blocks.biases).enumerate() {
            let (group, within) = (at / blocks.count, at % blocks.count * CHANNELS);
            let first = group * each + within;
            let real = CHANNELS.min(each - within);
            for (image, result) in self.results.chunks_exact_mut(channels * lines * columns).enumerate() {
                let pixels = &self.buffer[image * planes + group * (input[0] / window.groups) * channel..];
                for position in (0..length).step_by(step) {
                    let all = block::<S, CHANNELS, REGISTERS>(simd, weights, taps, &pixels[position..], bias);
                    for (channel, registers) in all.iter().enumerate() {
                        let place = &mut sums[channel * length + position..][..step];
                        for (place, &register) in S::as_mut_simd_f32s(place).0.iter_mut().zip(registers) {
                            *place = register;
                        }
                    }
                }
                let result = &mut result[first * lines * columns..][..real * lines * columns];
                for (result, sums) in result.chunks_exact_mut(lines * columns).zip(sums.chunks_exact(length))
                {
                    for (result, sums) in result.chunks_exact_mut(columns).zip(sums.chunks(plane[1])) {
                        for (result, &sum) in result.iter_mut().zip(sums) {
                            // Not `max`, which would make zero of what is no number.
                            *result = if *rectified && sum < 0.0 { 0.0 } else { sum };
                        }
                    }
                }
            }
        }
    }
}

/// The sums of a few registers of windows that follow on each other, for a few channels, in the order of the weights.
#[inline(always)]
fn block<S: Simd, const CHANNELS: usize, const REGISTERS: usize>(
    simd: S,
    weights: &[[f32; CHANNELS]],
    taps: &[usize],
    pixels: &[f32],
    bias: &[f32; CHANNELS],
) -> [[S::f32s; REGISTERS]; CHANNELS] {
    let mut sums = [[simd.splat_f32s(0.0); REGISTERS]; CHANNELS];
    for (sums, &bias) in sums.iter_mut().zip(bias) {
        *sums = [simd.splat_f32s(bias); REGISTERS];
    }
    for (weights, &tap) in weights.iter().zip(taps) {
        let (under, _) = S::as_simd_f32s(&pixels[tap..][..S::F32_LANES * REGISTERS]);
        let mut registers = [simd.splat_f32s(0.0); REGISTERS];
        registers.copy_from_slice(under);
        for channel in 0..CHANNELS {
            let weight = simd.splat_f32s(weights[channel]);
            for register in 0..REGISTERS {
                sums[channel][register] =
                    simd.mul_add_e_f32s(weight, registers[register], sums[channel][register]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use spadework::kernels::{Kernels, with_kernels};

    /// Numbers between −1 and 1 that look random.
    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    /// By the definition, in double precision.
    fn defined(
        [input, output]: [[usize; 3]; 2],
        window: &Window,
        weights: &[f32],
        bias: &[f32],
        image: &[f32],
    ) -> Vec<f32> {
        let Window { kernel, strides, dilations, pads, groups } = *window;
        let per_group = input[0] / groups;
        let mut results = Vec::new();
        for to in 0..output[0] {
            for y in 0..output[1] {
                for x in 0..output[2] {
                    let mut sum = f64::from(bias[to]);
                    for from in 0..per_group {
                        for ky in 0..kernel[0] {
                            for kx in 0..kernel[1] {
                                let line = (y * strides[0] + ky * dilations[0]).checked_sub(pads[0]);
                                let column = (x * strides[1] + kx * dilations[1]).checked_sub(pads[1]);
                                let (Some(line), Some(column)) = (line, column) else { continue };
                                if line < input[1] && column < input[2] {
                                    let channel = to / (output[0] / groups) * per_group + from;
                                    let pixel = image[(channel * input[1] + line) * input[2] + column];
                                    let weight =
                                        weights[((to * per_group + from) * kernel[0] + ky) * kernel[1] + kx];
                                    sum += f64::from(weight) * f64::from(pixel);
                                }
                            }
                        }
                    }
                    results.push(sum as f32);
                }
            }
        }
        results
    }

    /// Windows and images of many shapes: the input, channels of the output, the window, and padding below and to the right.
    fn cases() -> Vec<([usize; 3], usize, Window, [usize; 2])> {
        let window =
            |kernel, strides, dilations, pads, groups| Window { kernel, strides, dilations, pads, groups };
        vec![
            ([1, 28, 28], 6, window([5, 5], [1, 1], [1, 1], [2, 2], 1), [2, 2]),
            ([6, 14, 14], 16, window([5, 5], [1, 1], [1, 1], [0, 0], 1), [0, 0]),
            ([3, 9, 7], 9, window([3, 3], [2, 2], [1, 1], [1, 1], 1), [1, 1]),
            ([4, 11, 13], 6, window([3, 2], [2, 3], [1, 2], [0, 2], 2), [3, 1]),
            ([2, 8, 8], 3, window([1, 1], [2, 2], [1, 1], [0, 0], 1), [0, 0]),
            ([2, 10, 9], 4, window([2, 3], [1, 1], [3, 2], [4, 0], 1), [0, 5]),
            ([9, 5, 6], 27, window([3, 3], [1, 1], [1, 1], [1, 1], 3), [1, 1]),
            ([5, 6, 6], 5, window([4, 4], [4, 4], [1, 1], [0, 0], 1), [0, 0]),
            // More weights than a cache holds, so that images go through them together.
            ([40, 4, 5], 200, window([3, 3], [1, 1], [1, 1], [1, 1], 1), [1, 1]),
            // Padding that reaches further than the window.
            ([1, 3, 3], 2, window([2, 2], [1, 1], [1, 1], [3, 3], 1), [3, 3]),
        ]
    }

    #[test]
    fn sums_are_those_of_the_definition_on_every_instruction_set() {
        for (at, (input, channels, window, after)) in cases().into_iter().enumerate() {
            let extent = |axis: usize| {
                let reach = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
                (input[axis + 1] + window.pads[axis] + after[axis] - reach) / window.strides[axis] + 1
            };
            let output = [channels, extent(0), extent(1)];
            let taps = input[0] / window.groups * window.kernel[0] * window.kernel[1];
            let (weights, bias) = (numbers(channels * taps, 1), numbers(channels, 2));
            let size = input.iter().product::<usize>();
            let images = numbers(3 * size, 3);
            let expected: Vec<f32> = images
                .chunks(size)
                .flat_map(|image| defined([input, output], &window, &weights, &bias, image))
                .collect();
            for kernels in Kernels::available() {
                for rectified in [false, true] {
                    let run = || {
                        Convolution::new([input, output], window, &weights, Some(&bias), rectified)
                            .run(&images)
                    };
                    let got = with_kernels(kernels, run).unwrap();
                    assert_eq!(got.len(), expected.len(), "case {at}");
                    for (place, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
                        let expected = if rectified { expected.max(0.0) } else { expected };
                        assert!(
                            (got - expected).abs() < 1e-5 * (taps as f32).sqrt(),
                            "case {at}, {kernels}, number {place}: {got}, expected {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_rectifier_keeps_what_is_no_number() {
        let window = Window { kernel: [1, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0], groups: 1 };
        let convolution = Convolution::new([[1, 1, 3], [1, 1, 2]], window, &[1.0, 1.0], None, true);
        let got = convolution.run(&[f32::NAN, -1.0, -2.0]);
        assert!(got[0].is_nan() && got[1] == 0.0, "{got:?}");
    }

    #[test]
    fn what_a_file_asks_for_without_reason_is_left_to_the_engine() {
        let window = Window { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1], groups: 1 };
        let images = [[3, 32, 32], [16, 32, 32]];
        assert!(Convolution::pays(images, &window));
        assert!(Convolution::pays([[3, 32, 32], [16, 16, 16]], &Window { strides: [2, 2], ..window }));
        // Planes that are far larger than the images.
        assert!(!Convolution::pays(images, &Window { dilations: [100_000, 100_000], ..window }));
        assert!(!Convolution::pays(
            [[3, 32, 32], [16, 2, 2]],
            &Window { strides: [1 << 30, 1 << 30], ..window }
        ));
        // One result out of a whole line of sums.
        assert!(!Convolution::pays(
            [[3, 32, 32], [16, 1, 1]],
            &Window { kernel: [32, 32], pads: [0, 0], ..window }
        ));
        assert!(!Convolution::pays([[16, 32, 32]; 2], &Window { groups: 16, ..window }));
        assert!(!Convolution::pays([[16, 32, 32]; 2], &Window { kernel: [1, 1], pads: [0, 0], ..window }));
        assert!(!Convolution::pays([[0, 32, 32], [16, 32, 32]], &window));
    }
}
