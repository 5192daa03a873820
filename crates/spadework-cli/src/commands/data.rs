//! `spadework data`: the data sets that have a name, and checks of those in a folder.

use std::path::Path;

use spadework_document::data::{
    CHECK_SCHEMA, CheckedFileDocument, CheckedSetDocument, DataCheckDocument, DataListDocument, SCHEMA,
};
use spadework_io::catalog::{CheckedSet, FileState, KNOWN_SETS, check_folder};

use crate::args_data::DataArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::json;

pub(crate) fn run(args: &DataArgs) -> Result<(), Failure> {
    match &args.folder {
        None => Console::data(&if args.json { json(&listed()) } else { list_to_text() }),
        Some(folder) => check(folder, args.json),
    }
}

fn listed() -> DataListDocument {
    DataListDocument { schema: SCHEMA, sets: &KNOWN_SETS, version: env!("CARGO_PKG_VERSION") }
}

fn list_to_text() -> String {
    let mut text = String::from(
        "Data sets by name; DIR is the folder with their files as their authors publish them.\n",
    );
    for set in &KNOWN_SETS {
        text.push_str(&format!(
            "\n{}\n  --inputs {}\n  {} images of {}, {} classes; {}\n  {}\n  license: {}\n",
            set.title, set.argument, set.samples, set.shape, set.classes, set.size, set.homepage, set.license
        ));
    }
    text.push_str(
        "\nImages of your own (PNG, JPEG; one size), one folder per class\n  --inputs images:DIR\n\n\
         `spadework data DIR` checks the files in a folder.\n",
    );
    text
}

/// Exit code 1 where a file is missing or is another one.
fn check(folder: &Path, as_json: bool) -> Result<(), Failure> {
    let sets = check_folder(folder)?;
    let passed = sets.iter().all(CheckedSet::is_complete);
    let document = DataCheckDocument {
        schema: CHECK_SCHEMA,
        folder: folder.display().to_string(),
        passed,
        sets: sets.iter().map(checked).collect(),
        version: env!("CARGO_PKG_VERSION"),
    };
    Console::data(&if as_json { json(&document) } else { check_to_text(&document) })?;
    if passed { Ok(()) } else { Err(Failure::gate()) }
}

fn checked(set: &CheckedSet) -> CheckedSetDocument {
    let files = set.files.iter().map(|file| {
        let (state, reason) = match &file.state {
            FileState::Verified => ("verified", None),
            FileState::Counted => ("counted", None),
            FileState::Missing => ("missing", None),
            FileState::Differs { reason } => ("differs", Some(reason.clone())),
            // A state that this program does not know.
            _ => ("unknown", None),
        };
        let path = file.path.as_ref().map(|path| path.display().to_string());
        CheckedFileDocument { name: file.name.clone(), state, path, reason }
    });
    CheckedSetDocument {
        name: set.set.name,
        folder: set.folder.display().to_string(),
        complete: set.is_complete(),
        files: files.collect(),
    }
}

fn check_to_text(document: &DataCheckDocument) -> String {
    let mut text = String::new();
    for set in &document.sets {
        let count = |state: &str| set.files.iter().filter(|file| file.state == state).count();
        let verdict = match (count("differs"), count("missing")) {
            (0, 0) if count("counted") > 0 => {
                "complete by the number of images, whose content is not checked".to_owned()
            }
            (0, 0) => format!("complete, {} files verified", set.files.len()),
            (differ, missing) => {
                format!("{differ} of {} files differ, {missing} missing", set.files.len())
            }
        };
        text.push_str(&format!("{} in {}: {verdict}\n", set.name, set.folder));
        for file in &set.files {
            let reason = file.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            text.push_str(&format!("  {:<8}  {}{reason}\n", file.state, file.name));
        }
    }
    text
}
