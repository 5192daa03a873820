//! Selects one of several named arrays.

use crate::error::{Error, Format, Result};

/// The position of `key`, or of the only key there is.
pub(crate) fn pick(keys: &[String], key: Option<&str>, format: Format, name: &str) -> Result<usize> {
    let name = name.to_owned();
    match (key, keys) {
        (_, []) => Err(Error::NoArrays { name, format }),
        (None, [_]) => Ok(0),
        (None, _) => Err(Error::ManyKeys { name, keys: keys.to_vec() }),
        (Some(key), _) => {
            let mut places = (0..keys.len()).filter(|&at| keys[at] == key);
            match (places.next(), places.count()) {
                (None, _) => Err(Error::MissingKey { name, key: key.to_owned(), keys: keys.to_vec() }),
                (Some(at), 0) => Ok(at),
                (Some(_), more) => Err(Error::DuplicateKey { name, key: key.to_owned(), count: more + 1 }),
            }
        }
    }
}

/// The positions of some keys.
pub(crate) fn places(keys: &[String], wanted: &[&str], format: Format, name: &str) -> Result<Vec<usize>> {
    let place = |key: &&str| match keys {
        [] => Err(Error::MissingKey { name: name.to_owned(), key: (*key).to_owned(), keys: Vec::new() }),
        keys => pick(keys, Some(key), format, name),
    };
    wanted.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_occurs_twice_names_nothing() {
        let keys = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(pick(&keys, Some("b"), Format::Csv, "x").unwrap(), 1);
        let error = pick(&keys, Some("a"), Format::Csv, "x.csv:a").unwrap_err();
        assert_eq!(error.to_string(), "x.csv:a: names must differ, but `a` occurs 2 times in the file");
    }
}
