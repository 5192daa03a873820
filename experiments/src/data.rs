//! Images with their classes: MNIST and CIFAR-10 from the data folder, or the embedded digits where a quick run has none.

use spadework::Samples;
use spadework_io::{Dataset, load, load_digits};
use spadework_nn::{Examples, image_shape, to_floats};

use crate::failure::Failure;
use crate::run::Run;

/// The data sets of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Mnist,
    Cifar10,
}

/// A part of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    Train,
    Test,
}

pub(crate) const CLASSES: usize = 10;
/// Of the 1,797 embedded digits, those that are trained on; the rest is tested on.
pub(crate) const DIGITS_TRAINED: usize = 1297;

impl Which {
    pub(crate) const ALL: [Self; 2] = [Self::Mnist, Self::Cifar10];

    /// The word in files and arguments.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Mnist => "mnist",
            Self::Cifar10 => "cifar10",
        }
    }

    /// The name that people know.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Mnist => "MNIST",
            Self::Cifar10 => "CIFAR-10",
        }
    }

    /// What must be in the data folder.
    fn files(self) -> &'static str {
        match self {
            Self::Mnist => "mnist/ (train-images-idx3-ubyte.gz and its three companions)",
            Self::Cifar10 => "cifar10/ (data_batch_1.bin to data_batch_5.bin and test_batch.bin)",
        }
    }

    /// Whether the data are there, rather than a stand-in.
    pub(crate) fn is_there(self, run: &Run) -> bool {
        run.data_file(self.word()).is_some()
    }

    /// The file as it was read.
    pub(crate) fn dataset(self, run: &Run, split: Split) -> Result<Dataset, Failure> {
        let split = match split {
            Split::Train => "train",
            Split::Test => "test",
        };
        match run.data_file(self.word()) {
            Some(folder) => Ok(load(&format!("{}:{}:{split}", self.word(), folder.display()))?),
            None => Err(Failure::Needs { files: self.files().to_owned() }),
        }
    }
}

/// Images with their classes.
#[derive(Debug, Clone)]
pub(crate) struct Images {
    /// What they are, for settings: the same name and number mean the same images.
    pub(crate) name: String,
    /// Channels, height and width.
    pub(crate) shape: Vec<usize>,
    pub(crate) examples: Examples,
    /// Whether these are the embedded digits in place of what was asked for.
    pub(crate) stand_in: bool,
}

impl Images {
    /// The first `limit` images of a part, or all where there are fewer.
    pub(crate) fn load(run: &Run, which: Which, split: Split, limit: usize) -> Result<Self, Failure> {
        if run.is_quick() && !which.is_there(run) {
            return Self::digits(split, limit);
        }
        let dataset = which.dataset(run, split)?;
        let word = if split == Split::Train { "train" } else { "test" };
        Self::of_dataset(&dataset, &format!("{}:{word}", which.word()), limit)
    }

    /// Training images: as many as asked for, or the number for a full or a quick run.
    pub(crate) fn train(run: &Run, which: Which) -> Result<Self, Failure> {
        Self::load(run, which, Split::Train, run.options().train_images.unwrap_or(run.size(usize::MAX, 2000)))
    }

    /// Test images, likewise.
    pub(crate) fn test(run: &Run, which: Which) -> Result<Self, Failure> {
        Self::load(run, which, Split::Test, run.options().test_images.unwrap_or(run.size(usize::MAX, 1000)))
    }

    pub(crate) fn of_dataset(dataset: &Dataset, name: &str, limit: usize) -> Result<Self, Failure> {
        let samples = dataset.samples()?;
        let no_labels = || spadework_nn::Error::NoLabels { name: dataset.name().to_owned() };
        let labels = dataset.labels().ok_or_else(no_labels)?;
        let (count, size) = (samples.len().min(limit), samples.dim());
        let mut values = to_floats(&samples);
        values.truncate(count * size);
        Ok(Self {
            name: name.to_owned(),
            shape: image_shape(dataset)?,
            examples: Examples::new(values, size, &labels.ids()[..count], CLASSES)?,
            stand_in: false,
        })
    }

    fn digits(split: Split, limit: usize) -> Result<Self, Failure> {
        let all = Self::of_dataset(&load_digits()?, "digits", usize::MAX)?;
        let (from, to, word) = match split {
            Split::Train => (0, DIGITS_TRAINED, "train"),
            Split::Test => (DIGITS_TRAINED, all.len(), "test"),
        };
        let places: Vec<usize> = (from..to).take(limit).collect();
        Ok(Self {
            name: format!("digits:{word}"),
            shape: vec![1, 8, 8],
            examples: all.examples.select(&places),
            stand_in: true,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.examples.len()
    }

    /// The images as the core takes them.
    pub(crate) fn samples(&self) -> Result<Samples<'_>, Failure> {
        Ok(Samples::from_f32(self.len(), self.examples.size(), self.examples.samples())?)
    }

    /// Their classes as the core takes them.
    pub(crate) fn labels(&self) -> Vec<i64> {
        self.examples.labels().iter().map(|&label| label as i64).collect()
    }

    /// The first `count` of them.
    pub(crate) fn first(&self, count: usize) -> Examples {
        self.examples.select(&(0..count.min(self.len())).collect::<Vec<_>>())
    }

    /// The same, as images of their own.
    pub(crate) fn head(&self, count: usize) -> Self {
        let (name, shape) = (self.name.clone(), self.shape.clone());
        Self { name, shape, examples: self.first(count), stand_in: self.stand_in }
    }

    /// Name and number, for settings.
    pub(crate) fn described(&self) -> String {
        format!("{}, the first {}", self.name, self.len())
    }
}

/// What a reader must know where the embedded digits stood in.
pub(crate) const STAND_IN: &str =
    "Without the data folder, the 1,797 embedded digits of 8 × 8 pixels stand in.";
