//! Long work that is saved in parts, so that a killed run loses little of it.
//!
//! A [`Monitor`](crate::monitor::Monitor) may have a place for parts ([`Checkpoints`]). Work that can take longer than a minute
//! asks it for the part that an earlier run left, and saves a new part from time to time. Parts must not change the result: work
//! that continues from a part ends with the same bits as work that was never interrupted.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Distinguishes the data of one piece of work from those of another.
pub trait Identity: Sync {
    /// Gives all bytes that count to `take`, in a fixed order.
    fn feed(&self, take: &mut dyn FnMut(&[u8]));
}

/// A piece of work, described so that a place for parts can distinguish it from others.
pub struct Work<'a> {
    /// What is done; it becomes part of a file name.
    pub name: &'static str,
    /// Everything that the result depends on except the data.
    pub parameters: String,
    /// The data that it is done to.
    pub data: &'a dyn Identity,
    key: OnceLock<String>,
}

impl<'a> Work<'a> {
    /// Some work on some data.
    pub fn new(name: &'static str, data: &'a dyn Identity, parameters: String) -> Self {
        Self { name, parameters, data, key: OnceLock::new() }
    }

    /// The text that identifies the work. `digest` computes it on the first call only, because data may be large.
    pub fn key(&self, digest: impl FnOnce(&Self) -> String) -> &str {
        self.key.get_or_init(|| digest(self))
    }
}

/// A place where parts of unfinished work are kept between runs.
pub trait Checkpoints: Sync {
    /// The complete part that an earlier run stored for this work; none if there is none, or none that can be used.
    fn stored(&self, work: &Work<'_>) -> Option<Vec<u8>>;

    /// Whether it is time to store a part again. Called often, from many threads, of which one gets `true`.
    fn is_due(&self) -> bool;

    /// Whether the result of work that took this long is stored, because later work may be interrupted.
    fn is_long(&self, took: Duration) -> bool;

    /// Stores a part of this work in place of the previous one. A part that cannot be stored is lost, and the work goes on.
    fn keep(&self, work: &Work<'_>, state: &[u8]);
}

/// One piece of work and where its parts are kept, if anywhere.
pub struct Resumable<'a> {
    work: Work<'a>,
    place: Option<&'a dyn Checkpoints>,
    began: Instant,
}

impl<'a> Resumable<'a> {
    /// Starts the clock for work that begins now.
    pub fn new(work: Work<'a>, place: Option<&'a dyn Checkpoints>) -> Self {
        Self { work, place, began: Instant::now() }
    }

    /// Whether parts are stored at all.
    pub fn is_kept(&self) -> bool {
        self.place.is_some()
    }

    /// The part that an earlier run left, if there is one.
    pub fn stored(&self) -> Option<Vec<u8>> {
        self.place?.stored(&self.work)
    }

    /// Stores the state if enough time has passed since the last part.
    pub fn keep_if_due(&self, state: impl FnOnce() -> Vec<u8>) {
        if let Some(place) = self.place.filter(|place| place.is_due()) {
            place.keep(&self.work, &state());
        }
    }

    /// Stores the state, because the work ends here.
    pub fn keep(&self, state: impl FnOnce() -> Vec<u8>) {
        if let Some(place) = self.place {
            place.keep(&self.work, &state());
        }
    }

    /// Stores the result if it took long to compute.
    pub fn keep_result(&self, state: impl FnOnce() -> Vec<u8>) {
        if let Some(place) = self.place.filter(|place| place.is_long(self.began.elapsed())) {
            place.keep(&self.work, &state());
        }
    }
}

/// Numbers as bytes, the lowest first; every list is preceded by its length.
#[derive(Debug, Default)]
pub struct StateWriter(Vec<u8>);

impl StateWriter {
    /// Appends whole numbers.
    pub fn counts(&mut self, values: impl ExactSizeIterator<Item = u64>) {
        self.length(values.len());
        values.for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
    }

    /// Appends indices.
    pub fn indices(&mut self, values: impl ExactSizeIterator<Item = u32>) {
        self.length(values.len());
        values.for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
    }

    /// Appends numbers in single precision.
    pub fn singles(&mut self, values: &[f32]) {
        self.length(values.len());
        for value in values {
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// Appends numbers in double precision.
    pub fn doubles(&mut self, values: &[f64]) {
        self.length(values.len());
        for value in values {
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    fn length(&mut self, length: usize) {
        self.0.extend_from_slice(&(length as u64).to_le_bytes());
    }

    /// The bytes written so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads what a [`StateWriter`] wrote; `None` if the bytes contain something else.
#[derive(Debug)]
pub struct StateReader<'a>(&'a [u8]);

impl<'a> StateReader<'a> {
    /// Reads from the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whole numbers.
    pub fn counts(&mut self) -> Option<Vec<u64>> {
        self.list(u64::from_le_bytes)
    }

    /// N whole numbers.
    pub fn some_counts<const N: usize>(&mut self) -> Option<[u64; N]> {
        self.counts()?.try_into().ok()
    }

    /// Indices.
    pub fn indices(&mut self) -> Option<Vec<u32>> {
        self.list(u32::from_le_bytes)
    }

    /// Numbers in single precision.
    pub fn singles(&mut self) -> Option<Vec<f32>> {
        self.list(f32::from_le_bytes)
    }

    /// Numbers in double precision.
    pub fn doubles(&mut self) -> Option<Vec<f64>> {
        self.list(f64::from_le_bytes)
    }

    /// Whether everything was read.
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn list<T, const N: usize>(&mut self, value: fn([u8; N]) -> T) -> Option<Vec<T>> {
        let (length, rest) = self.0.split_first_chunk()?;
        let bytes = usize::try_from(u64::from_le_bytes(*length)).ok()?.checked_mul(N)?;
        let (values, rest) = rest.split_at_checked(bytes)?;
        self.0 = rest;
        Some(values.as_chunks::<N>().0.iter().map(|&bytes| value(bytes)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let mut state = StateWriter::default();
        state.counts([3, u64::MAX].into_iter());
        state.indices([7].into_iter());
        state.singles(&[-0.0, 1.5]);
        state.doubles(&[f64::MIN_POSITIVE, f64::INFINITY]);
        let bytes = state.into_bytes();
        let mut read = StateReader::new(&bytes);
        assert_eq!(read.some_counts(), Some([3, u64::MAX]));
        assert_eq!(read.indices(), Some(vec![7]));
        assert_eq!(read.singles().map(|values| values[0].to_bits()), Some((-0.0_f32).to_bits()));
        assert_eq!(read.doubles(), Some(vec![f64::MIN_POSITIVE, f64::INFINITY]));
        assert!(read.is_at_end());
        // A length that promises more than there is asks for no memory.
        assert_eq!(StateReader::new(&u64::MAX.to_le_bytes()).doubles(), None);
        assert_eq!(StateReader::new(&bytes[..20]).counts(), None);
    }
}
