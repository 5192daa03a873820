//! An array whose numbers were checked, or a graph: one side of a model.

use std::sync::OnceLock;

use spadework::{Manifold, Samples};
use spadework_document::score::ArrayDocument;
use spadework_io::{Dataset, Error as FileError, Labels, LoadedGraph, digest, graph_digest};

use crate::data::Rows;
use crate::failure::Failure;
use crate::places::working_folder;

/// An array that was loaded, or handed over.
#[derive(Debug)]
pub(crate) enum Array<'a> {
    Dataset(Dataset),
    Rows(&'a Rows<'a>),
}

impl Array<'_> {
    pub(crate) fn name(&self) -> &str {
        match self {
            Array::Dataset(dataset) => dataset.name(),
            Array::Rows(rows) => rows.name,
        }
    }

    pub(crate) fn labels(&self) -> Option<&Labels> {
        match self {
            Array::Dataset(dataset) => dataset.labels(),
            Array::Rows(_) => None,
        }
    }

    fn columns(&self) -> Option<&[String]> {
        match self {
            Array::Dataset(dataset) => dataset.columns(),
            Array::Rows(_) => None,
        }
    }

    fn is_mapped(&self) -> bool {
        matches!(self, Array::Dataset(dataset) if dataset.is_mapped())
    }

    fn shape(&self) -> &[usize] {
        match self {
            Array::Dataset(dataset) => dataset.shape(),
            Array::Rows(rows) => &rows.shape,
        }
    }

    /// The samples. The numbers of a file are checked when they are asked for the first time.
    pub(crate) fn samples(&self) -> Result<Samples<'_>, Failure> {
        match self {
            Array::Dataset(dataset) => Ok(dataset.samples()?),
            Array::Rows(rows) => Ok(rows.samples.view()),
        }
    }
}

/// An array whose numbers were checked, or a graph.
#[derive(Debug)]
pub(crate) struct SideView<'s> {
    name: &'s str,
    /// Whether the user typed that name, or it is the one of an argument.
    is_file: bool,
    /// Empty where it is a graph.
    shape: &'s [usize],
    labels: Option<&'s Labels>,
    columns: Option<&'s [String]>,
    /// Whether its numbers lie in a mapped file.
    is_mapped: bool,
    manifold: Manifold<'s>,
    digest: OnceLock<String>,
}

impl<'s> SideView<'s> {
    pub(crate) fn of_array(array: &'s Array<'_>) -> Result<Self, Failure> {
        Ok(Self {
            name: array.name(),
            is_file: matches!(array, Array::Dataset(_)),
            shape: array.shape(),
            labels: array.labels(),
            columns: array.columns(),
            is_mapped: array.is_mapped(),
            manifold: array.samples()?.into(),
            digest: OnceLock::new(),
        })
    }

    pub(crate) fn of_graph(name: &'s str, is_file: bool, graph: LoadedGraph) -> Self {
        let manifold = graph.graph.into();
        Self {
            name,
            is_file,
            shape: &[],
            labels: None,
            columns: None,
            is_mapped: false,
            manifold,
            digest: OnceLock::new(),
        }
    }

    /// What the user typed.
    pub(crate) fn name(&self) -> &'s str {
        self.name
    }

    /// Whether the user typed that name, or it is the one of an argument.
    pub(crate) fn is_file(&self) -> bool {
        self.is_file
    }

    /// What the user typed; none of an array in memory.
    pub(crate) fn file_name(&self) -> Option<&'s str> {
        self.is_file.then_some(self.name)
    }

    /// The shape in the file; empty if it is a graph.
    pub(crate) fn shape(&self) -> &'s [usize] {
        self.shape
    }

    /// The shape of one sample; one number per sample is a shape too.
    pub(crate) fn sample_shape(&self) -> &'s [usize] {
        match self.shape {
            [] | [_] => &[1],
            [_, sample @ ..] => sample,
        }
    }

    /// Labels that come with the array.
    pub(crate) fn labels(&self) -> Option<&'s Labels> {
        self.labels
    }

    /// What the numbers of a sample are called, where the file says so.
    pub(crate) fn columns(&self) -> Option<&'s [String]> {
        self.columns
    }

    /// Whether its numbers lie in a mapped file.
    pub(crate) fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    pub(crate) fn manifold(&self) -> &Manifold<'s> {
        &self.manifold
    }

    /// The samples, where it is not a graph.
    pub(crate) fn samples(&self) -> Option<&Samples<'s>> {
        self.manifold.samples()
    }

    /// The digest of the array or graph, found when somebody asks for it.
    pub(crate) fn digest(&self) -> &str {
        self.digest.get_or_init(|| match &self.manifold {
            Manifold::Samples(samples) => digest(samples),
            Manifold::Graph(graph) => graph_digest(graph),
        })
    }

    /// The array as a result remembers it; none if it is a graph.
    pub(crate) fn document(&self) -> Option<ArrayDocument> {
        self.samples()?;
        let (array, digest) = (self.name.to_owned(), self.digest().to_owned());
        Some(ArrayDocument { array, folder: working_folder(), digest })
    }

    /// Refuses a single sample, which has no neighbors.
    pub(crate) fn check_length(&self) -> Result<(), Failure> {
        let checked = self.samples().map_or(Ok(()), Samples::check_several);
        Ok(checked.map_err(|cause| FileError::Samples { name: self.name.to_owned(), cause })?)
    }
}
