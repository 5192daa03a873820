//! The verdict of a result, in the words of a front end.

use spadework_document::score::ScoreDocument;
use spadework_document::verdict::VerdictDocument;

use crate::wording::{Voice, try_a_search, try_an_attack};

/// The verdict of a result in sentences, and what would give better evidence.
pub fn verdict(document: &ScoreDocument, voice: Voice) -> VerdictDocument {
    let step = match document.facts.probe {
        Some(_) => try_a_search(voice),
        None => try_an_attack(voice, document.sources.model.is_some()),
    };
    VerdictDocument::of(document, Some(step))
}
