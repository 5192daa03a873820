//! The data sets that have a name: where they come from, and checks of their files.
//!
//! A file is recognized by the SHA-256 of its unpacked content, so it may be compressed again.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::cinic;
use crate::error::{Error, Result};
use crate::formats::cifar;
use crate::image_folder::count_images;
use crate::mapping::{FileBytes, MAP_FROM};
use crate::named::{NamedSet, find_here};
use crate::stream::{GZIP_MAGIC, Gunzip};

/// A data set that has a name. `data --json` prints it.
#[derive(Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KnownSet {
    /// Its name in an argument.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// How it is written in an argument, with DIR for its folder.
    pub argument: &'static str,
    /// Number of images, by split if there are splits.
    pub samples: &'static str,
    /// Shape of an image.
    pub shape: &'static str,
    /// Number of classes.
    pub classes: usize,
    /// How large its files are.
    pub size: &'static str,
    /// Where its authors publish it.
    pub homepage: &'static str,
    /// Its license.
    pub license: &'static str,
    /// Its files; empty if there are no checksums.
    pub files: &'static [KnownFile],
}

/// A file of a data set, as its authors publish it.
#[derive(Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KnownFile {
    /// Its name, unpacked.
    pub name: &'static str,
    /// Size of its content, in bytes.
    pub bytes: u64,
    /// SHA-256 checksum of its content, in hexadecimal digits.
    pub sha256: &'static str,
}

const fn file(name: &'static str, bytes: u64, sha256: &'static str) -> KnownFile {
    KnownFile { name, bytes, sha256 }
}

/// Every data set that has a name.
pub static KNOWN_SETS: [KnownSet; 5] = [
    KnownSet {
        name: "digits",
        title: "Optical Recognition of Handwritten Digits (E. Alpaydin, C. Kaynak)",
        argument: "digits",
        samples: "1,797",
        shape: "8x8",
        classes: 10,
        size: "embedded",
        homepage: "https://doi.org/10.24432/C50P49",
        license: "CC BY 4.0",
        files: &[],
    },
    KnownSet {
        name: "mnist",
        title: "MNIST, handwritten digits (Y. LeCun, C. Cortes, C. Burges)",
        argument: "mnist:DIR:test",
        samples: "60,000 train, 10,000 test",
        shape: "28x28",
        classes: 10,
        size: "11.6 MB packed",
        homepage: "http://yann.lecun.com/exdb/mnist/",
        license: "CC BY-SA 3.0, as commonly stated",
        files: &[
            file(
                "train-images-idx3-ubyte",
                47_040_016,
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            file(
                "train-labels-idx1-ubyte",
                60_008,
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
            file(
                "t10k-images-idx3-ubyte",
                7_840_016,
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            file(
                "t10k-labels-idx1-ubyte",
                10_008,
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ],
    },
    KnownSet {
        name: "fashion-mnist",
        title: "Fashion-MNIST, articles of clothing (H. Xiao, K. Rasul, R. Vollgraf)",
        argument: "fashion-mnist:DIR:test",
        samples: "60,000 train, 10,000 test",
        shape: "28x28",
        classes: 10,
        size: "30.9 MB packed",
        homepage: "https://github.com/zalandoresearch/fashion-mnist",
        license: "MIT",
        files: &[
            file(
                "train-images-idx3-ubyte",
                47_040_016,
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            ),
            file(
                "train-labels-idx1-ubyte",
                60_008,
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            ),
            file(
                "t10k-images-idx3-ubyte",
                7_840_016,
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            ),
            file(
                "t10k-labels-idx1-ubyte",
                10_008,
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ),
        ],
    },
    KnownSet {
        name: "cifar10",
        title: "CIFAR-10, photographs (A. Krizhevsky), binary version",
        argument: "cifar10:DIR:test",
        samples: "50,000 train, 10,000 test",
        shape: "3x32x32",
        classes: 10,
        size: "184 MB unpacked",
        homepage: "https://www.cs.toronto.edu/~kriz/cifar.html",
        license: "none stated; cite the technical report",
        files: &[
            file(
                "data_batch_1.bin",
                30_730_000,
                "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            ),
            file(
                "data_batch_2.bin",
                30_730_000,
                "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            ),
            file(
                "data_batch_3.bin",
                30_730_000,
                "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            ),
            file(
                "data_batch_4.bin",
                30_730_000,
                "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            ),
            file(
                "data_batch_5.bin",
                30_730_000,
                "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            ),
            file(
                "test_batch.bin",
                30_730_000,
                "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
            ),
        ],
    },
    KnownSet {
        name: cinic::NAME,
        title: "CINIC-10, photographs of the classes of CIFAR-10 (L. Darlow and others)",
        argument: "cinic10:DIR:test",
        samples: "90,000 train, 90,000 valid, 90,000 test",
        shape: "3x32x32",
        classes: 10,
        size: "about 660 MB packed",
        homepage: "https://github.com/BayesWatch/cinic-10",
        license: "those of ImageNet and CIFAR-10",
        files: &[],
    },
];

/// What was found about a file or folder of a data set.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileState {
    /// Its content is what its authors published.
    Verified,
    /// It has the right number of images; their content is not checked.
    Counted,
    /// It is not there.
    Missing,
    /// Its content is different, or cannot be read.
    Differs {
        /// In which way.
        reason: String,
    },
}

/// A file of a data set in a folder.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckedFile {
    /// Its name in the data set.
    pub name: String,
    /// Where it is, if it is there.
    pub path: Option<PathBuf>,
    /// What was found.
    pub state: FileState,
}

/// A data set in a folder.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckedSet {
    /// Which one.
    pub set: &'static KnownSet,
    /// Where.
    pub folder: PathBuf,
    /// Every file of it, whether it exists or not.
    pub files: Vec<CheckedFile>,
}

impl CheckedSet {
    /// Whether every file is there and has the right content.
    pub fn is_complete(&self) -> bool {
        self.files.iter().all(|file| matches!(file.state, FileState::Verified | FileState::Counted))
    }
}

/// Finds data sets in a folder, and in folders up to two levels below it, and checks their files.
///
/// # Errors
/// When the folder cannot be read, or has no file of a known data set.
pub fn check_folder(folder: &Path) -> Result<Vec<CheckedSet>> {
    let name = folder.display().to_string();
    if !folder.is_dir() {
        return Err(Error::NoFolder { name: name.clone(), folder: folder.to_owned() });
    }
    let mut found = Vec::new();
    for place in folders_within(folder, 2)? {
        found.extend(check_files(&place, &[NamedSet::Mnist, NamedSet::FashionMnist]));
        found.extend(check_files(&place, &[NamedSet::Cifar10]));
        found.extend(check_cinic(&place));
    }
    if found.is_empty() { Err(Error::NoKnownFiles { name }) } else { Ok(found) }
}

/// The folder and those below it, in the order of their names.
fn folders_within(folder: &Path, levels: usize) -> Result<Vec<PathBuf>> {
    let mut folders = vec![folder.to_owned()];
    if levels == 0 {
        return Ok(folders);
    }
    let wrap = |cause| Error::Read { path: folder.to_owned(), cause };
    let entries = fs::read_dir(folder).map_err(wrap)?.collect::<std::io::Result<Vec<_>>>().map_err(wrap)?;
    // A link could lead round in a circle.
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut below: Vec<PathBuf> =
        entries.iter().filter(|entry| is_folder(entry)).map(fs::DirEntry::path).collect();
    below.sort_unstable();
    for place in below {
        folders.extend(folders_within(&place, levels - 1)?);
    }
    Ok(folders)
}

/// The one of some sets with files of the same names whose files are in a folder: the one that most of them belong to.
fn check_files(folder: &Path, candidates: &[NamedSet]) -> Option<CheckedSet> {
    let verified = |checked: &CheckedSet| {
        checked.files.iter().filter(|file| matches!(file.state, FileState::Verified)).count()
    };
    // Where no file tells them apart, a folder's name may.
    let is_called_so = |checked: &CheckedSet| {
        let path = checked.folder.display().to_string().to_lowercase();
        path.contains("fashion") == (checked.set.name == "fashion-mnist")
    };
    let mut checked: Vec<CheckedSet> = candidates.iter().filter_map(|&set| check_set(folder, set)).collect();
    checked.sort_by_key(|checked| (verified(checked), is_called_so(checked)));
    checked.pop()
}

/// Every file of a set; none if the folder has no file of it.
fn check_set(folder: &Path, set: NamedSet) -> Option<CheckedSet> {
    let known = KNOWN_SETS.iter().find(|known| known.name == set.name())?;
    let files: Vec<CheckedFile> = known.files.iter().map(|file| check_file(folder, set, file)).collect();
    let is_there = files.iter().any(|file| file.path.is_some());
    is_there.then(|| CheckedSet { set: known, folder: folder.to_owned(), files })
}

fn check_file(folder: &Path, set: NamedSet, known: &KnownFile) -> CheckedFile {
    let (path, state) = match find_here(folder, known.name) {
        Some(path) => {
            let state = content_state(&path, known);
            (Some(path), state)
        }
        None => match set.find_pickled_here(folder, known.name) {
            Some(pickled) => {
                let reason = "it is pickled, and pickled files are not read; use the binary version";
                (Some(pickled), FileState::Differs { reason: reason.to_owned() })
            }
            None => (None, FileState::Missing),
        },
    };
    CheckedFile { name: known.name.to_owned(), path, state }
}

fn content_state(path: &Path, known: &KnownFile) -> FileState {
    match content_digest(path, known.bytes) {
        Ok(digest) if digest == known.sha256 => FileState::Verified,
        Ok(digest) => FileState::Differs {
            reason: format!("its content has SHA-256 {digest}, expected {}", known.sha256),
        },
        Err(reason) => FileState::Differs { reason },
    }
}

/// SHA-256 of what a file holds, or what is wrong with it.
fn content_digest(path: &Path, expected: u64) -> Result<String, String> {
    let bytes = FileBytes::open(path, MAP_FROM).map_err(|error| error.to_string())?;
    let packed: &[u8] = &bytes;
    // A label may look like the beginning of packed data; a packed batch does not have the size of a plain one.
    if packed.starts_with(GZIP_MAGIC) && packed.len() as u64 != expected {
        return stream_digest(Gunzip::new(packed), expected);
    }
    stream_digest(packed, expected)
}

/// Reads no more than is expected, and one byte.
fn stream_digest(stream: impl Read, expected: u64) -> Result<String, String> {
    let mut stream = stream.take(expected + 1);
    let (mut hash, mut total, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let count = stream.read(&mut buffer).map_err(|cause| format!("it cannot be unpacked: {cause}"))?;
        if count == 0 {
            break;
        }
        total += count as u64;
        hash.update(&buffer[..count]);
    }
    match total {
        total if total > expected => Err(format!("it holds more than the {expected} bytes expected")),
        total if total < expected => Err(format!("it holds {total} bytes, expected {expected}")),
        _ => Ok(hexadecimal(hash)),
    }
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Ten folders of 9,000 images for each of the three splits.
fn check_cinic(folder: &Path) -> Option<CheckedSet> {
    const IMAGES: usize = 9000;
    let is_there = cinic::FOLDERS.iter().any(|split| folder.join(split).join(cifar::CLASSES[0]).is_dir());
    let set = KNOWN_SETS.iter().find(|known| known.name == cinic::NAME).filter(|_| is_there)?;
    let places = cinic::FOLDERS
        .iter()
        .flat_map(|split| cifar::CLASSES.iter().map(move |class| format!("{split}/{class}")));
    let check = |name: String| {
        let path = folder.join(&name);
        let state = match count_images(&path) {
            _ if !path.is_dir() => FileState::Missing,
            Ok(IMAGES) => FileState::Counted,
            Ok(count) => FileState::Differs { reason: format!("it has {count} images, expected {IMAGES}") },
            Err(error) => FileState::Differs { reason: error.to_string() },
        };
        let path = path.is_dir().then_some(path);
        CheckedFile { name, path, state }
    };
    Some(CheckedSet { set, folder: folder.to_owned(), files: places.map(check).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_but_the_embedded_one_can_be_loaded_by_its_argument() {
        for set in &KNOWN_SETS {
            assert_eq!(set.argument.split(':').next(), Some(set.name));
            assert!(crate::names_array(set.argument), "{}", set.argument);
        }
    }

    #[test]
    fn a_digest_is_that_of_the_standard() {
        // FIPS 180-2, B.1: "abc".
        let digest = stream_digest(&b"abc"[..], 3).unwrap();
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(stream_digest(&b"abc"[..], 2).unwrap_err(), "it holds more than the 2 bytes expected");
        assert_eq!(stream_digest(&b"abc"[..], 4).unwrap_err(), "it holds 3 bytes, expected 4");
    }

    #[test]
    fn a_packed_file_has_the_digest_of_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, packed) = (folder.path().join("x.bin"), folder.path().join("x.bin.gz"));
        fs::write(&plain, [7; 3073]).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &[7; 3073]).unwrap();
        fs::write(&packed, encoder.finish().unwrap()).unwrap();
        let expected = content_digest(&plain, 3073).unwrap();
        assert_eq!(content_digest(&packed, 3073), Ok(expected));
    }

    #[test]
    fn the_python_version_of_cifar10_is_found_and_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("test_batch"), b"\x80\x02}q\x01.").unwrap();
        let found = check_folder(folder.path()).unwrap();
        let batch = found[0].files.iter().find(|file| file.name == "test_batch.bin").unwrap();
        assert!(!found[0].is_complete());
        assert!(format!("{:?}", batch.state).contains("it is pickled"), "{:?}", batch.state);
    }

    #[test]
    fn folders_tell_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let message = |path: &Path| check_folder(path).unwrap_err().to_string();
        assert!(message(folder.path()).contains("got none"), "{}", message(folder.path()));
        assert!(message(&folder.path().join("x")).ends_with("got no such folder"));
        let place = folder.path().join("data/fashion");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("t10k-labels-idx1-ubyte"), [0; 10]).unwrap();
        fs::write(place.join("train-labels-idx1-ubyte.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
        let found = check_folder(folder.path()).unwrap();
        assert_eq!((found.len(), found[0].set.name, &found[0].folder), (1, "fashion-mnist", &place));
        assert!(!found[0].is_complete());
        let states: Vec<String> = found[0].files.iter().map(|file| format!("{:?}", file.state)).collect();
        assert_eq!(states[0], "Missing");
        assert!(states[1].contains("cannot be unpacked"), "{}", states[1]);
        assert!(states[3].contains("holds 10 bytes, expected 10008"), "{}", states[3]);
    }
}
