//! What a caller sees of the work while it is in progress.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
#[cfg(test)]
use std::time::Duration;

use spadework::Monitor;
use spadework_document::Note;
use spadework_model::{OnnxModel, Result as ModelResult};

use crate::failure::Failure;
use crate::parts::Parts;
use crate::wording::{NoteCode, Voice};

/// Follows the work: its progress, a way to stop it, and notes as soon as they are known.
pub trait Observer: Monitor {
    /// Something that the user should know.
    fn note(&self, note: &Note);

    /// Whose words messages use.
    fn voice(&self) -> Voice;
}

/// One call: its observer, and the notes that belong to its result.
pub(crate) struct Session<'a> {
    observer: &'a dyn Observer,
    notes: Mutex<Vec<Note>>,
    parts: Option<Parts>,
    /// The model file that was read last: what is run is often probed next. Only one, since each has its weights in memory.
    model: Mutex<Option<Arc<OnnxModel>>>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, notes: Mutex::new(Vec::new()), parts: None, model: Mutex::new(None) }
    }

    /// The same with parts of unfinished work kept in the folder of a result.
    pub(crate) fn keeping_parts(self, result: Option<&Path>) -> Result<Self, Failure> {
        Ok(Self { parts: result.map(Parts::of_result).transpose()?, ..self })
    }

    /// The same with parts kept in a folder of their own.
    pub(crate) fn keeping_parts_in(self, folder: Option<&Path>) -> Self {
        Self { parts: folder.map(|folder| Parts::in_folder(folder.to_owned())), ..self }
    }

    /// The same, whenever there is something to keep.
    #[cfg(test)]
    pub(crate) fn keeping_always_in(self, folder: &Path) -> Self {
        Self { parts: Some(Parts::in_folder(folder.to_owned()).with_period(Duration::ZERO)), ..self }
    }

    pub(crate) fn parts(&self) -> Option<&Parts> {
        self.parts.as_ref()
    }

    /// A model file, which is not read again where it was read last.
    pub(crate) fn model(&self, file: &str) -> ModelResult<Arc<OnnxModel>> {
        let mut last = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = last.as_ref().filter(|model| model.name() == file) {
            return Ok(Arc::clone(model));
        }
        // The weights of the one before go first.
        *last = None;
        let model = Arc::new(OnnxModel::open(file)?);
        *last = Some(Arc::clone(&model));
        Ok(model)
    }

    pub(crate) fn monitor(&self) -> &'a dyn Monitor {
        self.observer
    }

    pub(crate) fn voice(&self) -> Voice {
        self.observer.voice()
    }

    /// Notes something that a reader of the result must know: it is announced, and becomes a part of the result.
    pub(crate) fn note(&self, code: NoteCode, message: String) {
        let note = Note { code: code.to_string(), message };
        self.observer.note(&note);
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// Announces something that concerns this run alone and not its result: the same result may come about without it.
    pub(crate) fn mention(&self, code: NoteCode, message: String) {
        self.observer.note(&Note { code: code.to_string(), message });
    }

    /// The notes so far.
    pub(crate) fn notes(&self) -> Vec<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resume::tests::Quiet;

    #[test]
    fn a_model_that_was_read_last_is_not_read_again() {
        let session = Session::new(&Quiet);
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../spadework-model/tests/fixtures/onnx");
        let [one, other] = ["single", "dynamic"].map(|name| format!("{fixtures}/{name}.onnx"));
        let first = session.model(&one).unwrap();
        assert!(Arc::ptr_eq(&first, &session.model(&one).unwrap()));
        assert_eq!(session.model(&other).unwrap().name(), other);
        assert!(!Arc::ptr_eq(&first, &session.model(&one).unwrap()), "only the last one is kept");
        assert!(session.model("missing.onnx").is_err() && session.model(&one).is_ok());
    }
}
