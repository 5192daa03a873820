//! Finds an installed onnxruntime library. Nothing is run for this; only folders are searched.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Folders of modules of the Python interpreter that this library runs in.
static MODULES: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Sets the folders of modules of the Python interpreter that this library runs in (`sys.path`). They are searched first.
pub fn look_in_modules(folders: Vec<PathBuf>) {
    // The first call stays: an interpreter imports the package once.
    let _ = MODULES.set(folders);
}

/// The library: where `ORT_DYLIB_PATH` says it is, in Python's package, or where libraries are installed. What the variable names must be there:
/// another library in its place would not be what the user asked for.
pub(super) fn found() -> Result<Option<PathBuf>, String> {
    if let Some(place) = variable("ORT_DYLIB_PATH") {
        let named = in_place(Path::new(&place)).map(Some);
        return named.map_err(|reason| format!("{reason} (ORT_DYLIB_PATH names it)"));
    }
    let modules = MODULES.get().cloned().unwrap_or_default().into_iter().chain(python_modules());
    let packages = modules.map(|folder| folder.join("onnxruntime"));
    Ok(packages.chain(library_folders()).find_map(|place| in_folder(&place)))
}

/// The library itself, or the one in a folder, as Python's package has it.
pub(super) fn in_place(place: &Path) -> Result<PathBuf, String> {
    if place.is_dir() {
        let missing = || format!("{}: there is no onnxruntime library in this folder", place.display());
        return in_folder(place).ok_or_else(missing);
    }
    if place.exists() { Ok(place.to_owned()) } else { Err(format!("{}: no such file", place.display())) }
}

fn in_folder(folder: &Path) -> Option<PathBuf> {
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libonnxruntime.") || name == "onnxruntime.dll"
    };
    let mut libraries: Vec<PathBuf> =
        entries(folder).chain(entries(&folder.join("capi"))).filter(is_library).collect();
    libraries.sort();
    libraries.pop()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn folders_of(name: &str) -> Vec<PathBuf> {
    variable(name).map(|value| std::env::split_paths(&value).collect()).unwrap_or_default()
}

/// Folders of modules of the environments that are active, and of the interpreters on the path.
fn python_modules() -> Vec<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).map(PathBuf::from);
    let has_python =
        |folder: &PathBuf| ["python3", "python", "python.exe"].iter().any(|name| folder.join(name).is_file());
    let on_path = folders_of("PATH").into_iter().filter(has_python);
    // An interpreter in PREFIX/bin (on Windows: in PREFIX) has its modules under PREFIX/lib.
    let prefixes = on_path.flat_map(|folder| [folder.parent().map(Path::to_owned), Some(folder)]).flatten();
    let own = variable("HOME").map(|home| PathBuf::from(home).join(".local"));
    active.chain(prefixes).chain(own).flat_map(|prefix| modules_under(&prefix)).collect()
}

fn modules_under(prefix: &Path) -> Vec<PathBuf> {
    let is_python = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python3"))
    };
    let mut versions: Vec<PathBuf> = entries(&prefix.join("lib")).filter(is_python).collect();
    // The newest first: the one that a bare `python3` most likely is.
    versions.sort();
    versions.reverse();
    versions.push(prefix.join("Lib"));
    let both = |version: PathBuf| [version.join("site-packages"), version.join("dist-packages")];
    versions.into_iter().flat_map(both).collect()
}

/// Where the system looks for libraries.
fn library_folders() -> Vec<PathBuf> {
    let named = if cfg!(windows) {
        folders_of("PATH")
    } else {
        [folders_of("LD_LIBRARY_PATH"), folders_of("DYLD_LIBRARY_PATH")].concat()
    };
    let architecture = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let usual = ["/usr/local/lib", "/usr/lib", "/usr/lib64", &architecture, "/opt/homebrew/lib"];
    named.into_iter().chain(usual.into_iter().map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_a_package_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("lib/python3.11/site-packages");
        let library = modules.join("onnxruntime/capi/libonnxruntime.so.1.31.1");
        std::fs::create_dir_all(library.parent().unwrap()).unwrap();
        std::fs::write(&library, "").unwrap();
        let found =
            modules_under(folder.path()).into_iter().find_map(|at| in_folder(&at.join("onnxruntime")));
        assert_eq!(found, Some(library.clone()));
        assert_eq!(in_place(&modules.join("onnxruntime")), Ok(library.clone()));
        assert_eq!(in_place(&library), Ok(library));
        let message = in_place(folder.path()).unwrap_err();
        assert!(message.ends_with("there is no onnxruntime library in this folder"), "{message}");
        assert!(in_place(&folder.path().join("gone.so")).unwrap_err().ends_with("no such file"));
    }
}
