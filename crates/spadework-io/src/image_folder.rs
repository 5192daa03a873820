//! Folders of images: one folder per class, as in CINIC-10 and many other data sets, or images alone, without labels.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use spadework::Monitor;
use spadework::monitor::{Stage, check_cancelled};
use spadework::samples::Values;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::formats::picture::{self, Header};
use crate::image_size::ImageSize;
use crate::labels::Labels;
use crate::mapping::{FileBytes, MAP_FROM};
use crate::scratch_file::ScratchFile;
use crate::stream::check_promise;

/// Pixels from so many bytes on are decoded into a file: memory is for the search.
const FILE_FROM: usize = 256 << 20;
/// Bytes of the images that are decoded together.
const BYTES_TOGETHER: usize = 32 << 20;

/// Images that are there, in the order of their classes and names.
#[derive(Debug, Default)]
pub(crate) struct ImageFolder {
    files: Vec<PathBuf>,
    labels: Option<Labels>,
    size: ImageSize,
}

impl ImageFolder {
    /// Images by class: every folder in `folder` is one, numbered in alphabetical order. Without any, the images in `folder`
    /// itself have no labels.
    pub(crate) fn list(folder: &Path, name: &str) -> Result<Self> {
        let Entries { folders, images } = Entries::of(folder, name)?;
        match (folders.as_slice(), images.as_slice()) {
            ([], []) => Err(no_images(folder, name)),
            ([], _) => Ok(Self { files: images, ..Self::default() }),
            (_, []) => Self::by_class(&folders, name),
            (_, [first, ..]) => Err(Error::ImageBesideClasses { name: name.to_owned(), file: first.clone() }),
        }
    }

    /// Images of known classes, one folder each.
    pub(crate) fn list_classes(folder: &Path, classes: &[&str], name: &str) -> Result<Self> {
        let folders: Vec<PathBuf> = classes.iter().map(|class| folder.join(class)).collect();
        if let Some(missing) = folders.iter().find(|folder| !folder.is_dir()) {
            return Err(Error::NoImages { name: name.to_owned(), folder: missing.clone() });
        }
        Self::by_class(&folders, name)
    }

    fn by_class(folders: &[PathBuf], name: &str) -> Result<Self> {
        let (mut files, mut ids) = (Vec::new(), Vec::new());
        for (folder, id) in folders.iter().zip(0_i64..) {
            let mut images = Entries::of(folder, name)?.images;
            if images.is_empty() {
                return Err(no_images(folder, name));
            }
            ids.resize(ids.len() + images.len(), id);
            files.append(&mut images);
        }
        let names = folders.iter().map(|folder| file_name(folder)).collect();
        Ok(Self { files, labels: Some(Labels::with_names(ids, names)), ..Self::default() })
    }

    /// The same, with images that are brought to a size.
    pub(crate) fn with_size(self, size: ImageSize) -> Self {
        Self { size, ..self }
    }

    /// Puts the images of another part of the same data set behind these.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        match (&mut self.labels, other.labels) {
            (Some(labels), Some(others)) => labels.append(others),
            (labels, others) => *labels = others,
        }
    }

    /// The classes, where there are any.
    pub(crate) fn into_labels(self) -> Option<Labels> {
        self.labels
    }

    /// Decodes all images, which must agree in size when they are brought to the one asked for, on all cores.
    ///
    /// Pixels stay bytes. Many of them are not kept in memory, but in a file. Gray images among others in color become color. The shape is
    /// `[n, height, width]` or `[n, 3, height, width]`.
    pub(crate) fn load(self, name: &str, monitor: &dyn Monitor) -> Result<Dataset> {
        self.load_by_file_from(FILE_FROM, name, monitor)
    }

    /// [`ImageFolder::load`] with another size from which pixels are kept in a file, for tests.
    fn load_by_file_from(self, file_from: usize, name: &str, monitor: &dyn Monitor) -> Result<Dataset> {
        let headers = self.headers(name, monitor)?;
        let Some(&Header { height, width, .. }) = headers.first() else {
            return Err(Error::NotFound { path: name.to_owned() });
        };
        self.check_sizes(&headers, name)?;
        let in_color = headers.iter().any(|header| header.has_color);
        let channels = if in_color { 3 } else { 1 };
        // Sides are at most 4096, so one image cannot overflow.
        let pixels = channels * height * width;
        let mut decoded = Decoded::with_room(self.checked_len(pixels, name)?, file_from)?;
        let watched = Watched::begin("images", self.files.len(), name, monitor);
        for files in self.files.chunks((BYTES_TOGETHER / pixels).max(1)) {
            let images = watched.each(files, |file| decode(file, pixels, in_color, self.size))?;
            images.iter().try_for_each(|image| decoded.append(image))?;
        }
        let n = self.files.len();
        let shape = if in_color { vec![n, 3, height, width] } else { vec![n, height, width] };
        let dataset = decoded.into_dataset(shape, name)?;
        Ok(match self.labels {
            Some(labels) => dataset.with_labels(labels),
            None => dataset,
        })
    }

    /// Reads the beginning of every image, with the size that it will have; of several that are broken the first is named.
    fn headers(&self, name: &str, monitor: &dyn Monitor) -> Result<Vec<Header>> {
        Watched::begin("sizes of images", self.files.len(), name, monitor).each(&self.files, |file| {
            let name = file.display().to_string();
            let header = picture::header(&open(file)?, &name)?;
            let (height, width) = self.size.of(header.height, header.width, &name)?;
            Ok(Header { height, width, ..header })
        })
    }

    fn check_sizes(&self, headers: &[Header], name: &str) -> Result<()> {
        let size = |header: &Header| (header.height, header.width);
        let (Some(first), Some(first_file)) = (headers.first(), self.files.first()) else { return Ok(()) };
        if first.height == 0 || first.width == 0 {
            return Err(Error::Image {
                name: first_file.display().to_string(),
                reason: "it has no pixels".to_owned(),
            });
        }
        let mut both = headers.iter().zip(&self.files);
        match both.find(|(header, _)| size(header) != size(first)) {
            None => Ok(()),
            Some((other, file)) => Err(Error::ImageSize {
                name: name.to_owned(),
                first: first_file.clone(),
                expected: format!("{} × {}", first.width, first.height),
                file: file.clone(),
                got: format!("{} × {}", other.width, other.height),
            }),
        }
    }

    /// Numbers of all images, of which packed bytes must be able to hold as many.
    fn checked_len(&self, pixels: usize, name: &str) -> Result<usize> {
        let total = self.files.len().checked_mul(pixels).filter(|total| total.checked_mul(4).is_some());
        let total = total.ok_or_else(|| Error::ShapeOverflow {
            name: name.to_owned(),
            shape: vec![self.files.len() as u64, pixels as u64],
        })?;
        // What images are enlarged to is the user's own wish.
        if !self.size.is_none() {
            return Ok(total);
        }
        let packed = self.files.iter().filter_map(|file| fs::metadata(file).ok()).map(|facts| facts.len());
        check_promise(total, packed.sum::<u64>() as usize, name)?;
        Ok(total)
    }
}

/// Number of images in a folder, by their names.
pub(crate) fn count_images(folder: &Path) -> Result<usize> {
    Ok(Entries::of(folder, &folder.display().to_string())?.images.len())
}

fn decode(file: &Path, expected: usize, in_color: bool, size: ImageSize) -> Result<Vec<u8>> {
    let name = file.display().to_string();
    let pixels = picture::pixels(&open(file)?, in_color, size, &name)?;
    if pixels.len() != expected {
        let reason = "it changed while it was read".to_owned();
        return Err(Error::Image { name, reason });
    }
    Ok(pixels)
}

/// Work on many images, on all cores, under a monitor.
struct Watched<'a> {
    total: usize,
    done: AtomicUsize,
    name: &'a str,
    monitor: &'a dyn Monitor,
}

impl<'a> Watched<'a> {
    fn begin(stage: &'static str, total: usize, name: &'a str, monitor: &'a dyn Monitor) -> Self {
        monitor.begin(Stage::Named(stage));
        Self { total, done: AtomicUsize::new(0), name, monitor }
    }

    /// Works on some of the images. Of several that fail the first is named, whichever thread was first.
    fn each<T: Send>(&self, files: &[PathBuf], work: impl Fn(&Path) -> Result<T> + Sync) -> Result<Vec<T>> {
        let outcomes: Vec<Result<T>> = files
            .par_iter()
            .map(|file| {
                check_cancelled(self.monitor)
                    .map_err(|cause| Error::Samples { name: self.name.to_owned(), cause })?;
                let made = work(file)?;
                let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
                self.monitor.progress(done as u64, self.total as u64);
                Ok(made)
            })
            .collect();
        outcomes.into_iter().collect()
    }
}

/// The pixels of all images so far.
enum Decoded {
    InMemory(Vec<u8>),
    InFile(ScratchFile),
}

impl Decoded {
    fn with_room(bytes: usize, file_from: usize) -> Result<Self> {
        Ok(if bytes < file_from {
            Self::InMemory(Vec::with_capacity(bytes))
        } else {
            Self::InFile(ScratchFile::create()?)
        })
    }

    fn append(&mut self, image: &[u8]) -> Result<()> {
        match self {
            Self::InMemory(bytes) => {
                bytes.extend_from_slice(image);
                Ok(())
            }
            Self::InFile(file) => file.write(image),
        }
    }

    fn into_dataset(self, shape: Vec<usize>, name: &str) -> Result<Dataset> {
        Ok(match self {
            Self::InMemory(bytes) => Dataset::from_values(shape, Values::U8(bytes.into()), name),
            Self::InFile(file) => Dataset::from_mapped_bytes(shape, file.into_bytes()?, name),
        })
    }
}

fn open(file: &Path) -> Result<FileBytes> {
    FileBytes::open(file, MAP_FROM)
}

/// What a folder holds, in the order of names. Hidden entries and files of other kinds are not looked at.
struct Entries {
    folders: Vec<PathBuf>,
    images: Vec<PathBuf>,
}

impl Entries {
    fn of(folder: &Path, name: &str) -> Result<Self> {
        if !folder.is_dir() {
            return Err(Error::NoFolder { name: name.to_owned(), folder: folder.to_owned() });
        }
        let wrap = |cause| Error::Read { path: folder.to_owned(), cause };
        let paths = fs::read_dir(folder).map_err(wrap)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = paths.collect::<std::io::Result<Vec<PathBuf>>>().map_err(wrap)?;
        paths.retain(|path| !file_name(path).starts_with('.'));
        paths.sort_unstable();
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.into_iter().partition(|path| path.is_dir());
        let images: Vec<PathBuf> =
            files.into_iter().filter(|file| picture::has_image_ending(&file_name(file))).collect();
        // A pipe would be waited for, and a device may never end.
        let stranger = images.iter().find(|file| fs::metadata(file).is_ok_and(|there| !there.is_file()));
        if let Some(file) = stranger {
            return Err(Error::ImageNotFile { name: name.to_owned(), file: file.clone() });
        }
        Ok(Self { folders, images })
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn no_images(folder: &Path, name: &str) -> Error {
    Error::NoImages { name: name.to_owned(), folder: folder.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::testing::turn;
    use spadework::Silent;

    fn fixtures() -> ImageFolder {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/images/color");
        ImageFolder::list(&folder, "color").unwrap()
    }

    /// Six images of 324 bytes.
    #[test]
    fn pixels_in_a_file_are_those_in_memory() {
        let _turn = turn();
        let load = |file_from| fixtures().load_by_file_from(file_from, "color", &Silent).unwrap();
        let (memory, file) = (load(6 * 324 + 1), load(6 * 324));
        assert!(!memory.is_mapped() && file.is_mapped());
        assert_eq!((memory.shape(), memory.labels()), (file.shape(), file.labels()));
        let bytes = |dataset: &Dataset| match dataset.samples().unwrap().values() {
            Values::U8(bytes) => bytes.to_vec(),
            _ => panic!("pixels are bytes"),
        };
        assert_eq!(bytes(&memory), bytes(&file));
    }

    /// Stops as soon as an image has been decoded.
    #[derive(Default)]
    struct StopsAfterOne {
        decodes: AtomicBool,
        seen: AtomicUsize,
    }

    impl Monitor for StopsAfterOne {
        fn begin(&self, stage: Stage) {
            self.decodes.store(stage == Stage::Named("images"), Ordering::SeqCst);
        }

        fn progress(&self, _: u64, total: u64) {
            assert_eq!(total, 6);
            if self.decodes.load(Ordering::SeqCst) {
                self.seen.fetch_add(1, Ordering::SeqCst);
            }
        }

        fn is_cancelled(&self) -> bool {
            self.seen.load(Ordering::SeqCst) > 0
        }
    }

    #[test]
    fn decoding_shows_progress_and_can_be_stopped() {
        let monitor = StopsAfterOne::default();
        let stopped = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap()
            .install(|| fixtures().load("color", &monitor).unwrap_err());
        assert!(matches!(stopped, Error::Samples { cause: spadework::Error::Cancelled, .. }));
        assert_eq!(monitor.seen.load(Ordering::SeqCst), 1);
    }
}
