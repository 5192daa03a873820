//! What a probe is, in words and numbers.

use std::fmt;
use std::str::FromStr;

use spadework::error::{Readable, UnknownWord};

use crate::radius::parse_radius;

/// Side of the squares of `block`, where none is given: the noise that moved margins most in images of 28 and 32 pixels.
const SIDE: usize = 4;
/// What follows a radius in standard deviations.
const DEVIATIONS: &str = "sd";
/// Cycles of `smooth`, where none are given.
const CYCLES: usize = 2;

/// The norm in which a probe's radius is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProbeNorm {
    /// Every number moves by at most the radius.
    Linf,
    /// The sample moves by at most the radius, as a vector.
    L2,
}

spadework::words! { written ProbeNorm { Linf = "linf", L2 = "l2" } }

/// What a radius is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RadiusUnit {
    /// The numbers themselves, the same for all columns.
    #[default]
    Number,
    /// The standard deviation of every column over all inputs: for tables, whose columns have units of their own.
    Deviation,
}

/// How the probes of a sample are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ProbeKind {
    /// One after the other, each learning from the previous ones. In L∞, signs of nested blocks are flipped, and kept if the
    /// margin shrinks; in L2, probes follow an estimate of the gradient and improve it.
    #[default]
    Search,
    /// At random, a sign for every number: the highest frequencies.
    Pixel,
    /// At random, a sign for every square of this side in every channel.
    Block {
        /// Side of a square.
        side: usize,
    },
    /// At random, waves of at most this many cycles over the image: the lowest frequencies.
    Smooth {
        /// Most cycles along each side.
        cycles: usize,
    },
}

impl fmt::Display for ProbeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProbeKind::Search => f.write_str("search"),
            ProbeKind::Pixel => f.write_str("pixel"),
            ProbeKind::Block { side } => write!(f, "block:{side}"),
            ProbeKind::Smooth { cycles } => write!(f, "smooth:{cycles}"),
        }
    }
}

/// Perturbations of one size and kind, such as `linf:0.1`, `linf:8/255:block:2`, `linf:0.1sd` or `l2:0.5:pixel`.
///
/// Invariants: the radius, the side and the cycles are positive and finite.
///
/// ```
/// use spadework_probe::{Probe, ProbeKind, ProbeNorm};
/// let probe: Probe = "linf:8/255:block".parse()?;
/// assert_eq!((probe.norm(), probe.kind()), (ProbeNorm::Linf, ProbeKind::Block { side: 4 }));
/// assert_eq!(probe.radius(), 8.0 / 255.0);
/// assert_eq!("l2:0.5".parse::<Probe>()?.to_string(), "l2:0.5:search");
/// # Ok::<(), spadework::error::UnknownWord>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    norm: ProbeNorm,
    radius: f64,
    unit: RadiusUnit,
    kind: ProbeKind,
}

impl Probe {
    /// The norm of the radius.
    pub fn norm(&self) -> ProbeNorm {
        self.norm
    }

    /// How far a probe may be from its sample, ε.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// What the radius is counted in.
    pub fn unit(&self) -> RadiusUnit {
        self.unit
    }

    /// How probes are made.
    pub fn kind(&self) -> ProbeKind {
        self.kind
    }

    /// The default number of probes per sample for this kind: 8 at random, 256 in a search.
    pub fn usual_count(&self) -> usize {
        match self.kind {
            ProbeKind::Search => 256,
            ProbeKind::Pixel | ProbeKind::Block { .. } | ProbeKind::Smooth { .. } => 8,
        }
    }

    /// How far every number of `dim` moves where all of them move equally far.
    pub(crate) fn step(&self, dim: usize) -> f32 {
        (match self.norm {
            ProbeNorm::Linf => self.radius,
            ProbeNorm::L2 => self.radius / (dim as f64).sqrt(),
        }) as f32
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            RadiusUnit::Number => "",
            RadiusUnit::Deviation => DEVIATIONS,
        };
        write!(f, "{}:{}{unit}:{}", self.norm, Readable(self.radius), self.kind)
    }
}

impl FromStr for Probe {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        parse(text).ok_or(UnknownWord::new("linf:RADIUS or l2:RADIUS with a positive radius such as 0.1 or 8/255 (with linf also 0.1sd: standard deviations of every column), and after it :search, :pixel, \
                       :block, :block:SIDE, :smooth, :smooth:CYCLES or nothing"))
    }
}

fn parse(text: &str) -> Option<Probe> {
    let mut words = text.split(':');
    let norm = match words.next()? {
        "linf" => ProbeNorm::Linf,
        "l2" => ProbeNorm::L2,
        _ => return None,
    };
    let radius = words.next()?;
    let (radius, unit) = match (radius.strip_suffix(DEVIATIONS), norm) {
        (None, _) => (radius, RadiusUnit::Number),
        (Some(radius), ProbeNorm::Linf) => (radius, RadiusUnit::Deviation),
        (Some(_), ProbeNorm::L2) => return None,
    };
    let radius = parse_radius(radius).filter(|&radius| radius > 0.0)?;
    let (kind, count) = (words.next(), words.next());
    let positive = |usual: usize| match count {
        None => Some(usual),
        Some(word) => word.parse().ok().filter(|&count| count > 0),
    };
    let kind = match (kind, count) {
        (None, None) => ProbeKind::default(),
        (Some("search"), None) => ProbeKind::Search,
        (Some("pixel"), None) => ProbeKind::Pixel,
        (Some("block"), _) => ProbeKind::Block { side: positive(SIDE)? },
        (Some("smooth"), _) => ProbeKind::Smooth { cycles: positive(CYCLES)? },
        _ => return None,
    };
    words.next().is_none().then_some(Probe { norm, radius, unit, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_were() {
        for text in
            ["linf:0.1:search", "linf:0.3:pixel", "linf:0.1sd:search", "l2:0.5:block:2", "linf:0.25:smooth:3"]
        {
            assert_eq!(text.parse::<Probe>().unwrap().to_string(), text);
        }
        assert_eq!("linf:0.1".parse::<Probe>(), "linf:1e-1:search".parse());
    }

    #[test]
    fn other_words_are_refused() {
        let wrong = [
            "",
            "linf",
            "linf:",
            "linf:0",
            "linf:-0.1",
            "linf:nan",
            "linf:inf",
            "linf:1/0",
            "linf:1/2/3",
            "l1:0.1",
            "0.1",
            "linf:sd",
            "linf:0sd",
            "linf:0.1 sd",
            "l2:0.1sd",
            "linf:0.1:",
            "linf:0.1:noise",
            "linf:0.1:pixel:4",
            "linf:0.1:block:0",
            "linf:0.1:block:x",
            "linf:0.1:block:4:4",
            "linf:0.1:search:8",
        ];
        for text in wrong {
            let message = text.parse::<Probe>().unwrap_err().to_string();
            assert!(message.starts_with("expected linf:RADIUS or l2:RADIUS"), "{text}: {message}");
        }
    }
}
