//! Checkpoints in memory; tests of probes read this file too.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use spadework::Monitor;
use spadework::checkpoint::{Checkpoints, Work};

/// A place in memory, and a run that is stopped after so many parts were kept.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) parts: Mutex<HashMap<String, Vec<u8>>>,
    /// Parts that may be kept before the run is stopped; none: it is not stopped.
    pub(crate) stops_after: Option<usize>,
    pub(crate) kept: AtomicUsize,
    pub(crate) taken: AtomicUsize,
    pub(crate) asked: AtomicUsize,
    /// Of how many questions whether it is time one is answered with yes.
    pub(crate) every: usize,
}

impl Memory {
    pub(crate) fn stopping_after(kept: usize, every: usize) -> Self {
        Self { stops_after: Some(kept), every, ..Self::default() }
    }

    /// The next run, which has what this one left.
    pub(crate) fn next(self, stops_after: Option<usize>) -> Self {
        Self { parts: self.parts, stops_after, every: self.every, ..Self::default() }
    }

    fn key(work: &Work<'_>) -> String {
        let mut hash = 0_u64;
        work.data.feed(&mut |bytes| {
            for &byte in bytes {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        });
        format!("{} {} {hash}", work.name, work.parameters)
    }
}

impl Monitor for Memory {
    fn is_cancelled(&self) -> bool {
        self.stops_after.is_some_and(|most| self.kept.load(Ordering::SeqCst) >= most)
    }

    fn checkpoints(&self) -> Option<&dyn Checkpoints> {
        Some(self)
    }
}

impl Checkpoints for Memory {
    fn stored(&self, work: &Work<'_>) -> Option<Vec<u8>> {
        let found = self.parts.lock().unwrap().get(&Self::key(work)).cloned();
        self.taken.fetch_add(usize::from(found.is_some()), Ordering::SeqCst);
        found
    }

    fn is_due(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst).is_multiple_of(self.every.max(1))
    }

    fn is_long(&self, _: Duration) -> bool {
        true
    }

    fn keep(&self, work: &Work<'_>, state: &[u8]) {
        self.parts.lock().unwrap().insert(Self::key(work), state.to_vec());
        self.kept.fetch_add(1, Ordering::SeqCst);
    }
}
