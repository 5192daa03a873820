//! Data sets by name: the files that each split is made of, its labels and its class names.

use std::path::{Path, PathBuf};

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::formats::{cifar, idx};
use crate::labels::Labels;
use crate::mapping::{FileBytes, MAP_FROM};

pub(crate) const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const CLOTHES: [&str; 10] = [
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
];

/// A data set whose files are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedSet {
    Mnist,
    FashionMnist,
    Cifar10,
}

/// A part of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    Train,
    Test,
    /// Train, then test.
    All,
}

impl Split {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "train" => Some(Split::Train),
            "test" => Some(Split::Test),
            "all" => Some(Split::All),
            _ => None,
        }
    }
}

impl NamedSet {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [NamedSet::Mnist, NamedSet::FashionMnist, NamedSet::Cifar10]
            .into_iter()
            .find(|set| set.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            NamedSet::Mnist => "mnist",
            NamedSet::FashionMnist => "fashion-mnist",
            NamedSet::Cifar10 => "cifar10",
        }
    }

    fn classes(self) -> Vec<String> {
        let names = match self {
            NamedSet::Mnist => DIGITS,
            NamedSet::FashionMnist => CLOTHES,
            NamedSet::Cifar10 => cifar::CLASSES,
        };
        names.map(str::to_owned).to_vec()
    }

    /// Folders in the folder of a set in which its files may lie too: as archives and other tools leave them.
    fn subfolders(self) -> &'static [&'static str] {
        match self {
            NamedSet::Mnist => &["MNIST/raw"],
            NamedSet::FashionMnist => &["FashionMNIST/raw"],
            NamedSet::Cifar10 => &["cifar-10-batches-bin"],
        }
    }

    /// Where a file of the set is, in the folder or where archives leave it below.
    fn find(self, folder: &Path, file: &str) -> Option<PathBuf> {
        let below = || self.subfolders().iter().find_map(|below| find_here(&folder.join(below), file));
        find_here(folder, file).or_else(below)
    }

    /// A file of the Python version of CIFAR-10 in a folder, which is pickled and not read. Its name has no ending.
    pub(crate) fn find_pickled_here(self, folder: &Path, file: &str) -> Option<PathBuf> {
        let name = file.strip_suffix(".bin").filter(|_| self == NamedSet::Cifar10)?;
        Some(folder.join(name)).filter(|path| path.is_file())
    }

    /// Files of a split, part by part: for IDX sets images and labels, for CIFAR-10 batches that hold both.
    fn parts(self, split: Split) -> Vec<Part> {
        let pair = |stem: &str| Part::Pair {
            images: format!("{stem}-images-idx3-ubyte"),
            labels: format!("{stem}-labels-idx1-ubyte"),
        };
        let batch = |stem: &str| Part::Batch(format!("{stem}.bin"));
        let (train, test): (Vec<Part>, Vec<Part>) = match self {
            NamedSet::Mnist | NamedSet::FashionMnist => (vec![pair("train")], vec![pair("t10k")]),
            NamedSet::Cifar10 => {
                ((1..=5).map(|i| batch(&format!("data_batch_{i}"))).collect(), vec![batch("test_batch")])
            }
        };
        match split {
            Split::Train => train,
            Split::Test => test,
            Split::All => train.into_iter().chain(test).collect(),
        }
    }
}

/// A file of a set in a folder, plain or packed.
pub(crate) fn find_here(folder: &Path, file: &str) -> Option<PathBuf> {
    let names = [file.to_owned(), format!("{file}.gz")];
    names.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

enum Part {
    Pair { images: String, labels: String },
    Batch(String),
}

impl Part {
    fn files(&self) -> Vec<String> {
        match self {
            Part::Pair { images, labels } => vec![images.clone(), labels.clone()],
            Part::Batch(file) => vec![file.clone()],
        }
    }
}

/// Images and labels of a split.
pub(crate) fn load(set: NamedSet, folder: &Path, split: Split, name: &str) -> Result<Dataset> {
    let mut whole: Option<Dataset> = None;
    for part in checked_parts(set, folder, split, name)? {
        let dataset = load_part(&part, set, folder, name)?;
        match &mut whole {
            None => whole = Some(dataset),
            Some(whole) => whole.append(dataset)?,
        }
    }
    whole.ok_or_else(|| Error::NotFound { path: name.to_owned() })
}

/// Labels of a split; for IDX sets without reading the images.
pub(crate) fn load_labels(set: NamedSet, folder: &Path, split: Split, name: &str) -> Result<Labels> {
    let mut whole = Labels::with_names(Vec::new(), set.classes());
    for part in checked_parts(set, folder, split, name)? {
        whole.append(match part {
            Part::Pair { labels, .. } => read_labels(&find_or_fail(set, folder, &labels, name)?, set)?,
            Part::Batch(file) => read_batch(&find_or_fail(set, folder, &file, name)?, name)?
                .labels()
                .cloned()
                .unwrap_or_else(|| Labels::from_ids(Vec::new())),
        });
    }
    Ok(whole)
}

fn load_part(part: &Part, set: NamedSet, folder: &Path, name: &str) -> Result<Dataset> {
    match part {
        Part::Batch(file) => read_batch(&find_or_fail(set, folder, file, name)?, name),
        Part::Pair { images, labels } => {
            let path = find_or_fail(set, folder, images, name)?;
            let file = FileBytes::open(&path, MAP_FROM)?;
            let array = idx::parse(&file, &path.display().to_string())?;
            let &[samples, 28, 28] = array.shape() else {
                let (file, shape) = (images.clone(), array.shape().to_vec());
                return Err(Error::ImageShape { name: name.to_owned(), file, height: 28, width: 28, shape });
            };
            let labels = read_labels(&find_or_fail(set, folder, labels, name)?, set)?;
            if labels.len() != samples {
                return Err(Error::LabelCount { name: name.to_owned(), samples, labels: labels.len() });
            }
            let dataset = Dataset::from_raw(array, name)?.with_labels(labels);
            file.check_unchanged()?;
            Ok(dataset)
        }
    }
}

fn read_batch(path: &Path, name: &str) -> Result<Dataset> {
    let file = FileBytes::open(path, MAP_FROM)?;
    let (images, labels) = cifar::parse(&file, &path.display().to_string())?;
    let dataset = Dataset::from_raw(images, name)?.with_labels(labels);
    file.check_unchanged()?;
    Ok(dataset)
}

fn read_labels(path: &Path, set: NamedSet) -> Result<Labels> {
    let name = path.display().to_string();
    let labels = idx::parse(&FileBytes::open(path, MAP_FROM)?, &name)?.labels(&name)?;
    Ok(Labels::with_names(labels.ids().to_vec(), set.classes()))
}

/// All parts of a split, once every file of them has been seen to be there.
fn checked_parts(set: NamedSet, folder: &Path, split: Split, name: &str) -> Result<Vec<Part>> {
    let parts = set.parts(split);
    let expected: Vec<String> = parts.iter().flat_map(Part::files).collect();
    let Some(missing) = expected.iter().find(|file| set.find(folder, file).is_none()) else {
        return Ok(parts);
    };
    let folders = [folder.to_owned(), folder.join("cifar-10-batches-py")];
    if let Some(pickled) = folders.iter().find_map(|folder| set.find_pickled_here(folder, missing)) {
        return Err(Error::Pickled { name: pickled.display().to_string() });
    }
    Err(Error::MissingFiles {
        name: name.to_owned(),
        folder: folder.to_owned(),
        missing: if folder.is_dir() { missing.clone() } else { "such folder".to_owned() },
        expected,
    })
}

fn find_or_fail(set: NamedSet, folder: &Path, file: &str, name: &str) -> Result<PathBuf> {
    set.find(folder, file).ok_or_else(|| Error::MissingFiles {
        name: name.to_owned(),
        folder: folder.to_owned(),
        expected: vec![file.to_owned()],
        missing: file.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn idx(extents: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, extents.len() as u8];
        bytes.extend(extents.iter().flat_map(|extent| extent.to_be_bytes()));
        bytes.extend(values);
        bytes
    }

    /// A folder with one training and two test images.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (stem, labels) in [("train", &[7][..]), ("t10k", &[1, 2])] {
            let n = labels.len();
            let images = idx(&[n as u32, 28, 28], &vec![labels[0]; n * 784]);
            fs::write(folder.path().join(format!("{stem}-images-idx3-ubyte")), images).unwrap();
            let labels = idx(&[n as u32], labels);
            fs::write(folder.path().join(format!("{stem}-labels-idx1-ubyte")), labels).unwrap();
        }
        folder
    }

    #[test]
    fn all_is_train_then_test() {
        let folder = folder();
        let dataset = load(NamedSet::Mnist, folder.path(), Split::All, "mnist").unwrap();
        assert_eq!(dataset.shape(), [3, 28, 28]);
        assert_eq!(dataset.labels().unwrap().ids(), [7, 1, 2]);
        let labels = load_labels(NamedSet::FashionMnist, folder.path(), Split::All, "fashion-mnist").unwrap();
        assert_eq!((labels.ids(), labels.class_name(7)), (&[7, 1, 2][..], Some("Sneaker")));
    }

    #[test]
    fn names_the_folder_and_what_it_lacks() {
        let folder = folder();
        fs::remove_file(folder.path().join("t10k-labels-idx1-ubyte")).unwrap();
        let error = load(NamedSet::Mnist, folder.path(), Split::Test, "mnist:D:test").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "mnist:D:test: expected `t10k-images-idx3-ubyte`, `t10k-labels-idx1-ubyte` (each plain or with .gz) in the folder {}, got no t10k-labels-idx1-ubyte",
                folder.path().display()
            )
        );
        let error =
            load(NamedSet::Cifar10, Path::new("absent"), Split::Test, "cifar10:absent:test").unwrap_err();
        assert!(error.to_string().ends_with("in the folder absent, got no such folder"), "{error}");
    }

    #[test]
    fn parts_must_fit_each_other() {
        let folder = folder();
        fs::write(folder.path().join("t10k-labels-idx1-ubyte"), idx(&[1], &[0])).unwrap();
        let error = load(NamedSet::Mnist, folder.path(), Split::Test, "mnist").unwrap_err();
        assert_eq!(error.to_string(), "mnist: expected one label for each of 2 samples, got 1 labels");
        fs::write(folder.path().join("train-images-idx3-ubyte"), idx(&[1, 2, 2], &[0; 4])).unwrap();
        let error = load(NamedSet::Mnist, folder.path(), Split::Train, "mnist").unwrap_err();
        assert!(error.to_string().ends_with("must have shape [n, 28, 28], got [1, 2, 2]"), "{error}");
    }
}
