//! What a call printed and how it ended.

use std::process::Output;

use serde_json::Value;

/// A finished call.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the command prints UTF-8");
        let outcome =
            Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
        assert!(!format!("{}{}", outcome.stdout, outcome.stderr).contains('\u{1b}'), "{outcome:?}");
        outcome
    }

    /// Ended well without a word on stderr; gives what it printed.
    #[track_caller]
    pub(crate) fn prints(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    /// Ended well without a word on stderr; gives the object it printed.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        parse(&self.prints())
    }

    /// Ended well with a note that holds all the words; gives what it printed.
    #[track_caller]
    pub(crate) fn notes(self, words: &[&str]) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        assert!(self.stderr.lines().all(|line| line.starts_with("note: ")), "{}", self.stderr);
        // The indentation of a text that goes on in the next line of the source.
        assert!(!self.stderr.contains("  "), "{}", self.stderr);
        assert_holds(&self.stderr, words);
        self.stdout
    }

    /// Ended with this code, nothing on stdout, and one line on stderr, perhaps with a hint right below it.
    #[track_caller]
    pub(crate) fn refuses(self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{}", self.stderr);
        let lines: Vec<&str> = self.stderr.lines().collect();
        let (message, hint) = lines.split_first().expect("a message");
        assert!(message.starts_with("error: "), "{}", self.stderr);
        assert!(hint.len() <= 1 && hint.iter().all(|line| line.starts_with("hint: ")), "{}", self.stderr);
        assert_holds(&self.stderr, words);
    }

    /// Refused by the parser of the command line, whose messages have several lines and point to `--help`.
    #[track_caller]
    pub(crate) fn misused(self, words: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        assert_holds(&self.stderr, words);
        assert_holds(&self.stderr, &["--help"]);
    }
}

#[track_caller]
pub(crate) fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

#[track_caller]
pub(crate) fn assert_holds(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "expected `{word}` in: {text}");
    }
}
