//! Reads columns of the tables that this program writes into the folder of a result.

use std::path::Path;

use crate::error::Result;
use crate::formats::csv;
use crate::mapping::{check_regular, read_file};

/// The numbers of a column in a CSV file with a header, NaN if a field is empty; none if there is no such column.
///
/// # Errors
/// When the file cannot be read, or the column has something other than numbers.
pub fn read_column(path: &Path, column: &str) -> Result<Option<Vec<f64>>> {
    check_regular(path)?;
    let file = read_file(path)?;
    let found = csv::sparse_column(&file, column, &path.display().to_string())?;
    file.check_unchanged()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scratch_file;

    #[test]
    fn empty_fields_are_no_numbers() {
        let table = "index,label,survived\n0,\"a,b\",1\n1,cat,\n2,,0\n";
        let (folder, path) = scratch_file("nodes.csv", table);
        let column = |name: &str| read_column(&path, name).unwrap();
        let survived = column("survived").unwrap();
        assert!(survived[0] == 1.0 && survived[1].is_nan() && survived[2] == 0.0, "{survived:?}");
        assert_eq!(column("index").unwrap(), [0.0, 1.0, 2.0]);
        assert_eq!(column("robust"), None);
        assert!(read_column(&path, "label").is_err());
        assert!(read_column(&folder.path().join("none.csv"), "index").is_err());
    }
}
