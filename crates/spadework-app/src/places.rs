//! Where an array or a model was named, and how to find it again.

use std::path::Path;

use spadework_document::score::PlaceDocument;

/// The folder of a result, which may also be named by the `result.json` in it.
pub fn folder_of(result: &Path) -> &Path {
    match result.parent() {
        Some(folder) if result.ends_with("result.json") && result.is_file() => {
            if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
        }
        _ => result,
    }
}

/// The folder in which the user types, for results that name arrays by relative paths.
pub fn working_folder() -> Option<String> {
    std::env::current_dir().ok().and_then(|folder| Some(folder.to_str()?.to_owned()))
}

/// Something that the user names in the working folder.
pub(crate) fn here(array: &str) -> PlaceDocument {
    PlaceDocument { array: array.to_owned(), folder: working_folder() }
}

/// An array as it would be typed elsewhere: its path starts from `folder`, unless it is absolute.
pub(crate) fn array_in(folder: &Path, argument: &str) -> String {
    // A data set by name has its folder in the middle: mnist:DIR:test.
    match argument.splitn(3, ':').collect::<Vec<_>>()[..] {
        ["images", place] => format!("images:{}", folder.join(place).display()),
        [set, place, split] => format!("{set}:{}:{split}", folder.join(place).display()),
        _ => folder.join(argument).display().to_string(),
    }
}

/// The last part of a path, as people call a file.
pub(crate) fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}
