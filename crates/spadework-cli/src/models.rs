//! Several models on one input, as `compare` and `sweep` load them.

use spadework::pipeline::Comparison;
use spadework::samples::Side;
use spadework::{Error as CoreError, Model, ModelSet};
use spadework_document::comparison::CompareData;
use spadework_document::result::{CorruptionDocument, ModelFileDocument, PlaceDocument};
use spadework_io::{Dataset, Labels, default_name, load_labels, names_array};

use crate::args::MethodArgs;
use crate::args_data::CorruptionArgs;
use crate::args_many::ModelsArgs;
use crate::console::Console;
use crate::corruption::PreparedInputs;
use crate::failure::Failure;
use crate::model_runner::{Outputs, Runner};
use crate::run::tell_what_outputs_look_like;
use crate::sides::{SideFile, check_sense, graph};
use crate::stored::{remembered, working_folder};

/// The arrays that the arguments name.
#[derive(Debug)]
pub(crate) struct LoadedModels<'a> {
    inputs: SideFile<'a>,
    outputs: Vec<(String, Outputs)>,
    /// What was done to the inputs.
    pub(crate) corruption: Option<CorruptionDocument>,
}

impl<'a> LoadedModels<'a> {
    pub(crate) fn from_args(
        args: &'a ModelsArgs,
        method: &MethodArgs,
        corruption: &CorruptionArgs,
        console: Console,
    ) -> Result<Self, Failure> {
        check_sense(args.input_graph.as_deref(), method, corruption)?;
        let arguments = args.outputs.iter().chain(&args.model).chain(&args.models);
        let named = arguments.map(|argument| named(argument)).collect::<Result<Vec<_>, _>>()?;
        if let Some(name) = first_repeated(&named) {
            let message = format!("models must have names that differ, got `{name}` twice");
            return Err(
                Failure::usage(message).with_hint("name each model: --outputs NAME=ARRAY, --model NAME=FILE")
            );
        }
        let general = &method.general;
        let PreparedInputs { dataset: inputs, corruption: made } =
            corruption.prepare(args.inputs.as_deref(), general, console)?;
        let runner = Runner {
            options: args.run.options(),
            threads: general.threads,
            inputs: inputs.as_ref(),
            console,
        };
        let first_model = args.outputs.len()..args.outputs.len() + args.model.len();
        let outputs = named
            .into_iter()
            .enumerate()
            .map(|(at, (name, argument))| {
                let outputs =
                    if first_model.contains(&at) { runner.run(argument) } else { runner.outputs(argument) };
                match outputs {
                    Ok(outputs) => Ok((name, outputs)),
                    Err(failure) => Err(failure.about_model(&name)),
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        if outputs.iter().any(|(_, outputs)| outputs.model.is_none()) {
            corruption.tell_whose_outputs(general.seed, console);
        }
        let inputs = match (inputs, &args.input_graph) {
            (Some(inputs), _) => SideFile::Array(inputs),
            (None, Some(path)) => graph(path, outputs[0].1.data.shape().first().copied(), console)?,
            (None, None) => unreachable!("the command line demands one of the two"),
        };
        Ok(Self { inputs, outputs, corruption: made })
    }

    /// The labels that an argument names, or those that come with the inputs.
    pub(crate) fn labels(&self, argument: Option<&str>) -> Result<Option<Labels>, Failure> {
        let labels = match argument {
            Some(argument) => Some(load_labels(argument)?),
            None => self.inputs.labels().cloned(),
        };
        let samples = self.inputs.inputs()?.len();
        match &labels {
            Some(labels) if labels.len() != samples => {
                let error = CoreError::LabelCount { samples, labels: labels.len() };
                Err(Failure::usage(format!("{}: {error}", argument.unwrap_or(self.inputs.name()))))
            }
            _ => Ok(labels),
        }
    }

    /// The file of a model that was run.
    pub(crate) fn file(&self, name: &str) -> Option<&ModelFileDocument> {
        self.outputs.iter().find(|(known, _)| known == name)?.1.model.as_ref()
    }

    /// The array of the inputs, unless a graph is given in its place.
    pub(crate) fn input_array(&self) -> Option<&Dataset> {
        match &self.inputs {
            SideFile::Array(inputs) => Some(inputs),
            SideFile::Graph { .. } => None,
        }
    }

    /// The arrays as a result remembers them, outputs in the order of the comparison; none where a graph is given in place
    /// of the inputs.
    pub(crate) fn remembered(
        &self,
        labels: Option<&str>,
        comparison: &Comparison,
    ) -> Result<Option<CompareData>, Failure> {
        let Some(inputs) = self.input_array() else { return Ok(None) };
        let outputs = comparison.models.iter().map(|model| remembered(&self.outputs[model.given].1.data));
        let place = |array: &str| PlaceDocument { array: array.to_owned(), folder: working_folder() };
        Ok(Some(CompareData {
            inputs: remembered(inputs)?,
            outputs: outputs.collect::<Result<_, _>>()?,
            labels: labels.map(place),
        }))
    }

    /// The models, checked against the inputs.
    pub(crate) fn set<'s>(&'s self) -> Result<ModelSet<'s>, Failure> {
        let model = |(name, outputs): &'s (String, Outputs)| match outputs.data.samples() {
            Ok(outputs) => Ok(Model { name: name.clone(), outputs }),
            Err(error) => Err(Failure::from(error).about_model(name)),
        };
        let models = self.outputs.iter().map(model).collect::<Result<_, _>>()?;
        ModelSet::new(self.inputs.inputs()?, models).map_err(|error| self.with_files(error))
    }

    /// Outputs that are probably not what the user meant. Of a softmax in a model that was run has been told.
    pub(crate) fn tell_what_outputs_look_like(&self, models: &ModelSet<'_>, console: Console) {
        for model in models.models() {
            if !self.file(&model.name).is_some_and(|file| file.softmax) {
                tell_what_outputs_look_like(&model.outputs, &format!("model `{}`: ", model.name), console);
            }
        }
    }

    /// An error about a side names its file too.
    fn with_files(&self, error: CoreError) -> Failure {
        let inputs = self.inputs.name();
        match &error {
            CoreError::AllEqual { side: Side::Input, .. } => Failure::from(error).about(inputs),
            CoreError::InModel { model, .. } => {
                let file = self
                    .outputs
                    .iter()
                    .find(|(name, _)| name == model)
                    .map(|(_, outputs)| outputs.data.name());
                let files = match file {
                    Some(outputs) => format!("{inputs} and {outputs}"),
                    None => inputs.to_owned(),
                };
                Failure::from(error).about(&files)
            }
            _ => Failure::from(error),
        }
    }
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

fn first_repeated<'a>(models: &'a [(String, &str)]) -> Option<&'a str> {
    let mut names: Vec<&str> = models.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
