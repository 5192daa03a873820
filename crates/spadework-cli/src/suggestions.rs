//! Suggestions: a word similar to the typed one, among those that an error lists as expected.
//!
//! clap knows the words of its own enums; kinds of graphs, metrics, probes and corruptions are parsed by their crates.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

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
    let meant = match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::ValueValidation, _) => similar(typed, expected),
        // clap compares words by Jaro's measure alone, which finds no likeness between `cvs` and `csv`.
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(choices))) => {
            most_alike(typed, choices.iter().map(String::as_str)).map(str::to_owned)
        }
        _ => None,
    };
    if let Some(meant) = meant {
        error.insert(ContextKind::SuggestedValue, ContextValue::String(meant));
    }
    error
}

/// The error in our words where the standard library could not read a number: its own do not say what was expected.
pub(crate) fn with_plain_numbers(error: clap::Error) -> clap::Error {
    let Some(cause) = error.source() else { return error };
    let expected = if let Some(cause) = cause.downcast_ref::<ParseIntError>() {
        match cause.kind() {
            IntErrorKind::PosOverflow => "a smaller whole number",
            IntErrorKind::Zero => "a whole number above 0",
            _ => "a whole number",
        }
    } else if cause.is::<ParseFloatError>() {
        "a number"
    } else {
        return error;
    };
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (typed, option) = (text(ContextKind::InvalidValue), text(ContextKind::InvalidArg));
    let message = format!(
        "invalid value '{typed}' for '{option}': expected {expected}\n\nFor more information, try '--help'.\n"
    );
    clap::Error::raw(ErrorKind::ValueValidation, message)
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
    let alike = choices.into_iter().map(|choice| (likeness(&lower, choice), choice));
    let (alike, best) = alike.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (alike > ALIKE && best != word).then_some(best)
}

/// Jaro's measure, or more than its limit if two neighboring letters are exchanged, which it does not notice in short words.
fn likeness(word: &str, choice: &str) -> f64 {
    let exchanged = strsim::osa_distance(word, choice) == 1 && strsim::hamming(word, choice) == Ok(2);
    strsim::jaro(word, choice).max(if exchanged { f64::midpoint(ALIKE, 1.0) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::{most_alike, similar};

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
        assert_eq!(most_alike("cvs", ["csv", "parquet", "npy"]), Some("csv"));
        assert_eq!(most_alike("xls", ["csv", "parquet", "npy"]), None);
        assert_eq!(similar("zzz", graphs), None);
        assert_eq!(similar("", graphs), None);
    }
}
