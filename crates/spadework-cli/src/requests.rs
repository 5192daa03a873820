//! What a user typed, as a request.

use std::path::Path;
use std::sync::Arc;

use spadework_app::{
    ArraySource, CorruptionRequest, Extras, FolderRequest, GraphFormat, GraphSource, InputSource,
    LabelSource, ModelData, ModelsData, OutputSource, PageRequest, ProbeBudget, ProbeRequest, Probes,
    ScoreRequest, ScriptRequest, TableFormat,
};
use spadework_io::{arrays_in, default_name, names_array};
use spadework_probe::Task;
use spadework_report::Origin;

use crate::args::{InputsArgs, ModelArgs, OutputArgs};
use crate::args_data::CorruptionArgs;
use crate::args_graphs::SaveGraphsArgs;
use crate::args_many::{CertaintyArgs, ModelsArgs};
use crate::args_model::NetworkArgs;
use crate::args_probe::{ProbeArgs, ScriptArgs};
use crate::args_report::{FiguresArgs, PageArgs};
use crate::failure::Failure;

impl InputsArgs {
    /// The inputs by the two options that name them.
    fn source(&self) -> InputSource<'_> {
        match (self.size.of(self.inputs.as_deref()), self.input_graph.as_deref()) {
            (Some(array), _) => InputSource::Array(ArraySource::Named(array)),
            (None, Some(graph)) => InputSource::Graph(GraphSource::File(graph)),
            (None, None) => unreachable!("the command line demands one of the two"),
        }
    }
}

/// The outputs by the options that name them.
pub(crate) fn outputs<'a>(
    network: &'a NetworkArgs,
    array: Option<&'a str>,
    graph: Option<&'a str>,
) -> OutputSource<'a> {
    match (network.model.as_deref(), array, graph) {
        (Some(model), ..) => OutputSource::Model(model),
        (None, Some(array), _) => OutputSource::Array(ArraySource::Named(array)),
        (None, None, Some(graph)) => OutputSource::Graph(GraphSource::File(graph)),
        (None, None, None) => unreachable!("the command line demands one of them"),
    }
}

impl ModelArgs {
    /// What is scored.
    pub(crate) fn data(&self, corruption: &CorruptionArgs) -> ModelData<'_> {
        ModelData {
            inputs: self.given.source(),
            outputs: outputs(&self.network, self.outputs.as_deref(), self.output_graph.as_deref()),
            labels: self.labels.as_deref().map(LabelSource::Named),
            ids: None,
            corruption: corruption.request(),
            run: self.network.run.options(),
            task: Task::Auto,
        }
    }

    /// A request for scores alone.
    pub(crate) fn score<'a>(
        &'a self,
        corruption: &CorruptionArgs,
        folder: Option<FolderRequest<'a>>,
        top: usize,
    ) -> ScoreRequest<'a> {
        ScoreRequest {
            data: self.data(corruption),
            params: self.scoring.params(),
            top,
            extras: Extras::default(),
            probes: Probes::None,
            folder,
            page: PageRequest::NONE,
            origin: this_call(),
        }
    }
}

/// A model by its name and what was typed for it.
pub(crate) struct NamedModel {
    name: String,
    argument: String,
    is_model: bool,
}

impl ModelsArgs {
    /// The models by name, in the order given. A `.npz` file stands for all its arrays.
    pub(crate) fn named(&self) -> Result<Vec<NamedModel>, Failure> {
        let mut models = Vec::new();
        for argument in &self.outputs {
            models.extend(arrays_named(argument)?);
        }
        for argument in &self.model {
            let (name, file) = named(argument)?;
            models.push(NamedModel { name, argument: file.to_owned(), is_model: true });
        }
        for argument in &self.models {
            models.extend(arrays_named(argument)?);
        }
        Ok(models)
    }

    /// What is compared or swept.
    pub(crate) fn data<'a>(
        &'a self,
        models: &'a [NamedModel],
        labels: Option<&'a str>,
        corruption: &CorruptionArgs,
    ) -> ModelsData<'a> {
        let source = |NamedModel { name, argument, is_model }: &'a NamedModel| {
            let source = if *is_model {
                OutputSource::Model(argument)
            } else {
                OutputSource::Array(ArraySource::Named(argument))
            };
            (name.clone(), source)
        };
        ModelsData {
            inputs: self.given.source(),
            models: models.iter().map(source).collect(),
            labels: labels.map(LabelSource::Named),
            ids: None,
            corruption: corruption.request(),
            run: self.run.options(),
            task: Task::Auto,
        }
    }
}

/// The arrays of one argument: several of a `.npz` file that is named without a key, under their keys.
fn arrays_named(argument: &str) -> Result<Vec<NamedModel>, Failure> {
    let (name, array) = named(argument)?;
    let arrays = arrays_in(array)?;
    if arrays.len() == 1 {
        return Ok(vec![NamedModel { name, argument: array.to_owned(), is_model: false }]);
    }
    let is_named = array.len() < argument.len();
    let of_key = |array: String| {
        let key = default_name(&array);
        let name = if is_named { format!("{name}.{key}") } else { key };
        NamedModel { name, argument: array, is_model: false }
    };
    Ok(arrays.into_iter().map(of_key).collect())
}

/// `NAME=ARRAY`, or an array alone. Like a colon, an = may be part of a path, so what exists under the whole argument
/// goes before any other reading of it.
fn named(argument: &str) -> Result<(String, &str), Failure> {
    match argument.split_once('=') {
        Some((name, array)) if !names_array(argument) => {
            if name.is_empty() || array.is_empty() {
                return Err(Failure::usage(format!(
                    "--outputs must be NAME=ARRAY or an array, and --model NAME=FILE or a file, got `{argument}`"
                )));
            }
            Ok((name.to_owned(), array))
        }
        _ => Ok((default_name(argument), argument)),
    }
}

impl CorruptionArgs {
    fn request(&self) -> Option<CorruptionRequest> {
        self.corruption.map(|corruption| CorruptionRequest { corruption, shape: self.shape })
    }
}

impl ProbeArgs {
    pub(crate) fn request(&self) -> Option<ProbeRequest> {
        let radii = self.probe_radii.as_ref().map(|radii| Arc::clone(&radii.0));
        let categories = self.probe_categories.as_ref().map(|categories| Arc::clone(&categories.0));
        self.probe.map(|probe| ProbeRequest { probe, radii, categories, budget: self.budget() })
    }

    fn budget(&self) -> ProbeBudget {
        ProbeBudget {
            probes: self.probes.map(Into::into),
            samples: self.probe_samples.get(),
            precision: self.precision,
        }
    }

    /// Probes of the model that is run for the outputs.
    pub(crate) fn probes(&self) -> Probes {
        self.request().map_or(Probes::None, Probes::Run)
    }

    /// The same, or variants that a program of the user's makes.
    pub(crate) fn probes_or(&self, script: &ScriptArgs) -> Probes {
        let Some(program) = &script.probe_with else { return self.probes() };
        Probes::With(ScriptRequest { script: program.clone(), budget: self.budget() })
    }
}

impl CertaintyArgs {
    pub(crate) fn extras(&self) -> Extras {
        Extras { interval: self.interval, references: self.references, indices: self.indices }
    }
}

impl PageArgs {
    pub(crate) fn request(&self) -> PageRequest<'_> {
        self.figures.request(self.report.as_deref())
    }
}

impl FiguresArgs {
    /// A page at this place, and the figures.
    pub(crate) fn request<'a>(&'a self, page: Option<&'a Path>) -> PageRequest<'a> {
        let pictures = self.pictures.map(Into::into);
        PageRequest { page, plots: self.plots.as_deref(), format: self.format.into(), pictures }
    }
}

/// Formats of what goes into a folder.
#[derive(Debug)]
pub(crate) struct Formats {
    tables: Vec<TableFormat>,
    graphs: Vec<GraphFormat>,
}

impl OutputArgs {
    pub(crate) fn formats(&self, graphs: Option<&SaveGraphsArgs>) -> Formats {
        Formats {
            tables: self.tables.formats.iter().map(|&format| format.into()).collect(),
            graphs: graphs
                .map(|args| args.save_graphs.iter().map(|&format| format.into()).collect())
                .unwrap_or_default(),
        }
    }

    /// The folder of `--out`, where it was given.
    pub(crate) fn folder<'a>(&'a self, formats: &'a Formats) -> Option<FolderRequest<'a>> {
        let Formats { tables, graphs } = formats;
        self.out.as_deref().map(|path| FolderRequest { path, tables, graphs })
    }
}

/// The call at hand as the origin of a page.
pub(crate) fn this_call() -> Origin {
    Origin { command: Some(command_line()), ..Origin::default() }
}

/// The command line, as a shell would take it again.
pub(crate) fn command_line() -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./:=,%+@".contains(character);
    let quoted = |word: String| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("spadework".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
