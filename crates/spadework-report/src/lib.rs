//! Pages and plots of Spadework's results.
//!
//! [`score_page`], [`comparison_page`], [`sweep_page`] and [`layers_page`] each make one self-contained HTML file. It opens without a
//! network, prints, and follows the reader's theme. [`score_charts`] and similar functions return the same figures one by one,
//! and [`Chart::file`] writes them as SVG, PNG or PDF.
//!
//! Templates (`templates/`) have the text and tables of a page, and escape everything; `charts/` makes the charts; `assets/page.js`
//! draws the interactive parts from one JSON object (`explorer.rs`).
#![forbid(unsafe_code)]

mod charts;
mod comparison;
mod error;
mod evidence;
mod explorer;
mod figure_file;
mod headlines;
mod label_names;
mod layers;
mod packed;
mod page;
mod page_facts;
mod pdf;
mod pictures;
mod provenance;
mod score;
mod sweep;
mod variants;

use spadework::{Samples, SpadeReport};
use spadework_document::score::ScoreDocument;
use spadework_io::Labels;
use spadework_probe::{FragilityBasis, SampleFacts, Variant};

pub use charts::{Chart, escape};
pub use comparison::{
    ComparedModels, attacks_tried, comparison_charts, comparison_page, comparison_page_of_document,
};
pub use error::{Error, Result};
pub use figure_file::FigureFormat;
pub use layers::{layers_charts, layers_page};
pub use page_facts::PageFacts;
pub use provenance::Origin;
pub use score::{score_charts, score_charts_of_document, score_page, score_page_of_document};
pub use sweep::{sweep_charts, sweep_page};

/// Figures of other numbers, in the style of the pages.
pub mod figures {
    pub use crate::charts::{AxisNames, Band, Series, bars, lines, number, pairs, scatter};
}

/// The inputs of a model with the shape that they have in their file.
#[derive(Debug, Clone, Copy)]
pub struct InputArray<'a> {
    /// The samples, flattened.
    pub samples: &'a Samples<'a>,
    /// Their shape; the first extent counts the samples.
    pub shape: &'a [usize],
}

/// Numbers about every sample next to its score, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub struct SampleColumns<'a> {
    /// Its margin.
    pub margins: Option<&'a [f64]>,
    /// How fragile it is compared with the others, from 0 to 1; none if only node scores are known.
    pub fragility: Option<&'a [f64]>,
    /// Its predicted label; none if labels and outputs do not match.
    pub predicted: Option<&'a [i64]>,
}

/// The samples of a page, and how it shows them.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageSamples<'a> {
    /// Labels, if there are any.
    pub labels: Option<&'a Labels>,
    /// The inputs, unless a graph was given in their place.
    pub inputs: Option<InputArray<'a>>,
    /// The names of the samples; without them, their positions are used.
    pub ids: Option<&'a [String]>,
    /// The names of the columns of the inputs.
    pub columns: Option<&'a [String]>,
    /// Maximum number of pictures on the page.
    pub pictures: Option<usize>,
    /// Probes that broke samples.
    pub variants: &'a [Variant],
}

impl<'a> From<&'a SampleFacts> for SampleColumns<'a> {
    fn from(facts: &'a SampleFacts) -> Self {
        let margins = facts.margins.as_ref().map(spadework_probe::Margins::values);
        let is_more = facts.fragility.basis() != FragilityBasis::NodeScores;
        let fragility = is_more.then(|| facts.fragility.values());
        Self { margins, fragility, predicted: facts.predicted.as_deref() }
    }
}

/// A scored model and what it was scored on.
#[derive(Debug, Clone, Copy)]
pub struct ScoredModel<'a> {
    /// The result as it is written.
    pub document: &'a ScoreDocument,
    /// The result as it was computed.
    pub report: &'a SpadeReport,
    /// The outputs, unless a graph was given in their place.
    pub outputs: Option<&'a Samples<'a>>,
    /// Numbers next to the scores of the samples.
    pub columns: SampleColumns<'a>,
    /// The samples, and how the page shows them.
    pub samples: PageSamples<'a>,
}
