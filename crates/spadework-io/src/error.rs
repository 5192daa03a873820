//! What can go wrong with files. Every message begins with the name of the file.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which reading or writing an array can fail.
///
/// `name` is what the user typed. Messages are one line: the file, what was expected, what was found. The cause is part of
/// the message, so it is not repeated as a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are explained by the messages they appear in")]
pub enum Error {
    /// Neither a file nor anything else that an argument can name.
    #[error("{path}: no such file")]
    NotFound { path: String },
    /// A folder where a file was expected.
    #[error("{path}: expected a file, got a folder", path = path.display())]
    Folder { path: PathBuf },
    /// The operating system refused to read.
    #[error("{path}: cannot be read: {cause}", path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// The operating system refused to write.
    #[error("{path}: cannot be written: {cause}", path = path.display())]
    Write { path: PathBuf, cause: io::Error },
    /// There is no room for numbers that do not fit the memory.
    #[error(
        "{path}: the temporary file for the images cannot be written: {cause}; set TMPDIR to a folder with enough room",
        path = path.display()
    )]
    Scratch { path: PathBuf, cause: io::Error },
    /// Another run writes to the folder.
    #[error(
        "{path}: another run{} is writing its results here; wait until it ends, or choose another folder",
        holder.map(|process| format!(" (process {process})")).unwrap_or_default(),
        path = path.display()
    )]
    Locked { path: PathBuf, holder: Option<u32> },
    /// Something other than a file under the name of the lock of a folder.
    #[error("{path}: expected a regular file, since runs lock this folder by it, got a link, a folder, a pipe or a device; remove it if you do not know it", path = path.display())]
    NotLock { path: PathBuf },
    /// A symbolic link under the name of a folder in a folder of results.
    #[error("{path}: expected a folder, since runs keep their stages in it, got a symbolic link; remove it if you do not know it", path = path.display())]
    LinkedFolder { path: PathBuf },
    /// A mapped file that another program wrote to.
    #[error("{path}: the file was changed while it was read, so the result would mix both versions; run the command again when nothing writes to the file", path = path.display())]
    Changed { path: PathBuf },
    /// A device, which may never end.
    #[error("{path}: expected a file, got a device", path = path.display())]
    Device { path: PathBuf },
    /// Something other than a file, under the name of a file that a run has written.
    #[error("{path}: expected a regular file, got a pipe or a device", path = path.display())]
    NotRegular { path: PathBuf },
    /// Something other than a file, under the name of an image.
    #[error("{name}: expected image files, got a pipe or a device: {file}", file = file.display())]
    ImageNotFile { name: String, file: PathBuf },
    /// Two arrays or columns of one name.
    #[error("{name}: names must differ, but `{key}` occurs {count} times in the file")]
    DuplicateKey { name: String, key: String, count: usize },
    /// A whole number that double precision does not hold.
    #[error(
        "{name}: whole numbers must be below 2^53 in size, since scores are computed in double precision, got {got} (value {at}, counted from 0); identifiers do not belong among the numbers of a sample"
    )]
    BigInteger { name: String, at: usize, got: String },
    /// A text table too wide to be read cell by cell.
    #[error(
        "{name}: a line of a text table may have at most {most} cells, got more in line {line}; use .npy for samples of that many numbers"
    )]
    WideLine { name: String, line: usize, most: usize },
    /// A line of packed text too long to be copied.
    #[error(
        "{name}: a line of packed text may have at most {most} bytes, got more in line {line}; unpack the file, or save the numbers as .npy"
    )]
    LongLine { name: String, line: usize, most: usize },
    /// A third-party encoder refused to write.
    #[error("{path}: cannot be encoded as {format}: {reason}", path = path.display())]
    Encoder { path: PathBuf, format: Format, reason: String },
    /// A shape that does not hold the values given.
    #[error("{path}: an array of shape {shape:?} must hold the values given, got {values} of them", path = path.display())]
    OutputShape { path: PathBuf, shape: Vec<usize>, values: usize },
    /// Columns of different length.
    #[error("{path}: every column must have {expected} rows, got {got} in `{column}`", path = path.display())]
    OutputColumn { path: PathBuf, column: String, expected: usize, got: usize },

    /// Neither extension nor content is known.
    #[error(
        "{name}: expected .npy, .npz, .csv, .tsv, .parquet, .safetensors, IDX (*-ubyte) or CIFAR-10 (.bin), got a file that begins with {begins}"
    )]
    UnknownFormat { name: String, begins: String },
    /// A key for a file that holds one unnamed array.
    #[error("{name}: a file of format {format} holds one array and takes no key, got key `{key}`")]
    NoKeys { name: String, format: Format, key: String },
    /// Columns that are to be left out of a file that has none.
    #[error("{name}: `?drop=COLUMN` is for text tables and Parquet files, got a file of format {format}")]
    NoColumns { name: String, format: Format },
    /// Columns that are to be left out of labels.
    #[error("{name}: labels are one column; name it as FILE:COLUMN instead of leaving out the others")]
    LabelColumns { name: String },
    /// The key is not in the file.
    #[error("{name}: there is no `{key}` in the file; it holds {}", Listed(keys))]
    MissingKey { name: String, key: String, keys: Vec<String> },
    /// Several arrays and no key.
    #[error("{name}: the file holds several arrays, name one as `FILE:KEY` with a key of {}", Listed(keys))]
    ManyKeys { name: String, keys: Vec<String> },
    /// A sparse matrix where rows of numbers are needed.
    #[error(
        "{name}: expected an array, got a sparse matrix of SciPy: only inputs may be sparse; save it as an array: numpy.save(\"FILE.npy\", matrix.toarray())"
    )]
    SparseMatrix { name: String },
    /// An archive without arrays.
    #[error("{name}: expected at least one array in the {format} file, got none")]
    NoArrays { name: String, format: Format },

    /// A file that does not begin as its format requires.
    #[error("{name}: a file of format {format} must begin with {expected}, got {begins}")]
    Magic { name: String, format: Format, expected: &'static str, begins: String },
    /// A header that does not follow its format.
    #[error("{name}: the {format} header must have {expected}, got {got} at byte {at}")]
    Header { name: String, format: Format, expected: &'static str, got: String, at: usize },
    /// Elements that are not real numbers.
    #[error("{name}: elements must be one of {accepted}, got {got}")]
    ElementType { name: String, got: String, accepted: &'static str },
    /// An array without a sample dimension.
    #[error("{name}: an array must have at least one dimension, got a scalar")]
    Scalar { name: String },
    /// A shape beyond any memory.
    #[error("{name}: a shape must be addressable, got {shape:?}")]
    ShapeOverflow { name: String, shape: Vec<u64> },
    /// More or fewer bytes than the header says.
    #[error("{name}: the header promises {expected} bytes of values, got {}", Bytes { got: *got, more: *more })]
    Length { name: String, expected: u64, got: u64, more: bool },
    /// More values than a file of this size can be trusted to hold.
    #[error("{name}: a file of {file_bytes} bytes may unpack to at most {limit} bytes, got more")]
    Expansion { name: String, file_bytes: u64, limit: u64 },
    /// Broken gzip data: cut short, or with a wrong checksum.
    #[error("{name}: expected complete gzip data with a matching checksum, got {cause}")]
    Gzip { name: String, cause: io::Error },
    /// Bytes after the end of the gzip data.
    #[error("{name}: the gzip data must end the file, got {got} more bytes after it")]
    GzipTrailing { name: String, got: usize },
    /// A third-party decoder refused the file.
    #[error("{name}: not a valid {format} file: {reason}")]
    Decoder { name: String, format: Format, reason: String },

    /// A text file without any number.
    #[error("{name}: expected at least one line of numbers, got none")]
    EmptyTable { name: String },
    /// A cell that is not a number.
    #[error("{name}: expected a number at line {line}, column {column}, got {got}")]
    Cell { name: String, line: u64, column: String, got: String },
    /// A line with more or fewer cells than the first.
    #[error("{name}: every line must have {expected} cells like the first, got {got} at line {line}")]
    RaggedLine { name: String, line: u64, expected: usize, got: usize },
    /// A column without a name that is not an index.
    #[error(
        "{name}: a first column without a name must count the samples from 0, expected {expected} at line {line}, got `{got}`"
    )]
    IndexColumn { name: String, line: u64, expected: usize, got: String },

    /// A missing value.
    #[error("{name}: every value must be present, got a null at row {row} of column `{column}`")]
    Null { name: String, row: usize, column: String },
    /// A column that is not numeric.
    #[error("{name}: column `{column}` must hold numbers, got {got}")]
    ColumnType { name: String, column: String, got: String },
    /// Lists of different length in one column.
    #[error(
        "{name}: every list of column `{column}` must have {expected} items like the first, got {got} at row {row}"
    )]
    RaggedList { name: String, column: String, row: usize, expected: usize, got: usize },
    /// A column whose number of rows is not that of the file.
    #[error("{name}: column `{column}` must have {expected} rows, got {got}")]
    ColumnLength { name: String, column: String, expected: usize, got: usize },

    /// A CIFAR-10 file that does not consist of whole records.
    #[error("{name}: a CIFAR-10 batch must be a positive multiple of 3073 bytes, got {bytes}")]
    CifarLength { name: String, bytes: u64 },
    /// A CIFAR-10 label beyond the ten classes.
    #[error("{name}: a CIFAR-10 label must be below 10, got {label} at record {record}")]
    CifarLabel { name: String, record: usize, label: u8 },
    /// A pickle: the Python version of CIFAR-10, or another object of a Python program.
    #[error(
        "{name}: pickled files are not read; for CIFAR-10 use the binary version (data_batch_1.bin), or save the array with numpy.save"
    )]
    Pickled { name: String },
    /// A split that the data set does not have.
    #[error("{name}: expected `{set}:FOLDER:SPLIT` with split {splits}, got {got}")]
    UnknownSplit { name: String, set: &'static str, splits: &'static str, got: String },
    /// A folder without any data set.
    #[error(
        "{name}: expected files of MNIST, Fashion-MNIST, CIFAR-10 or CINIC-10 in the folder or two levels below, got none"
    )]
    NoKnownFiles { name: String },
    /// A folder of images without a name.
    #[error("{name}: expected `images:FOLDER`, got no folder")]
    NoFolderNamed { name: String },
    /// A data set whose folder is not there.
    #[error("{name}: expected the folder {folder}, got no such folder", folder = folder.display())]
    NoFolder { name: String, folder: PathBuf },
    /// A folder without images.
    #[error("{name}: expected images (.png, .jpg, .jpeg) in the folder {folder}, got none", folder = folder.display())]
    NoImages { name: String, folder: PathBuf },
    /// An image that has no class among others that have.
    #[error(
        "{name}: expected one folder for each class or images alone, got the image {file} next to folders",
        file = file.display()
    )]
    ImageBesideClasses { name: String, file: PathBuf },
    /// A file with the ending of an image that is not an image.
    #[error("{name}: expected a PNG or JPEG image, got a file that begins with {begins}")]
    NoImage { name: String, begins: String },
    /// An image that cannot be decoded.
    #[error("{name}: not a valid image: {reason}")]
    Image { name: String, reason: String },
    /// Images of different size.
    #[error(
        "{name}: every image must have {expected} pixels like the first ({first}), got {got} in {file}",
        first = first.display(),
        file = file.display()
    )]
    ImageSize { name: String, first: PathBuf, expected: String, file: PathBuf, got: String },
    /// Labels of images without classes were requested.
    #[error("{name}: expected one folder for each class, got images alone, which have no labels")]
    NoClasses { name: String },
    /// A folder without the files of the data set.
    #[error("{name}: expected {} (each plain or with .gz) in the folder {folder}, got no {missing}", Listed(expected), folder = folder.display())]
    MissingFiles { name: String, folder: PathBuf, expected: Vec<String>, missing: String },
    /// Files of a data set that do not match.
    #[error("{name}: the images of {file} must have shape [n, {height}, {width}], got {shape:?}")]
    ImageShape { name: String, file: String, height: usize, width: usize, shape: Vec<usize> },
    /// Files that are not parts of one array.
    #[error(
        "{name}: every file must hold samples of shape {expected:?}, as the first one does, got an array of shape {got:?} in {file}"
    )]
    PartShape { name: String, file: String, expected: Vec<usize>, got: Vec<usize> },
    /// Files of different types.
    #[error(
        "{name}: every file must hold numbers of one type, got another type than in the first one in {file}"
    )]
    PartType { name: String, file: String },
    /// One label per image.
    #[error("{name}: expected one label for each of {samples} samples, got {labels} labels")]
    LabelCount { name: String, samples: usize, labels: usize },

    /// Samples that are not images, as far as their shape tells.
    #[error(
        "{name}: expected images ([n, h, w], [n, c, h, w] or [n, h, w, c] with 1 or 3 channels, or rows of 64, 784, 1024 or 3072 numbers), got shape {shape:?}"
    )]
    NoImageShape { name: String, shape: Vec<usize> },
    /// Samples that are not images of the shape given.
    #[error("{name}: images of {shape} must have as many numbers, got {dim} per sample")]
    ImageNumbers { name: String, shape: String, dim: usize },
    /// A value that is not a pixel.
    #[error("{name}: the pixels of an image must be from 0 to 1, got {value} in sample {sample}")]
    Pixel { name: String, sample: usize, value: f32 },

    /// Labels that are not integers.
    #[error("{name}: labels must be integers or words, got elements of type {got}")]
    LabelType { name: String, got: String },
    /// Labels that are not one number per sample.
    #[error("{name}: labels must be one per sample (shape [n] or [n, 1]), got shape {shape:?}")]
    LabelShape { name: String, shape: Vec<usize> },
    /// Ids that are not one per sample.
    #[error("{name}: ids must be in one column; name it as FILE:COLUMN, got {columns} columns")]
    IdShape { name: String, columns: usize },
    /// More or fewer ids than samples.
    #[error("{name}: ids must be one per sample, got {ids} for {samples} samples")]
    IdCount { name: String, samples: usize, ids: usize },
    /// A label that does not fit 64 signed bits.
    #[error("{name}: labels must be words or integers below 2^63, got {got} at row {row}")]
    LabelValue { name: String, row: usize, got: String },

    /// Neither extension nor content of a graph file is known.
    #[error(
        "{name}: expected a graph as .csv or .tsv (edges), .npz (SciPy), .mtx (Matrix Market) or .petsc, got a file that begins with {begins}"
    )]
    UnknownGraphFormat { name: String, begins: String },
    /// A file name whose ending is not that of a graph.
    #[error("{path}: a graph is written as .csv, .npz or .petsc", path = path.display())]
    GraphEnding { path: PathBuf },
    /// An edge that a graph of the samples cannot have.
    #[error("{name}: {place}: {expected}, got {got}")]
    GraphEntry { name: String, place: String, expected: &'static str, got: String },
    /// A matrix that is not an adjacency matrix of a graph over the samples.
    #[error("{name}: {expected}, got {got}")]
    GraphShape { name: String, expected: String, got: String },
    /// A graph without edges.
    #[error("{name}: a graph must have at least one edge, got none")]
    NoEdges { name: String },
    /// The array was read, but the core cannot take it.
    #[error("{name}: {cause}")]
    Samples { name: String, cause: spadework::Error },
}

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One NumPy array.
    Npy,
    /// A ZIP archive of NumPy arrays.
    Npz,
    /// Text, one line per sample, cells separated by commas, semicolons or tabs.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Safetensors.
    Safetensors,
    /// IDX, the format of MNIST.
    Idx,
    /// A CIFAR-10 binary batch.
    Cifar,
}

spadework::words! { written Format {
    Npy = "npy",
    Npz = "npz",
    Csv = "csv",
    Parquet = "parquet",
    Safetensors = "safetensors",
    Idx = "IDX",
    Cifar = "CIFAR-10",
} }

/// Keys or file names in a message: the first few, then how many more.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a>(pub &'a [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (i, key) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}`{}`", excerpt(key.as_bytes()))?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// A stream is read only one byte beyond what was promised, so its true length may be unknown.
struct Bytes {
    got: u64,
    more: bool,
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.more { f.write_str("more") } else { write!(f, "{}", self.got) }
    }
}

/// A piece of a file for a message: short, on one line, without control characters.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let head = bytes.get(..SHOWN).unwrap_or(bytes);
    let mut text: String = String::from_utf8_lossy(head).escape_debug().collect();
    if bytes.len() > SHOWN {
        text.push('…');
    }
    text
}

/// The first bytes of a file for a message.
pub(crate) fn begins(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    format!("`{}`", bytes.get(..8).unwrap_or(bytes).escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_on_one_line() {
        assert_eq!(excerpt(b"a\nb\"\x07"), "a\\nb\\\"\\u{7}");
        assert!(excerpt(&[b'x'; 1000]).len() < 60);
        assert_eq!(begins(b"\x00\x01abc\n"), "`\\x00\\x01abc\\n`");
    }

    #[test]
    fn lists_are_cut() {
        let keys: Vec<String> = (0..20).map(|i| format!("k{i}")).collect();
        let text = Listed(&keys).to_string();
        assert!(text.starts_with("`k0`, `k1`") && text.ends_with("`k11` and 8 more"), "{text}");
    }
}
