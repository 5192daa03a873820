//! The labels of the samples, or the targets of a regressor.

use spadework::{Error as CoreError, Samples};
use spadework_io::{Error as FileError, Labels, load as load_array, load_ids, load_labels};
use spadework_probe::{OutputKind, Task, spread};

use crate::data::{IdSource, LabelSource};
use crate::failure::Failure;
use crate::notes;
use crate::observer::Session;
use crate::side_view::SideView;
use crate::usage::Usage;
use crate::wording::NoteCode;

/// What is known to be right of the samples.
#[derive(Debug)]
struct Truth {
    /// The class of every sample.
    labels: Option<Labels>,
    /// The standard deviation of the numbers that a regressor should predict, where they are fractions.
    target_spread: Option<f64>,
}

impl Truth {
    /// The labels that a request names, or those that come with the inputs: one per sample. Numbers that are not classes are targets,
    /// where `predicts_numbers` says that the outputs are predicted numbers; `inputs` is the name of the inputs.
    fn load(
        source: Option<&LabelSource<'_>>,
        (inputs, with_inputs): (&str, Option<&Labels>),
        samples: usize,
        predicts_numbers: bool,
    ) -> Result<Self, Failure> {
        let found = match source {
            Some(LabelSource::Named(name)) if predicts_numbers => Self::named(name, samples)?,
            source => Self { labels: load(source, with_inputs)?, target_spread: None },
        };
        if let Some(labels) = &found.labels {
            check_count(labels.len(), samples, source.map_or(Some(inputs), LabelSource::name))?;
        }
        Ok(found)
    }

    /// Classes, or else targets.
    fn named(name: &str, samples: usize) -> Result<Self, Failure> {
        let no_classes = match load_labels(name) {
            Ok(labels) => return Ok(Self { labels: Some(labels), target_spread: None }),
            Err(error) => error,
        };
        let Ok(targets) = load_array(name) else { return Err(no_classes.into()) };
        let targets = targets.samples()?;
        check_count(targets.len(), samples, Some(name))?;
        Ok(Self { labels: None, target_spread: Some(spread(&targets)) })
    }

    /// The standard deviation of the targets; none if labels are words, or all the same.
    fn target_spread(&self) -> Result<Option<f64>, Failure> {
        let spread = match (&self.labels, self.target_spread) {
            (_, Some(spread)) => Some(spread),
            (Some(labels), None) if !labels.has_names() => {
                let numbers: Vec<f64> = labels.ids().iter().map(|&id| id as f64).collect();
                Some(spread(&Samples::from_f64(numbers.len(), 1, numbers)?))
            }
            _ => None,
        };
        Ok(spread.filter(|spread| *spread > 0.0))
    }
}

/// What is known of the samples of a run: their labels or targets, and their names.
#[derive(Debug)]
pub(crate) struct AboutSamples<'s> {
    /// The class of every sample.
    pub(crate) labels: Option<Labels>,
    /// What the user typed for the labels.
    pub(crate) labels_name: Option<&'s str>,
    /// The standard deviation of what a regressor should predict, where labels are numbers.
    pub(crate) target_spread: Option<f64>,
    /// The names of the samples.
    pub(crate) ids: Option<Vec<String>>,
    /// What the user typed for the names.
    pub(crate) ids_name: Option<&'s str>,
}

impl<'s> AboutSamples<'s> {
    /// The labels of a request; the samples have no names yet.
    pub(crate) fn of_labels(
        source: Option<&'s LabelSource<'_>>,
        input: &SideView<'_>,
        predicts_numbers: bool,
    ) -> Result<Self, Failure> {
        let with_inputs = (input.name(), input.labels());
        let truth = Truth::load(source, with_inputs, input.manifold().len(), predicts_numbers)?;
        let target_spread = truth.target_spread()?;
        let labels = truth.labels;
        let labels_name = source.and_then(LabelSource::name).filter(|_| labels.is_some());
        Ok(Self { labels, labels_name, target_spread, ids: None, ids_name: None })
    }

    /// Gives so many samples the names that a request names, where it does.
    pub(crate) fn load_ids(
        &mut self,
        source: Option<IdSource<'s>>,
        samples: usize,
        session: &Session<'_>,
    ) -> Result<(), Failure> {
        self.ids = ids(source, samples, session)?;
        self.ids_name = source.and_then(IdSource::name);
        Ok(())
    }
}

/// The names of so many samples, where a request has some; a note about those that are there twice.
pub(crate) fn ids(
    source: Option<IdSource<'_>>,
    samples: usize,
    session: &Session<'_>,
) -> Result<Option<Vec<String>>, Failure> {
    const ARGUMENT: &str = "`ids`";
    let Some(source) = source else { return Ok(None) };
    let found = match source {
        IdSource::Named(name) => load_ids(name, samples)?,
        IdSource::Given(ids) if ids.len() == samples => ids.to_vec(),
        IdSource::Given(ids) => {
            return Err(FileError::IdCount { name: ARGUMENT.to_owned(), samples, ids: ids.len() }.into());
        }
    };
    notes::about_ids(&found, source.name().unwrap_or(ARGUMENT), session);
    Ok(Some(found))
}

/// Whether outputs of so many columns are predicted numbers, unless labels of two values make them classes.
pub(crate) fn predicts_numbers(task: Task, columns: Option<usize>) -> bool {
    match task {
        Task::Regression => true,
        Task::Auto => columns == Some(1),
        Task::Classes | Task::Embedding => false,
    }
}

/// The labels that a request names, or those that come with the inputs.
pub(crate) fn load(
    source: Option<&LabelSource<'_>>,
    with_inputs: Option<&Labels>,
) -> Result<Option<Labels>, Failure> {
    Ok(match source {
        Some(LabelSource::Named(name)) => Some(load_labels(name)?),
        Some(LabelSource::Given(labels)) => Some(labels.clone()),
        None => with_inputs.cloned(),
    })
}

/// One label per sample; `source` is what the user typed for them.
pub(crate) fn check_count(labels: usize, samples: usize, source: Option<&str>) -> Result<(), Failure> {
    if labels == samples {
        return Ok(());
    }
    let failure = Failure::from(CoreError::LabelCount { samples, labels });
    Err(match source {
        Some(source) => failure.about_place(source),
        None => failure,
    })
}

/// A label that is not a position of an output takes the accuracy away, and margins by labels with it: a note, and an error where the user
/// said that the outputs are classes. A note, too, where labels show that these are none, or where there are no labels and outputs may be an
/// embedding. `whose` goes in front, where there are several models.
pub(crate) fn check_classes(
    labels: Option<&Labels>,
    kind: OutputKind,
    columns: usize,
    (task, whose): (Task, &str),
    session: &Session<'_>,
) -> Result<(), Failure> {
    if labels.is_none() && task == Task::Auto {
        about_unlabeled(kind, columns, whose, session);
    }
    // More labels than outputs need no word: nobody expects an accuracy.
    let fits = |labels: &Labels| labels.ids().iter().all(|label| (0..columns as i64).contains(label));
    if kind == OutputKind::Embedding && task == Task::Auto && labels.is_some_and(fits) {
        session.note(
            NoteCode::NoClasses,
            format!(
                "{whose}the labels are not classes of the {columns} outputs, so the outputs count as an embedding: there are no margins, \
                 and samples are ranked by the neighbors that they keep. If the outputs are classes, pass {}",
                session.voice().argument("task", "classes")
            ),
        );
    }
    let (Some(labels), OutputKind::Classes | OutputKind::TwoClasses { .. }) = (labels, kind) else {
        return Ok(());
    };
    let classes = kind.class_count(columns);
    let is_outside = |label: &i64| !usize::try_from(*label).is_ok_and(|label| label < classes);
    let ids = kind.labels(labels.ids());
    let Some(row) = ids.iter().position(is_outside) else { return Ok(()) };
    let label = text(labels, row);
    if task == Task::Classes {
        return Err(Usage::LabelBeyondOutputs { row, label, classes }.into());
    }
    let outside = ids.iter().filter(|label| is_outside(label)).count();
    let more = match outside {
        1 => String::new(),
        _ => format!(", nor are those of {} other samples", outside - 1),
    };
    session.note(
        NoteCode::LabelBeyondOutputs,
        format!(
            "{whose}the label of sample {row} (counted from 0), {label}, is not the position of one of the {classes} outputs, counted from \
             0{more}: there is no accuracy, and margins are those of the largest output. If the outputs are not classes, pass {}",
            session.voice().argument("task", "embedding")
        ),
    );
    Ok(())
}

/// What many outputs without labels were taken for: an embedding, or one class each.
fn about_unlabeled(kind: OutputKind, columns: usize, whose: &str, session: &Session<'_>) {
    /// Most classifiers have fewer outputs, and most embeddings more.
    const MANY: usize = 64;
    let task = |word| session.voice().argument("task", word);
    match kind {
        OutputKind::Embedding => session.note(
            NoteCode::NoClasses,
            format!(
                "{whose}there are no labels, and all rows of the outputs have the length 1 or are compared by cosine distance, so the outputs count \
                 as an embedding: there are no margins. If the outputs are classes, pass {}",
                task("classes")
            ),
        ),
        OutputKind::Classes if columns >= MANY => session.note(
            NoteCode::ManyClasses,
            format!(
                "{whose}there are no labels, so each of the {columns} outputs counts as a class. If the outputs are an embedding, pass {}",
                task("embedding")
            ),
        ),
        OutputKind::Classes | OutputKind::TwoClasses { .. } | OutputKind::Numbers => {}
    }
}

/// A sample's label in words: the name of its class where it has one, its number otherwise.
pub(crate) fn text(labels: &Labels, index: usize) -> String {
    word(labels, labels.ids()[index])
}

/// A label in words.
pub(crate) fn word(labels: &Labels, id: i64) -> String {
    labels.class_name(id).map_or_else(|| id.to_string(), str::to_owned)
}
