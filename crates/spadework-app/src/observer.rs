//! What a caller sees of the work while it goes on.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use spadework::Monitor;
use spadework_document::Note;

use crate::parts::Parts;
use crate::wording::{NoteCode, Voice};

/// Follows the work: its progress, a way to stop it, and notes as they come.
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
}

impl<'a> Session<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, notes: Mutex::new(Vec::new()), parts: None }
    }

    /// The same with parts of unfinished work kept in the folder of a result.
    pub(crate) fn keeping_parts(self, result: Option<&Path>) -> Self {
        Self { parts: result.map(Parts::of_result), ..self }
    }

    pub(crate) fn parts(&self) -> Option<&Parts> {
        self.parts.as_ref()
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
