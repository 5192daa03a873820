//! What an attack found.

/// Where a sample was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// The attack of the series that did it.
    pub attack: &'static str,
    /// The start, from 0; for a targeted attack, the rank of its target among the other classes.
    pub restart: usize,
    /// Steps or queries that were taken from it; 0 is the start itself.
    pub step: usize,
    /// The class that was predicted instead.
    pub class: usize,
}

/// The outcome of one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its class.
    pub label: usize,
    /// The predicted class of the unperturbed sample.
    pub clean_class: usize,
    /// Where it was broken, if it was classified correctly and did not survive.
    pub broken: Option<Broken>,
    /// The smallest margin that was seen: the output of the true class minus the largest other. NaN if the outputs of the
    /// unperturbed sample are NaN.
    pub margin: f32,
}

impl Outcome {
    /// Whether the unperturbed sample was classified correctly.
    pub fn clean(&self) -> bool {
        self.clean_class == self.label && !self.margin.is_nan()
    }

    /// Whether it was, and remained so.
    pub fn robust(&self) -> bool {
        self.clean() && self.broken.is_none()
    }
}

/// What an attack found.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackReport {
    /// One per sample.
    pub outcomes: Vec<Outcome>,
    /// For each sample, the point that broke it, or the last one that was tried; the sample itself if it was wrong from the
    /// beginning.
    pub adversarial: Vec<f32>,
}

impl AttackReport {
    /// The share of samples that are classified correctly without attack.
    pub fn clean_accuracy(&self) -> f64 {
        self.share(Outcome::clean)
    }

    /// The share of samples that are classified correctly under attack.
    pub fn robust_accuracy(&self) -> f64 {
        self.share(Outcome::robust)
    }

    /// Where samples were broken.
    pub fn broken(&self) -> impl Iterator<Item = &Broken> {
        self.outcomes.iter().filter_map(|outcome| outcome.broken.as_ref())
    }

    fn share(&self, holds: impl Fn(&Outcome) -> bool) -> f64 {
        self.outcomes.iter().filter(|outcome| holds(outcome)).count() as f64 / self.outcomes.len() as f64
    }
}
