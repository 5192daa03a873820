//! What an argument names: a file, an array in a file, or a data set.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::image_size::ImageSize;
use crate::named::{NamedSet, Split};
use crate::{cinic, digits};

/// What an argument was found to name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    File {
        path: PathBuf,
        key: Option<&'a str>,
    },
    /// A table without some of its columns.
    Table {
        path: PathBuf,
        without: Vec<&'a str>,
    },
    /// Files that are parts of one array, in the order of the numbers in their names.
    Parts {
        paths: Vec<PathBuf>,
    },
    Named {
        set: NamedSet,
        folder: PathBuf,
        split: Split,
    },
    /// A folder of images, and the size that they are resized to.
    Images {
        folder: PathBuf,
        size: ImageSize,
    },
    /// One or more splits of CINIC-10.
    Cinic {
        folder: PathBuf,
        folders: &'static [&'static str],
    },
    /// The embedded data set.
    Digits,
}

/// A colon may be part of a path, so a file that exists goes before any other reading of the argument.
pub(crate) fn resolve(argument: &str) -> Result<Source<'_>> {
    if Path::new(argument).exists() {
        return Ok(Source::File { path: argument.into(), key: None });
    }
    if digits::is_meant(argument) {
        return Ok(Source::Digits);
    }
    if let Some(folder) = argument.strip_prefix("images:") {
        if folder.is_empty() {
            return Err(Error::NoFolderNamed { name: argument.to_owned() });
        }
        // A folder that is there is meant, whatever its name.
        let whole = (folder, ImageSize::default());
        let (folder, size) = if Path::new(folder).is_dir() { whole } else { ImageSize::split(folder) };
        return Ok(Source::Images { folder: folder.into(), size });
    }
    if let Some((prefix, rest)) = argument.split_once(':')
        && let Some(set) = NamedSet::from_name(prefix)
    {
        return named(argument, set, rest);
    }
    if let Some(rest) = argument.strip_prefix("cinic10:") {
        let (folder, folders) =
            folder_and_split(argument, cinic::NAME, cinic::SPLITS, rest, cinic::folders_of)?;
        return Ok(Source::Cinic { folder, folders });
    }
    // Keys may hold colons too; the longest file that exists is meant.
    for (at, _) in argument.rmatch_indices(':') {
        let (path, key) = (&argument[..at], &argument[at + 1..]);
        if Path::new(path).is_file() {
            return Ok(Source::File { path: path.into(), key: Some(key) });
        }
    }
    if let Some((path, columns)) = argument.rsplit_once("?drop=")
        && Path::new(path).is_file()
    {
        return Ok(Source::Table { path: path.into(), without: columns.split(',').collect() });
    }
    if let Some(paths) = parts(Path::new(argument)) {
        return Ok(Source::Parts { paths });
    }
    Err(Error::NotFound { path: argument.to_owned() })
}

/// The files whose name matches one with a star in it, as `x-*.npy` and `data_batch_*.bin` have; `None` if there are none.
fn parts(pattern: &Path) -> Option<Vec<PathBuf>> {
    let (before, after) = pattern.file_name()?.to_str()?.split_once('*')?;
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        })
        .collect();
    names.sort_by_cached_key(|name| by_numbers(name));
    (!names.is_empty()).then(|| names.iter().map(|name| folder.unwrap_or(Path::new("")).join(name)).collect())
}

/// What orders `x-2` before `x-10`: the name with all its numbers equally long.
fn by_numbers(name: &str) -> String {
    const DIGITS: usize = 20;
    let mut key = String::new();
    let mut number = String::new();
    for letter in name.chars().chain(['\0']) {
        if letter.is_ascii_digit() {
            number.push(letter);
            continue;
        }
        if !number.is_empty() {
            key.push_str(&format!("{:0>DIGITS$}", std::mem::take(&mut number)));
        }
        key.push(letter);
    }
    key
}

/// Whether an argument names an existing file, an array in one, or a data set.
pub fn names_array(argument: &str) -> bool {
    resolve(argument).is_ok()
}

/// A short name for what an argument names: the key of an array in a file, the file's name without its endings, or a
/// data set's name.
pub fn default_name(argument: &str) -> String {
    match resolve(argument) {
        Ok(Source::File { key: Some(key), .. }) => key.to_owned(),
        Ok(Source::Named { set, .. }) => set.name().to_owned(),
        Ok(Source::Images { folder, .. }) => stem(&folder),
        Ok(Source::Cinic { .. }) => cinic::NAME.to_owned(),
        Ok(Source::Digits) => digits::NAME.to_owned(),
        Ok(Source::Parts { .. }) => {
            stem(Path::new(argument)).replace('*', "").trim_end_matches(['-', '_', '.']).to_owned()
        }
        // A missing file has its own error, under the name it would have.
        Ok(Source::File { path, .. } | Source::Table { path, .. }) => stem(&path),
        Err(_) => stem(Path::new(argument)),
    }
}

/// `logits.npy.gz` is `logits`, `lenet5_eps0.4.npy` is `lenet5_eps0.4`.
fn stem(path: &Path) -> String {
    let unpacked = match path.extension() {
        Some(ending) if ending.eq_ignore_ascii_case("gz") => path.with_extension(""),
        _ => path.to_owned(),
    };
    unpacked.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn named<'a>(argument: &str, set: NamedSet, rest: &str) -> Result<Source<'a>> {
    let (folder, split) =
        folder_and_split(argument, set.name(), "train, test or all", rest, Split::from_name)?;
    Ok(Source::Named { set, folder, split })
}

/// `FOLDER:SPLIT`, the rest of an argument behind the name of a data set.
fn folder_and_split<T>(
    argument: &str,
    set: &'static str,
    splits: &'static str,
    rest: &str,
    known: impl Fn(&str) -> Option<T>,
) -> Result<(PathBuf, T)> {
    let unknown = |got| Error::UnknownSplit { name: argument.to_owned(), set, splits, got };
    let Some((folder, split)) = rest.rsplit_once(':') else {
        return Err(unknown("no split".to_owned()));
    };
    let split = known(split).ok_or_else(|| unknown(format!("`{split}`")))?;
    Ok((folder.into(), split))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scratch_file;

    #[test]
    fn a_file_with_colons_goes_first() {
        let (_folder, odd) = scratch_file("mnist:a.npz:key", "");
        let odd = odd.display().to_string();
        assert_eq!(resolve(&odd).unwrap(), Source::File { path: (&odd).into(), key: None });
        let keyed = format!("{odd}:x:y");
        assert_eq!(resolve(&keyed).unwrap(), Source::File { path: odd.into(), key: Some("x:y") });
    }

    #[test]
    fn columns_to_leave_out_follow_the_file() {
        let (_folder, path) = scratch_file("table.csv", "");
        let whole = path.display().to_string();
        let argument = format!("{whole}?drop=class,the id");
        let expected = Source::Table { path: path.clone(), without: vec!["class", "the id"] };
        assert_eq!(resolve(&argument).unwrap(), expected);
        assert_eq!(default_name(&argument), "table");
        assert!(matches!(resolve("absent.csv?drop=a"), Err(Error::NotFound { .. })));
        // A file of such a name is meant first.
        std::fs::write(&argument, "").unwrap();
        assert!(matches!(resolve(&argument).unwrap(), Source::File { key: None, .. }));
    }

    #[test]
    fn parts_come_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x-10.npy", "x-2.npy", "x-1.npy", "y-1.npy", "x-3.csv"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let pattern = format!("{}/x-*.npy", folder.path().display());
        let want = ["x-1.npy", "x-2.npy", "x-10.npy"].map(|name| folder.path().join(name)).to_vec();
        assert_eq!(resolve(&pattern).unwrap(), Source::Parts { paths: want });
        assert_eq!(default_name(&pattern), "x");
        assert!(matches!(resolve(&pattern.replace("npy", "npz")), Err(Error::NotFound { .. })));
    }

    #[test]
    fn short_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.b.npy", "packed.csv.gz", "c.npz"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let name = |file: &str| default_name(&format!("{}/{file}", folder.path().display()));
        assert_eq!([name("a.b.npy"), name("packed.csv.gz"), name("c.npz:k")], ["a.b", "packed", "k"]);
        assert_eq!((default_name("mnist:D:test"), default_name("gone/x.npy")), ("mnist".into(), "x".into()));
        assert!(names_array("mnist:D:test") && !names_array("gone.npy"));
    }

    #[test]
    fn names_data_sets_by_folder_and_split() {
        let expected = Source::Named { set: NamedSet::Mnist, folder: "C:\\data".into(), split: Split::Test };
        assert_eq!(resolve("mnist:C:\\data:test").unwrap(), expected);
        let message = |argument: &str| resolve(argument).unwrap_err().to_string();
        assert_eq!(
            message("cifar10:data:valid"),
            "cifar10:data:valid: expected `cifar10:FOLDER:SPLIT` with split train, test or all, got `valid`"
        );
        assert!(message("mnist:data").ends_with("got no split"));
        assert!(message("mnist:data:valid").contains("with split train, test or all, got `valid`"));
        assert!(message("cinic10:data:dev").contains("with split train, valid, test or all, got `dev`"));
        assert_eq!(message("images:"), "images:: expected `images:FOLDER`, got no folder");
        assert_eq!(
            resolve("images:a:b").unwrap(),
            Source::Images { folder: "a:b".into(), size: ImageSize::default() }
        );
        assert_eq!(resolve("digits").unwrap(), Source::Digits);
        assert_eq!(message("absent.npz:key"), "absent.npz:key: no such file");
    }
}
