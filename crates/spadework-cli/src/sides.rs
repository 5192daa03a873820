//! The two sides of a model as files: arrays, or graphs in their place.

use spadework::graph::GraphKind;
use spadework::samples::Side;
use spadework::{Error as CoreError, Manifold, ManifoldPair, Samples};
use spadework_document::result::{CorruptionDocument, ModelFileDocument};
use spadework_io::{Dataset, Labels, LoadedGraph, load_graph};

use crate::args::{MethodArgs, ModelArgs};
use crate::args_data::CorruptionArgs;
use crate::console::Console;
use crate::corruption::PreparedInputs;
use crate::failure::Failure;
use crate::model_runner::Runner;

/// One side.
#[derive(Debug)]
pub(crate) enum SideFile<'a> {
    Array(Dataset),
    Graph { name: &'a str, loaded: LoadedGraph },
}

impl SideFile<'_> {
    /// What the user typed.
    pub(crate) fn name(&self) -> &str {
        match self {
            SideFile::Array(dataset) => dataset.name(),
            SideFile::Graph { name, .. } => name,
        }
    }

    pub(crate) fn labels(&self) -> Option<&Labels> {
        match self {
            SideFile::Array(dataset) => dataset.labels(),
            SideFile::Graph { .. } => None,
        }
    }

    fn into_dataset(self) -> Option<Dataset> {
        match self {
            SideFile::Array(dataset) => Some(dataset),
            SideFile::Graph { .. } => None,
        }
    }

    /// The samples of an array.
    pub(crate) fn samples(&self) -> Result<Option<Samples<'_>>, Failure> {
        match self {
            SideFile::Array(dataset) => Ok(Some(dataset.samples()?)),
            SideFile::Graph { .. } => Ok(None),
        }
    }

    /// The side as what many models were given.
    pub(crate) fn inputs(&self) -> Result<Manifold<'_>, Failure> {
        Ok(match self {
            SideFile::Array(dataset) => dataset.samples()?.into(),
            SideFile::Graph { loaded, .. } => loaded.graph.clone().into(),
        })
    }

    /// Number of samples, as far as the file says it.
    fn len(&self) -> Option<usize> {
        match self {
            SideFile::Array(dataset) => dataset.shape().first().copied(),
            SideFile::Graph { loaded, .. } => Some(loaded.graph.nodes()),
        }
    }

    fn manifold<'s>(&self, samples: Option<&'s Samples<'s>>) -> Manifold<'s> {
        match (self, samples) {
            (SideFile::Graph { loaded, .. }, _) => loaded.graph.clone().into(),
            (SideFile::Array(_), Some(samples)) => samples.into(),
            (SideFile::Array(_), None) => unreachable!("an array has samples"),
        }
    }
}

/// Both sides.
pub(crate) struct Sides<'a> {
    pub(crate) input: SideFile<'a>,
    pub(crate) output: SideFile<'a>,
    /// The model that was run for the outputs.
    pub(crate) model: Option<ModelFileDocument>,
    /// What was done to the inputs.
    pub(crate) corruption: Option<CorruptionDocument>,
}

impl<'a> Sides<'a> {
    /// Loads the files that the arguments name.
    pub(crate) fn load(
        model: &'a ModelArgs,
        corruption: &CorruptionArgs,
        console: Console,
    ) -> Result<Self, Failure> {
        check_sense(model.input_graph.as_deref(), &model.method, corruption)?;
        let general = &model.method.general;
        let PreparedInputs { dataset: inputs, corruption: made } =
            corruption.prepare(model.inputs.as_deref(), general, console)?;
        let runner = Runner {
            options: model.network.run.options(),
            threads: general.threads,
            inputs: inputs.as_ref(),
            console,
        };
        let outputs = runner.chosen(model.network.model.as_deref(), model.outputs.as_deref())?;
        if outputs.as_ref().is_none_or(|outputs| outputs.model.is_none()) {
            corruption.tell_whose_outputs(general.seed, console);
        }
        let (outputs, model_file) =
            outputs.map_or((None, None), |outputs| (Some(outputs.data), outputs.model));
        let samples =
            |dataset: &Option<Dataset>| dataset.as_ref().and_then(|set| set.shape().first().copied());
        // The output graph first: it is connected, so it names every sample, which a list of input edges need not.
        let output = match (outputs, &model.output_graph) {
            (None, Some(path)) => graph(path, samples(&inputs), console)?,
            (Some(outputs), _) => SideFile::Array(outputs),
            (None, None) => unreachable!("the command line demands one of the two"),
        };
        let input = match (inputs, &model.input_graph) {
            (None, Some(path)) => graph(path, output.len(), console)?,
            (Some(inputs), _) => SideFile::Array(inputs),
            (None, None) => unreachable!("the command line demands one of the two"),
        };
        Ok(Self { input, output, model: model_file, corruption: made })
    }

    /// Manifold and outputs, where they are no graphs.
    pub(crate) fn into_datasets(self) -> (Option<Dataset>, Option<Dataset>) {
        (self.input.into_dataset(), self.output.into_dataset())
    }

    /// Manifold and outputs, where neither is a graph.
    pub(crate) fn into_arrays(self) -> Option<(Dataset, Dataset)> {
        let (inputs, outputs) = self.into_datasets();
        inputs.zip(outputs)
    }

    /// Pairs the sides; `inputs` and `outputs` are what [`SideFile::samples`] gave.
    pub(crate) fn pair<'s>(
        &self,
        inputs: Option<&'s Samples<'s>>,
        outputs: Option<&'s Samples<'s>>,
    ) -> Result<ManifoldPair<'s>, Failure> {
        ManifoldPair::new(self.input.manifold(inputs), self.output.manifold(outputs))
            .map_err(|error| self.with_files(error))
    }

    /// A mismatch of the pair concerns both files; a side without shape one of them.
    fn with_files(&self, error: CoreError) -> Failure {
        let file = match &error {
            CoreError::AllEqual { side, .. } | CoreError::GivenDisconnected { side, .. } => match side {
                Side::Input => self.input.name().to_owned(),
                Side::Output => self.output.name().to_owned(),
            },
            _ => format!("{} and {}", self.input.name(), self.output.name()),
        };
        Failure::from(error).about(&file)
    }
}

/// A projection or corruption of inputs that are not there is a misunderstanding.
pub(crate) fn check_sense(
    input_graph: Option<&str>,
    method: &MethodArgs,
    corruption: &CorruptionArgs,
) -> Result<(), Failure> {
    if input_graph.is_some() && corruption.corruption.is_some() {
        return Err(Failure::usage(
            "--corruption changes the inputs, but --input-graph is given in their place",
        ));
    }
    if input_graph.is_some() && matches!(method.graph, GraphKind::Pca(_)) {
        return Err(Failure::usage(
            "--graph pca: projects the inputs, but --input-graph is given in their place",
        ));
    }
    Ok(())
}

/// Loads a graph; a list of edges need not name every one of its `nodes`.
pub(crate) fn graph(path: &str, nodes: Option<usize>, console: Console) -> Result<SideFile<'_>, Failure> {
    let loaded = load_graph(path, nodes)?;
    for (count, what) in [(loaded.loops, "on the diagonal"), (loaded.zeros, "of weight 0")] {
        if count > 0 {
            let entries = match count {
                1 => format!("1 entry {what} is no edge and is"),
                _ => format!("{count} entries {what} are no edges and are"),
            };
            console.note(&format!("{path}: {entries} left out"));
        }
    }
    Ok(SideFile::Graph { name: path, loaded })
}
