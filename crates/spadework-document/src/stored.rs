//! Documents that a folder of results holds as `result.json`.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use spadework_io::read_regular;

use crate::Error;

/// A document that a folder of results holds.
pub trait StoredDocument: Serialize + DeserializeOwned {
    /// Name and version of the layout.
    const SCHEMA: &'static str;

    /// Reads a document that [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// When the file cannot be read, is not such a document, or has another layout than
    /// [`SCHEMA`](Self::SCHEMA).
    fn read(path: &Path) -> Result<Self, Error> {
        read_document(path, Self::SCHEMA)
    }

    /// The document as indented JSON.
    ///
    /// # Panics
    /// Never: every field can be written.
    fn to_json(&self) -> String {
        indented_json(self)
    }
}

/// Whether a layout is another version of one that is known.
pub fn is_other_version(found: &str, schema: &str) -> bool {
    let name = |schema: &str| schema.rsplit_once('/').map(|(name, _)| name.to_owned());
    found != schema && name(found) == name(schema)
}

fn read_document<T: DeserializeOwned>(path: &Path, schema: &'static str) -> Result<T, Error> {
    let malformed = |reason: String| Error::Result { path: path.to_owned(), schema, reason };
    let document = read_json(path, schema)?;
    let found = schema_in(&document, path, schema)?;
    if is_other_version(&found, schema) {
        return Err(malformed(format!(
            "its schema is `{found}`, of another version of spadework: make the result again"
        )));
    }
    if found != schema {
        return Err(malformed(format!("its schema is `{found}`")));
    }
    serde_json::from_value(document).map_err(|source| malformed(source.to_string()))
}

pub(crate) fn schema_in(
    document: &serde_json::Value,
    path: &Path,
    schema: &'static str,
) -> Result<String, Error> {
    let found = document.get("schema").and_then(serde_json::Value::as_str);
    let missing = || Error::Result { path: path.to_owned(), schema, reason: "it has no `schema`".to_owned() };
    Ok(found.ok_or_else(missing)?.to_owned())
}

pub(crate) fn read_json(path: &Path, schema: &'static str) -> Result<serde_json::Value, Error> {
    serde_json::from_slice(&read_regular(path)?).map_err(|source| {
        let reason = format!("it is not a JSON document: {source}");
        Error::Result { path: path.to_owned(), schema, reason }
    })
}

/// A document as indented JSON.
pub(crate) fn indented_json(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("numbers and words can be written as JSON")
}
