//! Square: a random search that needs only outputs, for networks whose gradients mislead.
//!
//! Andriushchenko, Croce, Flammarion and Hein (2020), "Square Attack: a query-efficient black-box adversarial attack via random
//! search". A perturbation on the edge of the ball is changed in one random square at a time, and the change is kept if the
//! margin falls. Squares become smaller according to a schedule over the queries. In L∞, a square of each channel moves by ±2ε
//! and is clipped to the ball. In L2, a square takes the mass of another one, in the shape of two opposite bumps. Rows that are
//! not images are treated as images of one line, with intervals for squares.
//!
//! Read `Square::run` first, then `propose`.

use burn_tensor::Tensor;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::ball::Norm;
use super::objective::margin;
use super::report::Broken;
use super::round::{Round, Start};
use crate::Result;
use crate::error::check_counts;
use crate::network::{Frozen, to_host};
use crate::random::{Purpose, stream};

/// The share of the pixels that the first squares cover.
const FIRST_SHARE: f64 = 0.8;

/// Random search by squares.
#[derive(Debug, Clone, PartialEq)]
pub struct Square {
    /// The norm of ε.
    pub norm: Norm,
    /// Runs of the network per sample.
    pub queries: usize,
}

impl Default for Square {
    fn default() -> Self {
        Self { norm: Norm::Linf, queries: 5000 }
    }
}

impl Square {
    pub(super) fn check(&self) -> Result<()> {
        self.norm.check_searched()?;
        check_counts(&[("queries", self.queries)])
    }

    pub(super) fn run(&self, round: &mut Round<'_>) -> Result<()> {
        let Some(start) = round.start() else { return Ok(()) };
        let model = round.model();
        let frame = Frame::of(model.input_shape());
        let mut searches = SquareSearch::all(&start, round.standing(), round.seed(), frame.size());
        for query in 0..self.queries {
            round.check_stop()?;
            let share = share_at(query, self.queries);
            searches.par_iter_mut().for_each(|search| {
                search.tried = match query {
                    0 => search.stripes(self.norm, frame),
                    _ => search.propose(self.norm, frame, share),
                };
            });
            let (points, outputs) = look(model, &searches);
            let at = Broken { attack: "square", restart: 0, step: query, class: 0 };
            let standing = round.judge(&outputs, at, &points);
            let classes = model.classes();
            searches = standing
                .iter()
                .map(|&row| {
                    let mut search = std::mem::take(&mut searches[row]);
                    search.accept(margin(&outputs[row * classes..(row + 1) * classes], search.label));
                    search
                })
                .collect();
            if searches.is_empty() {
                return Ok(());
            }
        }
        let best: Vec<f32> = searches.iter().flat_map(|search| &search.best).copied().collect();
        let rows: Vec<usize> = (0..searches.len()).collect();
        round.keep(&model.rows(&best), &rows);
        Ok(())
    }
}

/// The points that are tried, and their outputs.
fn look(model: &Frozen, searches: &[SquareSearch]) -> (Tensor<2>, Vec<f32>) {
    let tried: Vec<f32> = searches.iter().flat_map(|search| &search.tried).copied().collect();
    let points = model.rows(&tried);
    (points.clone(), to_host(model.forward(points)))
}

/// The share of the pixels that a square covers, halved at the authors' marks in 10,000 queries.
fn share_at(query: usize, queries: usize) -> f64 {
    let scaled = query * 10_000 / queries;
    let halvings =
        [10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000].iter().filter(|&&mark| scaled > mark).count();
    FIRST_SHARE / f64::from(1_u32 << halvings)
}

/// Channels, height and width of a sample.
#[derive(Debug, Clone, Copy)]
struct Frame {
    channels: usize,
    height: usize,
    width: usize,
}

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy)]
struct Window {
    top: usize,
    left: usize,
    height: usize,
    width: usize,
}

impl Frame {
    fn of(shape: &[usize]) -> Self {
        match *shape {
            [channels, height, width] => Self { channels, height, width },
            _ => Self { channels: 1, height: 1, width: shape.iter().product() },
        }
    }

    fn size(self) -> usize {
        self.channels * self.height * self.width
    }

    /// A random window that covers about this share of the pixels; in L2, where windows have a middle, of an odd side from 3 on.
    fn window(self, share: f64, norm: Norm, rng: &mut ChaCha8Rng) -> Window {
        let pixels = share * (self.height * self.width) as f64;
        let side = if self.height == 1 { pixels } else { pixels.sqrt() };
        let side = side.round() as usize;
        let side = if norm == Norm::Linf { side.max(1) } else { side.max(3) | 1 };
        let (height, width) = (side.min(self.height), side.min(self.width));
        Window {
            top: rng.random_range(0..=self.height - height),
            left: rng.random_range(0..=self.width - width),
            height,
            width,
        }
    }

    /// The places of a channel's pixels in a window, row by row.
    fn places(self, channel: usize, window: Window) -> impl Iterator<Item = usize> {
        (window.top..window.top + window.height).flat_map(move |row| {
            let line = (channel * self.height + row) * self.width + window.left;
            line..line + window.width
        })
    }

    fn places_of_all(self, window: Window) -> impl Iterator<Item = usize> {
        (0..self.channels).flat_map(move |channel| self.places(channel, window))
    }
}

/// The search around one sample.
#[derive(Debug)]
struct SquareSearch {
    label: usize,
    center: Vec<f32>,
    radius: f32,
    best: Vec<f32>,
    margin: f32,
    tried: Vec<f32>,
    rng: ChaCha8Rng,
}

impl Default for SquareSearch {
    fn default() -> Self {
        Self {
            label: 0,
            center: Vec::new(),
            radius: 0.0,
            best: Vec::new(),
            margin: f32::INFINITY,
            tried: Vec::new(),
            rng: stream(0, Purpose::Squares, 0, 0),
        }
    }
}

impl SquareSearch {
    fn all(start: &Start, places: &[usize], seed: u64, size: usize) -> Vec<Self> {
        let centers = to_host(start.centers.clone());
        let rows = centers.chunks(size).zip(&start.radius).zip(&start.labels).zip(places);
        rows.map(|(((center, &radius), &label), &place)| Self {
            label,
            center: center.to_vec(),
            radius,
            best: center.to_vec(),
            rng: stream(seed, Purpose::Squares, 0, place as u64),
            ..Self::default()
        })
        .collect()
    }

    fn accept(&mut self, margin: f32) {
        if margin < self.margin {
            self.margin = margin;
            std::mem::swap(&mut self.best, &mut self.tried);
        }
    }

    fn sign(&mut self) -> f32 {
        if self.rng.random() { 1.0 } else { -1.0 }
    }

    /// Where the search begins: vertical stripes in L∞, a tiling of bumps in L2.
    fn stripes(&mut self, norm: Norm, frame: Frame) -> Vec<f32> {
        let mut moved = vec![0.0; frame.size()];
        if norm == Norm::Linf {
            for channel in 0..frame.channels {
                for left in 0..frame.width {
                    let step = self.sign() * self.radius;
                    let stripe = Window { top: 0, left, height: frame.height, width: 1 };
                    frame.places(channel, stripe).for_each(|place| moved[place] = step);
                }
            }
            return self.moved_by(&moved);
        }
        let (height, width) = ((frame.height / 5).max(1), (frame.width / 5).max(1));
        for top in (0..=frame.height - height).step_by(height) {
            for left in (0..=frame.width - width).step_by(width) {
                let window = Window { top, left, height, width };
                let bumps = self.bumps(window);
                for channel in 0..frame.channels {
                    let sign = self.sign();
                    for (place, bump) in frame.places(channel, window).zip(&bumps) {
                        moved[place] = sign * bump;
                    }
                }
            }
        }
        self.at_the_edge(moved)
    }

    /// The best point with one square changed.
    fn propose(&mut self, norm: Norm, frame: Frame, share: f64) -> Vec<f32> {
        let mut moved: Vec<f32> =
            self.best.iter().zip(&self.center).map(|(best, center)| best - center).collect();
        if norm == Norm::Linf {
            let window = frame.window(share, norm, &mut self.rng);
            for channel in 0..frame.channels {
                let step = 2.0 * self.radius * self.sign();
                for place in frame.places(channel, window) {
                    moved[place] = (moved[place] + step).clamp(-self.radius, self.radius);
                }
            }
            return self.moved_by(&moved);
        }
        let window = frame.window(share, norm, &mut self.rng);
        let other = Window {
            top: self.rng.random_range(0..=frame.height - window.height),
            left: self.rng.random_range(0..=frame.width - window.width),
            ..window
        };
        self.exchange(&mut moved, frame, window, other);
        self.at_the_edge(moved)
    }

    /// Gives a window the mass of another one and what is left of the radius, in the shape of its own and of new bumps.
    fn exchange(&mut self, moved: &mut [f32], frame: Frame, window: Window, other: Window) {
        let whole = length(moved.iter());
        let mine = length(frame.places_of_all(window).map(|place| &moved[place]));
        let mut rest = moved.to_vec();
        frame.places_of_all(window).chain(frame.places_of_all(other)).for_each(|place| rest[place] = 0.0);
        let both = (whole * whole - length(rest.iter()).powi(2)).max(0.0);
        let unused = (self.radius * self.radius - whole * whole).max(0.0) / frame.channels as f32;
        let bumps = self.bumps(window);
        let shapes: Vec<Vec<f32>> = (0..frame.channels)
            .map(|channel| {
                let sign = self.sign();
                let places = frame.places(channel, window);
                let shape: Vec<f32> = places
                    .zip(&bumps)
                    .map(|(place, bump)| sign * bump + moved[place] / (mine + 1e-12))
                    .collect();
                let scale = (unused + both).sqrt() / (length(shape.iter()) + 1e-12);
                shape.into_iter().map(|value| value * scale).collect()
            })
            .collect();
        frame.places_of_all(other).for_each(|place| moved[place] = 0.0);
        for (channel, shape) in shapes.iter().enumerate() {
            for (place, value) in frame.places(channel, window).zip(shape) {
                moved[place] = *value;
            }
        }
    }

    /// Two opposite bumps side by side that fill a window, of length 1.
    fn bumps(&mut self, window: Window) -> Vec<f32> {
        let Window { height, width, .. } = window;
        let beside = height == 1 || (height == width && self.rng.random());
        let (long, across) = if beside { (width, height) } else { (height, width) };
        let (first, second) = (bump(long / 2, across), bump(long - long / 2, across));
        let halves: Vec<f32> = first.into_iter().chain(second.into_iter().map(|value| -value)).collect();
        let scale = 1.0 / (length(halves.iter()) + 1e-12);
        let value = |row: usize, column: usize| {
            let (along, over) = if beside { (column, row) } else { (row, column) };
            halves[along * across + over] * scale
        };
        (0..height)
            .flat_map(|row| (0..width).map(move |column| (row, column)))
            .map(|(row, column)| value(row, column))
            .collect()
    }

    /// The sample moved, within the box.
    fn moved_by(&self, moved: &[f32]) -> Vec<f32> {
        self.center.iter().zip(moved).map(|(center, by)| (center + by).clamp(0.0, 1.0)).collect()
    }

    /// The sample moved by the whole radius in this direction, within the box.
    fn at_the_edge(&self, mut direction: Vec<f32>) -> Vec<f32> {
        let scale = self.radius / (length(direction.iter()) + 1e-12);
        for value in &mut direction {
            *value *= scale;
        }
        self.moved_by(&direction)
    }
}

/// Nested rectangles around the middle, `[rows, columns]`: the authors' η, largest in the middle.
fn bump(rows: usize, columns: usize) -> Vec<f32> {
    let mut values = vec![0.0; rows * columns];
    let middle = [rows / 2, columns / 2];
    for ring in 0..=middle[0].max(middle[1]) {
        let height = 1.0 / ((ring + 1) as f32).powi(2);
        let span = |at: usize, extent: usize| at.saturating_sub(ring)..(at + ring + 1).min(extent);
        for row in span(middle[0], rows) {
            span(middle[1], columns).for_each(|column| values[row * columns + column] += height);
        }
    }
    values
}

fn length<'a>(values: impl Iterator<Item = &'a f32>) -> f32 {
    values.map(|value| value * value).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_shrink_by_the_schedule_of_the_authors() {
        let shares: Vec<f64> = [0, 10, 11, 51, 201, 9999].map(|query| share_at(query, 10_000)).to_vec();
        assert_eq!(shares, [0.8, 0.8, 0.4, 0.2, 0.1, 0.8 / 512.0]);
        assert_eq!(share_at(799, 800), 0.8 / 512.0);
    }

    /// By hand: rings of 1, 1/4 around the middle of three by three.
    #[test]
    fn bumps_are_nested_rectangles() {
        let low = 0.25;
        assert_eq!(bump(3, 3), [low, low, low, low, 1.25, low, low, low, low]);
        assert_eq!(bump(1, 3), [low, 1.25, low]);
    }

    #[test]
    fn every_point_that_is_tried_lies_in_its_ball_and_on_its_edge() {
        for (shape, norm) in
            [(&[3, 8, 8][..], Norm::Linf), (&[3, 8, 8], Norm::L2), (&[40], Norm::Linf), (&[40], Norm::L2)]
        {
            let frame = Frame::of(shape);
            let center = vec![0.5; frame.size()];
            let mut search =
                SquareSearch { best: center.clone(), center, radius: 0.1, ..SquareSearch::default() };
            search.tried = search.stripes(norm, frame);
            search.accept(1.0);
            for query in 1..200 {
                search.tried = search.propose(norm, frame, share_at(query, 200));
                let moved = search.tried.iter().zip(&search.center).map(|(a, b)| a - b);
                let size = norm.size(moved);
                assert!((size - 0.1).abs() < 1e-5, "{norm:?} {query} {size}");
                search.accept(if query % 3 == 0 { -(query as f32) } else { 2.0 });
            }
        }
    }
}
