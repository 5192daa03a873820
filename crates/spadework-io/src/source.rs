//! What an argument names: a file, an array in a file, or a data set.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::named::{NamedSet, Split};

/// What an argument was found to name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    File { path: PathBuf, key: Option<&'a str> },
    Named { set: NamedSet, folder: PathBuf, split: Split },
}

/// A colon may be part of a path, so a file that exists goes before any other reading of the argument.
pub(crate) fn resolve(argument: &str) -> Result<Source<'_>> {
    if Path::new(argument).exists() {
        return Ok(Source::File { path: argument.into(), key: None });
    }
    if let Some((prefix, rest)) = argument.split_once(':')
        && let Some(set) = NamedSet::from_name(prefix)
    {
        return named(argument, set, rest);
    }
    // Keys may hold colons too; the longest file that exists is meant.
    for (at, _) in argument.rmatch_indices(':') {
        let (path, key) = (&argument[..at], &argument[at + 1..]);
        if Path::new(path).is_file() {
            return Ok(Source::File { path: path.into(), key: Some(key) });
        }
    }
    Err(Error::NotFound { path: argument.to_owned() })
}

fn named<'a>(argument: &str, set: NamedSet, rest: &str) -> Result<Source<'a>> {
    let unknown = |got| Error::UnknownSplit { name: argument.to_owned(), set: set.name(), got };
    let Some((folder, split)) = rest.rsplit_once(':') else {
        return Err(unknown("no split".to_owned()));
    };
    let split = Split::from_name(split).ok_or_else(|| unknown(format!("`{split}`")))?;
    Ok(Source::Named { set, folder: folder.into(), split })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_colons_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("mnist:a.npz:key");
        std::fs::write(&odd, "").unwrap();
        let odd = odd.display().to_string();
        assert_eq!(resolve(&odd).unwrap(), Source::File { path: (&odd).into(), key: None });
        let keyed = format!("{odd}:x:y");
        assert_eq!(resolve(&keyed).unwrap(), Source::File { path: odd.into(), key: Some("x:y") });
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
        assert_eq!(message("absent.npz:key"), "absent.npz:key: no such file");
    }
}
