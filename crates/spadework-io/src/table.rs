//! Numbers with their shape, from formats that consist of columns and not of one block of bytes.

use crate::element::Numbers;

/// Values row after row; `shape` has two extents and as many values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: Numbers,
    /// Names of the columns, where the file has them.
    pub(crate) columns: Option<Vec<String>>,
}
