//! Radii per column: how far every column of a table may move, and where it stays.
//!
//! Columns of a table have their own units, so a single radius for all columns is meaningless. A radius in standard deviations
//! (`linf:0.1sd`) moves every column by this many of its own standard deviations; a list of radii
//! ([`ProbeParams::with_radii`](crate::ProbeParams::with_radii)) moves each by the radius of the probe times its own. Every column
//! then stays between its own smallest and largest number.
//!
//! A column of whole numbers only is a count or a category. By standard deviations it is left alone; by a list it moves in whole steps,
//! so that a radius of 1 flips a column of 0 and 1, and a radius of 0 leaves a column alone.

use std::sync::Arc;

use spadework::samples::Samples;

use crate::error::Error;
use crate::kind::{Probe, RadiusUnit};
use crate::range::Range;

/// How far every column moves.
#[derive(Debug, Clone)]
pub(crate) struct Columns(Arc<[Column]>);

#[derive(Debug, Clone, Copy)]
struct Column {
    step: f32,
    range: Range,
    is_whole: bool,
}

impl Columns {
    /// None where all columns move alike.
    pub(crate) fn of(
        probe: Probe,
        radii: Option<&[f64]>,
        inputs: &Samples<'_>,
    ) -> Result<Option<Self>, Error> {
        if radii.is_none() && probe.unit() == RadiusUnit::Number {
            return Ok(None);
        }
        let columns = facts(inputs).into_iter().enumerate().map(|(at, known)| {
            let unit = match probe.unit() {
                RadiusUnit::Number => 1.0,
                RadiusUnit::Deviation => known.deviation,
            };
            let asked = probe.radius() * unit * radii.map_or(1.0, |radii| radii[at]);
            let step = match (known.is_whole, radii) {
                (false, _) => asked,
                (true, Some(_)) => asked.floor(),
                (true, None) => 0.0,
            };
            Column { step: step as f32, range: known.range, is_whole: known.is_whole }
        });
        let columns: Arc<[Column]> = columns.collect();
        let can_move = |column: &Column| column.step > 0.0 && column.range.least < column.range.most;
        if !columns.iter().any(can_move) {
            return Err(Error::NothingMoves { columns: columns.len() });
        }
        Ok(Some(Self(columns)))
    }

    /// A number of a column after a part of its step, from −1 to 1.
    pub(crate) fn moved(&self, column: usize, number: f32, part: f32) -> f32 {
        let Column { step, range, is_whole } = self.0[column];
        let by = part * step;
        range.clamp(number + if is_whole { by.trunc() } else { by })
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
