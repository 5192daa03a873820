//! Folders of images: one folder per class, as in CINIC-10 and many other data sets, or images alone, without labels.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use spadework::samples::Values;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::formats::picture::{self, Header};
use crate::image_size::ImageSize;
use crate::labels::Labels;
use crate::mapping::{FileBytes, MAP_FROM};
use crate::stream::check_promise;

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
    /// Pixels stay bytes. Gray images among others in color become color. The shape is `[n, height, width]` or `[n, 3, height, width]`.
    pub(crate) fn load(self, name: &str) -> Result<Dataset> {
        let headers = self.headers()?;
        let Some(&Header { height, width, .. }) = headers.first() else {
            return Err(Error::NotFound { path: name.to_owned() });
        };
        self.check_sizes(&headers, name)?;
        let in_color = headers.iter().any(|header| header.has_color);
        let channels = if in_color { 3 } else { 1 };
        // Sides are at most 4096, so one image cannot overflow.
        let pixels = channels * height * width;
        let mut values = vec![0_u8; self.checked_len(pixels, name)?];
        let decoded: Vec<Result<()>> = values
            .par_chunks_exact_mut(pixels)
            .zip(&self.files)
            .map(|(values, file)| decode_into(values, file, in_color, self.size))
            .collect();
        decoded.into_iter().collect::<Result<()>>()?;
        let n = self.files.len();
        let shape = if in_color { vec![n, 3, height, width] } else { vec![n, height, width] };
        let dataset = Dataset::from_values(shape, Values::U8(values.into()), name);
        Ok(match self.labels {
            Some(labels) => dataset.with_labels(labels),
            None => dataset,
        })
    }

    /// Reads the beginning of every image, with the size that it will have; of several that are broken the first is named.
    fn headers(&self) -> Result<Vec<Header>> {
        let header = |file: &PathBuf| {
            let name = file.display().to_string();
            let header = picture::header(&open(file)?, &name)?;
            let (height, width) = self.size.of(header.height, header.width, &name)?;
            Ok(Header { height, width, ..header })
        };
        let headers: Vec<Result<Header>> = self.files.par_iter().map(header).collect();
        headers.into_iter().collect()
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

fn decode_into(values: &mut [u8], file: &Path, in_color: bool, size: ImageSize) -> Result<()> {
    let name = file.display().to_string();
    let pixels = picture::pixels(&open(file)?, in_color, size, &name)?;
    if pixels.len() != values.len() {
        let reason = "it changed while it was read".to_owned();
        return Err(Error::Image { name, reason });
    }
    values.copy_from_slice(&pixels);
    Ok(())
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
