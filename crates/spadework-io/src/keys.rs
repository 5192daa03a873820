//! Which of several named arrays is meant.

use crate::error::{Error, Format, Result};

/// The position of `key`, or of the only key there is.
pub(crate) fn pick(keys: &[String], key: Option<&str>, format: Format, name: &str) -> Result<usize> {
    let name = name.to_owned();
    match (key, keys) {
        (_, []) => Err(Error::NoArrays { name, format }),
        (None, [_]) => Ok(0),
        (None, _) => Err(Error::ManyKeys { name, keys: keys.to_vec() }),
        (Some(key), _) => keys
            .iter()
            .position(|candidate| candidate == key)
            .ok_or_else(|| Error::MissingKey { name, key: key.to_owned(), keys: keys.to_vec() }),
    }
}
