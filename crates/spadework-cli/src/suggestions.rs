//! What a user probably meant: a word that is like the one typed, among those that an error lists as expected.
//!
//! clap knows the words of its own enums; kinds of graphs, metrics, probes and corruptions are parsed by their crates.

use std::error::Error as _;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words that are less alike than this by Jaro's measure are not suggested; clap's own limit for options.
const ALIKE: f64 = 0.7;

/// The error without commands that are not in the help, which clap suggests too.
pub(crate) fn without_hidden_commands(mut error: clap::Error, commands: &Command) -> clap::Error {
    let is_hidden = |name: &String| commands.find_subcommand(name).is_some_and(Command::is_hide_set);
    let Some(ContextValue::Strings(suggested)) = error.remove(ContextKind::SuggestedSubcommand) else {
        return error;
    };
    let shown: Vec<String> = suggested.into_iter().filter(|name| !is_hidden(name)).collect();
    if !shown.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(shown));
    }
    error
}

/// The error with the word that was probably meant.
pub(crate) fn with_similar_value(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidValue) else { return error };
    let expected = error.source().map(ToString::to_string).unwrap_or_default();
    let expected = expected.strip_prefix("expected ").unwrap_or_default();
    // What follows is the word that was typed.
    let expected = expected.split(", got ").next().unwrap_or_default();
    if error.kind() == ErrorKind::ValueValidation
        && let Some(meant) = similar(typed, expected)
    {
        error.insert(ContextKind::SuggestedValue, ContextValue::String(meant));
    }
    error
}

/// `linf:0.1` for `lnif:0.1` where `linf:RADIUS` is expected: the word before the colon is compared, the rest stays. If that word is right,
/// the one after a second colon is: `linf:0.1:search` for `linf:0.1:serch`.
fn similar(typed: &str, expected: &str) -> Option<String> {
    let (word, rest) = typed.split_at(typed.find(':').unwrap_or(typed.len()));
    let is_choice = |choice: &&str| *choice != "or" && choice.starts_with(|c: char| c.is_ascii_lowercase());
    let is_mark = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let choices: Vec<&str> = expected.split(is_mark).filter(is_choice).collect();
    if choices.contains(&word) {
        // The word is right; something after it is wrong.
        let (number, kind) = rest.strip_prefix(':')?.split_once(':')?;
        let (kind, rest) = kind.split_at(kind.find(':').unwrap_or(kind.len()));
        // Those of a second colon begin with it: `:search`.
        let seconds = expected.split(" :").skip(1).filter_map(|second| second.split(is_mark).next());
        return most_alike(kind, seconds).map(|meant| format!("{word}:{number}:{meant}{rest}"));
    }
    most_alike(word, choices).map(|best| format!("{best}{rest}"))
}

/// The choice that a word is most like, unless it is one.
fn most_alike<'a>(word: &str, choices: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let alike = choices.into_iter().map(|choice| (strsim::jaro(&lower, choice), choice));
    let (alike, best) = alike.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (alike > ALIKE && best != word).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn a_mistyped_word_is_recognized() {
        let graphs = "knn, mutual, pca:D, cknn:DELTA or sparse:density=EDGES";
        assert_eq!(similar("mutal", graphs).as_deref(), Some("mutual"));
        assert_eq!(similar("KNN", graphs).as_deref(), Some("knn"));
        assert_eq!(similar("pca:much", graphs), None, "the word is right; something else is wrong");
        assert_eq!(similar("lnif:0.1", "linf:RADIUS or l2:RADIUS").as_deref(), Some("linf:0.1"));
        let probes = "lnif".parse::<spadework_probe::Probe>().unwrap_err().expected;
        assert_eq!(similar("linf:0.1:serch", probes).as_deref(), Some("linf:0.1:search"));
        assert_eq!(similar("l2:1:blok:4", probes).as_deref(), Some("l2:1:block:4"));
        assert_eq!(similar("linf:0.1:search", probes), None);
        assert_eq!(similar("linf:0.1:random", probes), None);
        assert_eq!(similar("linf:0.1:std", probes), None);
        assert_eq!(similar("zzz", graphs), None);
        assert_eq!(similar("", graphs), None);
    }
}
