//! CINIC-10: one folder per split, with one folder of images per class. The classes are those of CIFAR-10.

use std::path::Path;

use crate::error::Result;
use crate::formats::cifar::CLASSES;
use crate::image_folder::ImageFolder;

/// What a user types for it.
pub(crate) const NAME: &str = "cinic10";
/// Names of its splits, for messages.
pub(crate) const SPLITS: &str = "train, valid, test or all";
/// Its folders.
pub(crate) const FOLDERS: [&str; 3] = ["train", "valid", "test"];

/// The folders of a split, where there is one of that name.
pub(crate) fn folders_of(split: &str) -> Option<&'static [&'static str]> {
    match split {
        "train" => Some(&FOLDERS[..1]),
        "valid" => Some(&FOLDERS[1..2]),
        "test" => Some(&FOLDERS[2..]),
        "all" => Some(&FOLDERS),
        _ => None,
    }
}

/// The images of some of the folders, one after the other.
pub(crate) fn list(folder: &Path, folders: &[&str], name: &str) -> Result<ImageFolder> {
    let mut whole = ImageFolder::default();
    for split in folders {
        whole.append(ImageFolder::list_classes(&folder.join(split), &CLASSES, name)?);
    }
    Ok(whole)
}
