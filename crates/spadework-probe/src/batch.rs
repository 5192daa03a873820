//! Samples that are probed together, and the results of each.

/// Results of the probes of one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ProbedSample {
    /// Which sample of the inputs.
    pub index: usize,
    /// Its class: the position of the largest output.
    pub class: usize,
    /// Its margin: that output minus the next largest one.
    pub margin: f64,
    /// The smallest margin over the sample and its probes; negative if a probe has another class.
    pub lowest: f64,
    /// How much the margins of the probes vary; none after a search, because its probes depend on each other.
    pub scatter: Option<Scatter>,
    /// The share of the margin that was lost in the last three quarters of the search; none for random probes.
    pub late_loss: Option<f64>,
    /// The chance that it keeps its class under the strongest attack of this size, after a search; none for
    /// random probes.
    pub chance: Option<Chance>,
}

/// How likely it is that a sample resists the strongest attack of a given size.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Chance {
    /// The estimated chance.
    pub expected: f64,
    /// The chance if the pilots mislead in one direction: the smallest.
    pub least: f64,
    /// The chance if they mislead in the other direction: the largest.
    pub most: f64,
    /// What the chance follows from, with weights: the logarithm of the share of the margin that a search as long as a pilot's would
    /// remove; 0 for a sample that is lost.
    pub taken: f64,
    /// And the logarithm of how many times as much the pilots have lost in the end as after half of their probes; 0 likewise.
    pub late: f64,
}

/// A probe on which a sample loses its class.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Variant {
    /// Which sample of the inputs.
    pub index: usize,
    /// The class that the model gives to the probe.
    pub class: usize,
    /// The margin on the probe: 0 or less.
    pub margin: f64,
    /// The numbers of the probe.
    pub row: Vec<f32>,
}

/// Random probes of one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Scatter {
    /// Root mean square of the change of the margin over the probes.
    pub change: f64,
    /// The share of the probes that keep the class.
    pub kept: f64,
}

impl ProbedSample {
    /// Numbers per sample between runs.
    const NUMBERS: usize = 12;

    /// All of it as numbers, with NaN for what there is not.
    pub(crate) fn numbers(&self) -> [f64; Self::NUMBERS] {
        let [change, kept] = self.scatter.map_or([f64::NAN; 2], |scatter| [scatter.change, scatter.kept]);
        let late_loss = self.late_loss.unwrap_or(f64::NAN);
        let [expected, least, most, taken, late] = self.chance.map_or([f64::NAN; 5], |chance| {
            [chance.expected, chance.least, chance.most, chance.taken, chance.late]
        });
        let (index, class) = (self.index as f64, self.class as f64);
        [index, class, self.margin, self.lowest, change, kept, late_loss, expected, least, most, taken, late]
    }

    /// Samples from their numbers.
    pub(crate) fn of_numbers(numbers: &[f64]) -> Vec<Self> {
        let some = |number: f64| Some(number).filter(|number| !number.is_nan());
        let sample = |numbers: &[f64; Self::NUMBERS]| {
            let &[index, class, margin, lowest, change, kept, late_loss, expected, least, most, taken, late] =
                numbers;
            Self {
                index: index as usize,
                class: class as usize,
                margin,
                lowest,
                scatter: some(change).map(|change| Scatter { change, kept }),
                late_loss: some(late_loss),
                chance: some(expected).map(|expected| Chance { expected, least, most, taken, late }),
            }
        };
        numbers.as_chunks().0.iter().map(sample).collect()
    }

    /// Whether every probe keeps the class.
    pub fn holds(&self) -> bool {
        self.lowest > 0.0
    }

    /// The share of the margin that the worst probe leaves: 1 if no probe reduces it, 0 if the class is lost.
    pub fn stability(&self) -> f64 {
        if self.holds() { self.lowest / self.margin } else { 0.0 }
    }

    /// The margin divided by its root mean square change; infinite if no probe changes it, none after a
    /// search.
    pub fn ratio(&self) -> Option<f64> {
        self.scatter.map(|scatter| if self.margin > 0.0 { self.margin / scatter.change } else { 0.0 })
    }
}

/// Samples whose copies go through the model together.
pub(crate) struct Batch {
    pub(crate) dim: usize,
    /// Which of the inputs they are.
    pub(crate) indices: Vec<usize>,
    /// Their numbers, row after row.
    pub(crate) rows: Vec<f32>,
    pub(crate) classes: Vec<usize>,
    /// The second largest output of each.
    pub(crate) runners_up: Vec<usize>,
    pub(crate) margins: Vec<f64>,
}

impl Batch {
    pub(crate) fn len(&self) -> usize {
        self.indices.len()
    }

    pub(crate) fn row(&self, at: usize) -> &[f32] {
        &self.rows[at * self.dim..(at + 1) * self.dim]
    }

    /// The samples before any copy was tried.
    pub(crate) fn unprobed(&self) -> Vec<ProbedSample> {
        let sample = |at: usize| ProbedSample {
            index: self.indices[at],
            class: self.classes[at],
            margin: self.margins[at],
            lowest: self.margins[at],
            scatter: None,
            late_loss: None,
            chance: None,
        };
        (0..self.len()).map(sample).collect()
    }
}
