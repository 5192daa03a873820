//! Several models on one input, loaded and checked once, as `compare` and `sweep` take them.

use spadework::samples::{Metric, Side};
use spadework::{Error as CoreError, Manifold, Model, ModelSet, Samples, SpadeParams};
use spadework_document::comparison::CompareData;
use spadework_document::score::ModelFileDocument;
use spadework_io::Labels;
use spadework_probe::{OutputKind, Task};

use crate::data::ModelsData;
use crate::failure::{Failure, Subject};
use crate::labels::AboutSamples;
use crate::model_runner::ModelRunner;
use crate::observer::Session;
use crate::places::here;
use crate::side_view::SideView;
use crate::sides::{InputView, Inputs, Outputs};
use crate::usage::Usage;
use crate::{labels, notes, room};

/// The outputs of every model, in the order given.
#[derive(Debug)]
pub(crate) struct ModelOutputs<'a> {
    models: Vec<(&'a str, Outputs<'a>)>,
}

impl<'a> ModelOutputs<'a> {
    /// Loads the outputs, or runs the models for them.
    pub(crate) fn load(
        data: &'a ModelsData<'a>,
        inputs: &Inputs<'_>,
        given: &InputView<'_>,
        params: &SpadeParams,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        let runner = ModelRunner::new(&data.run, params, given.array(), session);
        let models = data
            .models
            .iter()
            .map(|(name, source)| match Outputs::load(source, given.array(), &runner) {
                Ok(outputs) => Ok((name.as_str(), outputs)),
                Err(failure) => Err(failure.about_model(name)),
            })
            .collect::<Result<Vec<_>, _>>()?;
        if models.iter().any(|(_, outputs)| outputs.model().is_none()) {
            notes::about_corruption(inputs.corruption(), session);
        }
        Ok(Self { models })
    }
}

impl ModelsData<'_> {
    /// Refuses models of the same name.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let mut names: Vec<&str> = self.models.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Usage::RepeatedModel { name: pair[0].to_owned() }.into()),
            None => Ok(()),
        }
    }
}

/// The inputs and the models with their numbers checked.
#[derive(Debug)]
pub(crate) struct ModelSides<'s> {
    pub(crate) input: SideView<'s>,
    outputs: Vec<SideView<'s>>,
    files: Vec<Option<&'s ModelFileDocument>>,
    pub(crate) set: ModelSet<'s>,
    pub(crate) known: AboutSamples<'s>,
    output_kinds: Vec<OutputKind>,
}

impl<'s> ModelSides<'s> {
    /// Checks the models, whose outputs are compared by a metric.
    pub(crate) fn new(
        data: &'s ModelsData<'_>,
        given: InputView<'s>,
        models: &'s ModelOutputs<'_>,
        metric: Metric,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        let view = |(name, outputs): &'s (&str, Outputs<'_>)| {
            let view = outputs.view().and_then(|view| view.check_length().map(|()| view));
            view.map_err(|failure| failure.about_model(name))
        };
        let outputs = models.models.iter().map(view).collect::<Result<Vec<_>, _>>()?;
        let nodes = outputs.first().map_or(0, |first| first.manifold().len());
        let input = given.into_side(nodes, session)?;
        // Outputs of all models are of one kind, or else labels are classes.
        let columns = outputs.iter().map(|view| view.samples().map(Samples::dim));
        let columns = columns.reduce(|one, other| if one == other { one } else { None }).flatten();
        let predicts_numbers = labels::predicts_numbers(data.task, columns);
        let mut known = AboutSamples::of_labels(data.labels.as_ref(), &input, predicts_numbers)?;
        let named = models.models.iter().zip(&outputs).map(|((name, _), view)| {
            let Manifold::Samples(samples) = view.manifold() else {
                unreachable!("the models of a set have outputs")
            };
            Model { name: (*name).to_owned(), outputs: samples.clone() }
        });
        let set = ModelSet::new(input.manifold().clone(), named.collect())
            .map_err(|error| with_files(error, &input, &models.models, &outputs))?;
        let files: Vec<_> = models.models.iter().map(|(_, outputs)| outputs.model()).collect();
        for (model, file) in set.models().iter().zip(&files) {
            // A softmax in a model that was run has been noted.
            if !file.is_some_and(|file| file.softmax) {
                notes::about_outputs(&model.outputs, &format!("model `{}`: ", model.name), session);
            }
        }
        known.load_ids(data.ids, input.manifold().len(), session)?;
        let label_ids = known.labels.as_ref().map(Labels::ids);
        let kind = |model: &Model<'_>| OutputKind::of(data.task, &model.outputs, label_ids, metric);
        let output_kinds = set.models().iter().map(kind).collect();
        Ok(Self { input, outputs, files, set, known, output_kinds })
    }

    /// The file of a model that was run.
    pub(crate) fn file(&self, given: usize) -> Option<&'s ModelFileDocument> {
        self.files[given]
    }

    /// Digests of the inputs and of the outputs of every model.
    pub(crate) fn digests(&self) -> Vec<&str> {
        [&self.input].into_iter().chain(&self.outputs).map(SideView::digest).collect()
    }

    /// Says where there is less memory than they need.
    pub(crate) fn about_memory(&self, params: &SpadeParams, session: &Session<'_>) {
        room::about_memory(&self.input, &self.outputs.iter().collect::<Vec<_>>(), params, session);
    }

    pub(crate) fn label_ids(&self) -> Option<&[i64]> {
        self.known.labels.as_ref().map(Labels::ids)
    }

    /// What the outputs of a model are.
    pub(crate) fn output_kind(&self, given: usize) -> OutputKind {
        self.output_kinds[given]
    }

    /// A failure with the name of the array at fault.
    pub(crate) fn naming_array(&self, failure: Failure) -> Failure {
        failure.naming_array(self.input.file_name(), |model| {
            let at = self.set.models().iter().position(|other| Some(other.name.as_str()) == model)?;
            self.outputs[at].file_name()
        })
    }

    /// Says where labels do not fit the outputs of a model.
    pub(crate) fn check_labels(&self, task: Task, session: &Session<'_>) -> Result<(), Failure> {
        for (at, model) in self.set.models().iter().enumerate() {
            let (kind, columns) = (self.output_kind(at), model.outputs.dim());
            let whose = format!("model `{}`: ", model.name);
            let checked =
                labels::check_classes(self.known.labels.as_ref(), kind, columns, (task, &whose), session);
            let place = self.known.labels_name.unwrap_or(self.input.name());
            checked.map_err(|failure| failure.about_place(place).about_model(&model.name))?;
        }
        Ok(())
    }

    /// The arrays as a result remembers them, outputs in this order; none if the inputs are a graph.
    pub(crate) fn document(&self, order: impl Iterator<Item = usize>) -> Option<CompareData> {
        Some(CompareData {
            inputs: self.input.document()?,
            outputs: order.map(|given| self.outputs[given].document()).collect::<Option<_>>()?,
            labels: self.known.labels_name.map(here),
            ids: self.known.ids_name.map(here),
        })
    }
}

/// An error about a side names its file too. Arrays in memory are named by the error itself.
fn with_files(
    error: CoreError,
    input: &SideView<'_>,
    models: &[(&str, Outputs<'_>)],
    outputs: &[SideView<'_>],
) -> Failure {
    let place = match &error {
        CoreError::AllEqual { side: Side::Input, .. } if input.is_file() => input.name().to_owned(),
        CoreError::InModel { model, .. } => {
            let at = models.iter().position(|(name, _)| name == model);
            match at.map(|at| &outputs[at]) {
                Some(output) if output.is_file() => format!("{} and {}", input.name(), output.name()),
                _ => return error.into(),
            }
        }
        _ => return error.into(),
    };
    Failure::from(error).about(Subject::Place(place))
}
