//! Radii per column, and categories: how far every column of a table may move, and within which range.
//!
//! Columns of a table have their own units, so a single radius for all columns is meaningless. A radius in standard deviations
//! (`linf:0.1sd`) moves every column by this many of its own standard deviations; a list of radii
//! ([`ProbeParams::with_radii`](crate::ProbeParams::with_radii)) moves each by the radius of the probe times its own. Every column
//! then stays between its own smallest and largest number.
//!
//! A column that only has whole numbers is a count or a category. A radius in standard deviations leaves it alone. A list moves it in
//! whole steps, so that a radius of 1 flips a column of 0 and 1, and a radius of 0 leaves a column alone.
//!
//! The one-hot columns of a category exclude each other. Those that are named as such
//! ([`ProbeParams::with_categories`](crate::ProbeParams::with_categories)) change together: the sample gets another category of the same
//! feature, given by one of the columns. A column whose radius is 0 is not chosen.

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use spadework::samples::Samples;

use crate::error::Error;
use crate::kind::{Probe, RadiusUnit};
use crate::range::Range;

/// How far every column moves.
#[derive(Debug, Clone)]
pub(crate) struct Columns(Arc<[Column]>, Arc<[Category]>);

#[derive(Debug, Clone, Copy)]
struct Column {
    step: f32,
    range: Range,
    is_whole: bool,
    /// Among the categories.
    category: Option<usize>,
}

/// The one-hot columns of a category.
#[derive(Debug, Clone)]
struct Category {
    members: Vec<usize>,
    /// Those that a sample may be moved to.
    open: Vec<usize>,
    /// Whether some sample has none of them: that is a category too.
    has_none: bool,
}

/// A place in the box around a sample: one end of every column, and a category of each kind.
#[derive(Debug, Clone)]
pub(crate) struct Corner {
    /// 1 or −1 per number.
    signs: Vec<i8>,
    /// The column of the category that was chosen, by category; none if it is the sample's own.
    chosen: Vec<Option<usize>>,
}

impl Corner {
    /// 1 or −1 per number.
    pub(crate) fn signs(&self) -> &[i8] {
        &self.signs
    }

    /// Turns the signs of some numbers, and chooses the categories of others; a category that is chosen already is given up.
    pub(crate) fn turn(&mut self, places: impl Iterator<Item = usize>, columns: Option<&Columns>) {
        for place in places {
            match columns.and_then(|columns| columns.0[place].category.map(|at| (at, &columns.1[at]))) {
                None => self.signs[place] = -self.signs[place],
                Some((at, category)) if category.open.contains(&place) => {
                    let chosen = &mut self.chosen[at];
                    *chosen = if *chosen == Some(place) { None } else { Some(place) };
                }
                Some(_) => {}
            }
        }
    }
}

impl Columns {
    /// None where all columns move alike.
    pub(crate) fn of(
        probe: Probe,
        radii: Option<&[f64]>,
        categories: Option<&[usize]>,
        inputs: &Samples<'_>,
    ) -> Result<Option<Self>, Error> {
        if radii.is_none() && categories.is_none() && probe.unit() == RadiusUnit::Number {
            return Ok(None);
        }
        let known = facts(inputs);
        let radius = |at: usize| radii.map_or(1.0, |radii| radii[at]);
        let numbers = categories.map_or_else(Vec::new, numbers_of);
        let found = numbers.iter().map(|&number| {
            let members = |at: &usize| categories.is_some_and(|categories| categories[*at] == number);
            Category::of(number, (0..known.len()).filter(members).collect(), (&known, &radius), inputs)
        });
        let found = found.collect::<Result<Arc<[Category]>, Error>>()?;
        let columns = known.iter().enumerate().map(|(at, known)| {
            let unit = match probe.unit() {
                RadiusUnit::Number => 1.0,
                RadiusUnit::Deviation => known.deviation,
            };
            let asked = probe.radius() * unit * radius(at);
            let step = match (known.is_whole, radii) {
                (false, _) => asked,
                (true, Some(_)) => asked.floor(),
                (true, None) => 0.0,
            };
            let number = categories.map_or(0, |categories| categories[at]);
            Column {
                step: step as f32,
                range: known.range,
                is_whole: known.is_whole,
                category: numbers.binary_search(&number).ok(),
            }
        });
        let columns: Arc<[Column]> = columns.collect();
        let can_move = |column: &Column| {
            column.category.is_none() && column.step > 0.0 && column.range.least < column.range.most
        };
        // Some sample does not have an open category: it can be moved there, whatever it has itself.
        let can_change = |category: &Category| !category.open.is_empty();
        if !columns.iter().any(can_move) && !found.iter().any(can_change) {
            return Err(Error::NothingMoves { columns: columns.len() });
        }
        Ok(Some(Self(columns, found)))
    }

    /// Where a search begins: all signs up, and the sample's own categories.
    pub(crate) fn corner_of(columns: Option<&Self>, signs: Vec<i8>) -> Corner {
        Corner { signs, chosen: vec![None; columns.map_or(0, |columns| columns.1.len())] }
    }

    /// A sample in a corner.
    pub(crate) fn at(&self, corner: &Corner, sample: &[f32]) -> Vec<f32> {
        let signs = sample.iter().zip(&corner.signs).enumerate();
        let mut moved: Vec<f32> =
            signs.map(|(at, (&number, &sign))| self.moved(at, number, f32::from(sign))).collect();
        for (category, chosen) in self.1.iter().zip(&corner.chosen) {
            if let Some(chosen) = *chosen {
                category.change(&self.0, &mut moved, chosen);
            }
        }
        moved
    }

    /// Changes every category of a sample to another one at random.
    pub(crate) fn change_categories(&self, numbers: &mut [f32], rng: &mut ChaCha8Rng) {
        for category in self.1.iter() {
            let own = category.own(&self.0, numbers);
            // The sample's own column stands for none of them.
            let others: Vec<usize> =
                category.open.iter().copied().filter(|&at| category.has_none || own != Some(at)).collect();
            if !others.is_empty() {
                category.change(&self.0, numbers, others[rng.random_range(0..others.len())]);
            }
        }
    }

    /// A number of a column after a part of its step, from −1 to 1; those of categories stay.
    pub(crate) fn moved(&self, column: usize, number: f32, part: f32) -> f32 {
        let Column { step, range, is_whole, category } = self.0[column];
        if category.is_some() {
            return number;
        }
        let by = part * step;
        range.clamp(number + if is_whole { by.trunc() } else { by })
    }
}

/// The categories that columns belong to, ascending; 0 is none.
fn numbers_of(categories: &[usize]) -> Vec<usize> {
    let numbers: std::collections::BTreeSet<usize> =
        categories.iter().copied().filter(|&number| number > 0).collect();
    numbers.into_iter().collect()
}

impl Category {
    /// The category with these columns, which are one-hot: each has two numbers at most, and no row the larger one twice.
    fn of(
        number: usize,
        members: Vec<usize>,
        (known, radius): (&[ColumnFacts], &dyn Fn(usize) -> f64),
        inputs: &Samples<'_>,
    ) -> Result<Self, Error> {
        let mut has_none = false;
        for row in 0..inputs.len() {
            let values = inputs.values().singles(inputs.place(row));
            let mut on = None;
            for &column in &members {
                let (value, Range { least, most }) = (values[column], known[column].range);
                // A category that no sample has is a column that is constant.
                if value == most && least < most && on.is_none() {
                    on = Some(column);
                } else if value != least {
                    return Err(Error::NotOneHot { category: number, row, column, got: f64::from(value) });
                }
            }
            has_none |= on.is_none();
        }
        let is_open = |&at: &usize| known[at].range.least < known[at].range.most && radius(at) > 0.0;
        let open = members.iter().copied().filter(is_open).collect();
        Ok(Self { members, open, has_none })
    }

    /// The column of the category that a sample has.
    fn own(&self, columns: &[Column], numbers: &[f32]) -> Option<usize> {
        let is_on = |&at: &usize| {
            let Range { least, most } = columns[at].range;
            least < most && numbers[at] == most
        };
        self.members.iter().copied().find(is_on)
    }

    /// Gives a sample the category of a column; none if it has that, if there are samples without any.
    fn change(&self, columns: &[Column], numbers: &mut [f32], to: usize) {
        let own = self.own(columns, numbers);
        if own == Some(to) && !self.has_none {
            return;
        }
        for &at in &self.members {
            let Range { least, most } = columns[at].range;
            numbers[at] = if at == to && own != Some(to) { most } else { least };
        }
    }
}

/// What is known of a column.
struct ColumnFacts {
    deviation: f64,
    range: Range,
    is_whole: bool,
}

fn facts(inputs: &Samples<'_>) -> Vec<ColumnFacts> {
    let (len, dim) = (inputs.len(), inputs.dim());
    let mut means = vec![0.0; dim];
    let mut squares = vec![0.0; dim];
    let mut ranges = vec![Range::NOTHING; dim];
    let mut whole = vec![true; dim];
    for row in 0..len {
        for (at, &value) in inputs.values().doubles(inputs.place(row)).iter().enumerate() {
            means[at] += value / len as f64;
            ranges[at] = ranges[at].including(value as f32);
            whole[at] &= value.fract() == 0.0;
        }
    }
    for row in 0..len {
        for (at, &value) in inputs.values().doubles(inputs.place(row)).iter().enumerate() {
            squares[at] += (value - means[at]).powi(2) / len as f64;
        }
    }
    let columns = squares.iter().zip(ranges).zip(whole);
    let facts =
        columns.map(|((square, range), is_whole)| ColumnFacts { deviation: square.sqrt(), range, is_whole });
    facts.collect()
}
