//! The answers of a model, stored so that interrupted probes can continue where they were.
//!
//! Probes are a fixed sequence of questions to the model, and each depends on the previous answers. So it is enough to store the answers:
//! in the next run, the journal answers the same questions, and everything else follows. For samples that are done, their results replace
//! the answers. A question is identified by the numbers of its rows, so answers to other questions are never used.

use std::collections::VecDeque;

use spadework::Samples;
use spadework::checkpoint::{Resumable, StateReader, StateWriter, Work};
use spadework::monitor::Monitor;
use spadework::samples::Values;

/// An answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The outputs of some rows.
    Singles { dim: usize, values: Vec<f32> },
    /// The same in double precision.
    Doubles { dim: usize, values: Vec<f64> },
    /// The margins of some rows.
    Margins(Vec<f64>),
}

impl Answer {
    /// Outputs as they are kept.
    pub(crate) fn of(outputs: &Samples<'_>) -> Self {
        let dim = outputs.dim();
        match outputs.values() {
            Values::F64(values) => Answer::Doubles { dim, values: values.to_vec() },
            // Single precision holds all others.
            values => Answer::Singles { dim, values: values.all_singles().into_owned() },
        }
    }

    /// The outputs of so many rows; `None` if the answer is something else.
    pub(crate) fn into_outputs(self, rows: usize) -> Option<Samples<'static>> {
        match self {
            Answer::Singles { dim, values } => Samples::from_f32(rows, dim, values).ok(),
            Answer::Doubles { dim, values } => Samples::from_f64(rows, dim, values).ok(),
            Answer::Margins(_) => None,
        }
    }

    /// The margins of so many rows; `None` if the answer is something else.
    pub(crate) fn into_margins(self, rows: usize) -> Option<Vec<f64>> {
        match self {
            Answer::Margins(margins) if margins.len() == rows => Some(margins),
            _ => None,
        }
    }

    fn write(&self, state: &mut StateWriter) {
        let (kind, dim) = match self {
            Answer::Singles { dim, .. } => (0, *dim),
            Answer::Doubles { dim, .. } => (1, *dim),
            Answer::Margins(_) => (2, 0),
        };
        state.counts([kind, dim as u64].into_iter());
        match self {
            Answer::Singles { values, .. } => state.singles(values),
            Answer::Doubles { values, .. } | Answer::Margins(values) => state.doubles(values),
        }
    }

    fn read(state: &mut StateReader<'_>) -> Option<Self> {
        let [kind, dim] = state.some_counts()?;
        let dim = dim as usize;
        match kind {
            0 => Some(Answer::Singles { dim, values: state.singles()? }),
            1 => Some(Answer::Doubles { dim, values: state.doubles()? }),
            2 => Some(Answer::Margins(state.doubles()?)),
            _ => None,
        }
    }
}

/// Questions with their answers, in the order in which they were asked.
type Asked = VecDeque<(u64, Answer)>;

/// How far the probes of a model were when a batch of samples was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) evaluations: u64,
    pub(crate) batches: u64,
    pub(crate) rounds_done: u64,
}

/// What was found of the samples that are done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Finished {
    /// Some numbers per sample, as the caller wrote them.
    pub(crate) numbers: Vec<f64>,
    pub(crate) counts: Counts,
}

/// The answers of a model, where there is a place for them.
pub(crate) struct Journal<'a> {
    parts: Resumable<'a>,
    /// Answers that an earlier run left and that are not asked for yet.
    known: Asked,
    /// Answers about all samples, which are asked for first.
    about_all: Asked,
    /// Answers about samples that are not done.
    current: Asked,
    /// Whether questions are still about all samples.
    is_about_all: bool,
    finished: Finished,
}

impl<'a> Journal<'a> {
    /// The journal of the probes of a model on some inputs, with what an earlier run left.
    pub(crate) fn new(
        name: &'static str,
        inputs: &'a Samples<'a>,
        parameters: String,
        monitor: &'a dyn Monitor,
    ) -> Self {
        let parts = Resumable::new(Work::new(name, inputs, parameters), monitor.checkpoints());
        let stored = parts.stored().and_then(|state| read(&state));
        let (finished, known) = stored.unwrap_or_default();
        let (about_all, current) = (Asked::new(), Asked::new());
        Self { parts, known, about_all, current, is_about_all: true, finished }
    }

    /// What an earlier run has found of the first samples; questions are about others from now on.
    pub(crate) fn finished(&mut self) -> Finished {
        self.is_about_all = false;
        self.finished.clone()
    }

    /// The answer to a question about these rows, if the next answer that is left is to that.
    pub(crate) fn known(&mut self, rows: &[f32]) -> Option<Answer> {
        let (asked, _) = self.known.front()?;
        if *asked != question(rows) {
            self.known.clear();
            return None;
        }
        let (asked, answer) = self.known.pop_front()?;
        self.remember(asked, answer.clone());
        Some(answer)
    }

    /// Takes down what the model says to a question that an earlier run may have asked. Where it says something else now, it is
    /// another model, and what the earlier run left is forgotten.
    pub(crate) fn compare(&mut self, asked: u64, then: Option<Answer>, now: Answer) {
        match then {
            Some(then) if then == now => return,
            Some(_) => {
                self.about_all.clear();
                (self.finished, self.known) = Default::default();
            }
            None => {}
        }
        self.keep(asked, now);
    }

    /// Whether answers are kept.
    fn is_kept(&self) -> bool {
        self.parts.is_kept()
    }

    /// Takes down an answer, and keeps all of them if it is time to.
    pub(crate) fn keep(&mut self, asked: u64, answer: Answer) {
        if self.is_kept() {
            self.remember(asked, answer);
            self.parts.keep_if_due(|| self.state());
        }
    }

    fn remember(&mut self, asked: u64, answer: Answer) {
        let into = if self.is_about_all { &mut self.about_all } else { &mut self.current };
        into.push_back((asked, answer));
    }

    /// Some samples more are done: what was found of them takes the place of the answers.
    pub(crate) fn finish(&mut self, numbers: impl Iterator<Item = f64>, counts: Counts) {
        if self.is_kept() {
            self.finished.numbers.extend(numbers);
            self.finished.counts = counts;
            self.current.clear();
        }
    }

    /// The work ends before all samples are done: whoever goes on loses nothing.
    pub(crate) fn keep_unfinished(&self) {
        let is_begun =
            !(self.finished.numbers.is_empty() && self.about_all.is_empty() && self.current.is_empty());
        if is_begun {
            self.parts.keep(|| self.state());
        }
    }

    /// All samples are done.
    pub(crate) fn keep_result(&self) {
        self.parts.keep_result(|| self.state());
    }

    fn state(&self) -> Vec<u8> {
        let Finished { numbers, counts } = &self.finished;
        let mut state = StateWriter::default();
        state.doubles(numbers);
        state.counts([counts.evaluations, counts.batches, counts.rounds_done].into_iter());
        // Those that are known and not asked for yet come last: nothing is lost where a run is interrupted twice.
        for (asked, answer) in self.about_all.iter().chain(&self.current).chain(&self.known) {
            state.counts([*asked].into_iter());
            answer.write(&mut state);
        }
        state.into_bytes()
    }
}

fn read(state: &[u8]) -> Option<(Finished, Asked)> {
    let mut state = StateReader::new(state);
    let numbers = state.doubles()?;
    let [evaluations, batches, rounds_done] = state.some_counts()?;
    let mut known = Asked::new();
    while !state.is_at_end() {
        let [asked] = state.some_counts()?;
        known.push_back((asked, Answer::read(&mut state)?));
    }
    Some((Finished { numbers, counts: Counts { evaluations, batches, rounds_done } }, known))
}

/// A number that tells rows from others: multiplied and rotated, word by word.
pub(crate) fn question(rows: &[f32]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let (pairs, rest) = rows.as_chunks::<2>();
    let word = |[a, b]: [f32; 2]| u64::from(a.to_bits()) << 32 | u64::from(b.to_bits());
    let hash = pairs.iter().fold(rows.len() as u64, |hash, &pair| mix(hash, word(pair)));
    rest.iter().fold(hash, |hash, value| mix(hash, u64::from(value.to_bits())))
}
