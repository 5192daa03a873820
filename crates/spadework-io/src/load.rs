//! From an argument to an array: finds the file, recognizes its format, calls its reader.

use std::path::{Path, PathBuf};

use spadework::{Monitor, Silent};

use crate::array::{Description, RawArray};
use crate::dataset::Dataset;
use crate::element::Numbers;
use crate::error::{Error, Format, Result, begins};
use crate::formats::scipy_matrix::is_matrix;
use crate::formats::{cifar, csv, idx, npy, npz, parquet, safetensors};
use crate::image_folder::ImageFolder;
use crate::labels::Labels;
use crate::mapping::{FileBytes, MAP_FROM};
use crate::source::{Source, resolve};
use crate::stream::{GZIP_MAGIC, Gunzip, gzip_error, read_up_to};
use crate::table::Table;
use crate::{cinic, digits, named};

/// Loads the array that a user's argument names, e.g. `x.npy`, `x.npz:key`, `x.parquet:column`, `mnist:DIR:test`,
/// `images:DIR`, `digits`; `x-*.npy` are all files of such a name as one array, and `x.csv?drop=a,b` are all columns but some.
///
/// A NumPy file of 4 MiB or more that holds rows of `uint8`, `int8`, `int16`, `float16`, `float32` or `float64` is mapped, not
/// read, and so is a safetensors file of these or `bfloat16`: no other program may change it as long as the [`Dataset`] exists.
/// Numbers of one or two bytes stay what they are in all other files of arrays too, except for `uint16`.
///
/// # Errors
/// When there is no such file, its format is unknown, or its content does not follow the format.
pub fn load(argument: &str) -> Result<Dataset> {
    load_watched(argument, &Silent)
}

/// The same with a monitor, which sees how many images of a folder have been decoded and may stop that.
///
/// # Errors
/// As [`load`], and when the monitor stops the work.
pub fn load_watched(argument: &str, monitor: &dyn Monitor) -> Result<Dataset> {
    load_announcing(argument, monitor, &|_| {})
}

/// The same, and tells before the numbers are read how many bytes of memory they will take, by the headers of the files. It does not if
/// the array is mapped, if the file is small, or if its format has no header that says so.
///
/// # Errors
/// As [`load_watched`].
pub fn load_announcing(argument: &str, monitor: &dyn Monitor, announce: &dyn Fn(u64)) -> Result<Dataset> {
    Loading { map_from: MAP_FROM, monitor, announce }.load(argument)
}

/// What the numbers in a mapped file take once they have been read.
fn loaded_bytes(format: Format, file: &FileBytes, key: Option<&str>, name: &str) -> Option<u64> {
    let in_file = |array: RawArray<'_>| match array.place_in(file) {
        Some(_) => Ok(None),
        None => array.description().loaded_len(false, name).map(Some),
    };
    let unpacked = |description: Description| description.loaded_len(true, name).map(Some);
    let bytes = match format {
        Format::Npy if file.starts_with(GZIP_MAGIC) => {
            npy::read_description(&mut Gunzip::new(file), name, |cause| gzip_error(cause, name))
                .and_then(unpacked)
        }
        Format::Npy => npy::parse(file, name).and_then(in_file),
        Format::Safetensors => safetensors::parse(file, key, name).and_then(in_file),
        Format::Npz => npz::describe(file, key, name).and_then(unpacked),
        Format::Idx => idx::describe(file, name).and_then(unpacked),
        Format::Parquet | Format::Csv | Format::Cifar => return None,
    };
    // What is wrong with a file is said when it is read.
    bytes.ok().flatten().map(|bytes| bytes as u64)
}

/// Loads the numbers that a user's argument names as [`load`] does, row after row, but does not treat bytes as pixels. For numbers
/// that describe the columns of other arrays.
///
/// # Errors
/// As [`load`].
pub fn load_numbers(argument: &str) -> Result<Vec<f64>> {
    let images =
        || -> Result<Vec<f64>> { Ok(load(argument)?.samples()?.values().all_doubles().into_owned()) };
    let Source::File { path, key } = resolve(argument)? else { return images() };
    let file = FileBytes::open(&path, MAP_FROM)?;
    let format = detect(&path, &file, argument)?;
    refuse_key(format, key, argument)?;
    let of_table = |table: Table| match table.numbers {
        Numbers::F32(values) => values.into_iter().map(f64::from).collect(),
        Numbers::F64(values) => values,
    };
    let numbers = match format {
        Format::Npy | Format::Npz | Format::Safetensors | Format::Idx => {
            raw_array(format, &file, key, argument)?.plain_numbers(argument)?
        }
        Format::Parquet => of_table(parquet::parse_plain(&file, key, argument)?),
        Format::Csv => of_table(csv::parse(&file, key, argument)?),
        Format::Cifar => images()?,
    };
    file.check_unchanged()?;
    Ok(numbers)
}

/// Loads an array from memory; the ending of `name` determines the format, as for a file.
///
/// # Errors
/// As [`load`].
pub fn load_bytes(name: &str, bytes: Vec<u8>) -> Result<Dataset> {
    load_file(FileBytes::of(bytes), Path::new(name), None, name, &|_| {})
}

/// Loads labels: integers, one per sample, from a file, or those of a data set; in text and Parquet files also words.
///
/// # Errors
/// As [`load`], and when the values are not one integer or word per sample.
pub fn load_labels(argument: &str) -> Result<Labels> {
    match resolve(argument)? {
        Source::Named { set, folder, split } => named::load_labels(set, &folder, split, argument),
        Source::Images { folder, .. } => ImageFolder::list(&folder, argument)?
            .into_labels()
            .ok_or_else(|| Error::NoClasses { name: argument.to_owned() }),
        Source::Cinic { folder, folders } => cinic::list(&folder, folders, argument)?
            .into_labels()
            .ok_or_else(|| Error::NoClasses { name: argument.to_owned() }),
        Source::Digits => digits::load_labels(),
        Source::File { path, key } => labels_of_file(&path, key, argument),
        Source::Table { .. } => Err(Error::LabelColumns { name: argument.to_owned() }),
        Source::Parts { paths } => labels_of_parts(&paths, argument),
    }
}

/// The arrays that an argument names: for a `.npz` file without a key, each of its arrays as `FILE:KEY`, and otherwise the
/// argument itself. Only files that end in `.npz` are opened; [`load`] reports what is wrong with one.
///
/// # Errors
/// When a `.npz` file cannot be read.
pub fn arrays_in(argument: &str) -> Result<Vec<String>> {
    let alone = || vec![argument.to_owned()];
    let Ok(Source::File { path, key: None }) = resolve(argument) else { return Ok(alone()) };
    let is_archive = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npz"));
    if !is_archive || !path.is_file() {
        return Ok(alone());
    }
    let keys = npz::keys(&FileBytes::open(&path, MAP_FROM)?, argument)?;
    Ok(if keys.len() < 2 || is_matrix(&keys) {
        alone()
    } else {
        keys.iter().map(|key| format!("{argument}:{key}")).collect()
    })
}

/// Loads the names of the samples: words or numbers, one per row, from a file or from a column of a file.
///
/// # Errors
/// As [`load_labels`], and when there is not one id for each of the samples.
pub fn load_ids(argument: &str, samples: usize) -> Result<Vec<String>> {
    let check = |ids: usize| {
        let differ = || Error::IdCount { name: argument.to_owned(), samples, ids };
        if ids == samples { Ok(()) } else { Err(differ()) }
    };
    let of_labels = |labels: Labels| {
        // Words take many times the memory of numbers.
        check(labels.len())?;
        Ok(words_of(&labels))
    };
    let Source::File { path, key } = resolve(argument)? else { return of_labels(load_labels(argument)?) };
    let file = FileBytes::open(&path, MAP_FROM)?;
    if detect_words(&path, &file, argument)? != Format::Csv {
        return of_labels(labels_of_file(&path, key, argument)?);
    }
    let mut ids = csv::words(&file, key, argument)?;
    file.check_unchanged()?;
    // A line of text above as many ids as there are samples names the column.
    if ids.len() == samples + 1 {
        ids.remove(0);
    }
    check(ids.len())?;
    Ok(ids)
}

/// The format of a file of labels or ids, which are often kept as plain text, one per line.
fn detect_words(path: &Path, bytes: &[u8], name: &str) -> Result<Format> {
    let is_text = || std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    match detect(path, bytes, name) {
        Err(Error::UnknownFormat { .. }) if is_text() => Ok(Format::Csv),
        found => found,
    }
}

fn words_of(labels: &Labels) -> Vec<String> {
    let word = |&id: &i64| labels.class_name(id).map_or_else(|| id.to_string(), str::to_owned);
    labels.ids().iter().map(word).collect()
}

/// How arrays are loaded.
struct Loading<'a> {
    /// The size from which files are mapped; tests have smaller ones.
    map_from: u64,
    monitor: &'a dyn Monitor,
    /// Told how many bytes an array will take.
    announce: &'a dyn Fn(u64),
}

impl Loading<'_> {
    fn load(&self, argument: &str) -> Result<Dataset> {
        let Self { map_from, monitor, announce } = *self;
        match resolve(argument)? {
            Source::Named { set, folder, split } => named::load(set, &folder, split, argument),
            Source::Images { folder, size } => {
                ImageFolder::list(&folder, argument)?.with_size(size).load(argument, monitor)
            }
            Source::Cinic { folder, folders } => {
                cinic::list(&folder, folders, argument)?.load(argument, monitor)
            }
            Source::Digits => digits::load(),
            Source::File { path, key } => {
                load_file(FileBytes::open(&path, map_from)?, &path, key, argument, announce)
            }
            Source::Table { path, without } => load_table(&path, &without, argument),
            Source::Parts { paths } => {
                // They are put together in memory, as they lie in the files.
                announce(paths.iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum());
                // Mapped whatever their size, so that bytes stay bytes in all of them.
                let part = |path: &PathBuf| {
                    let name = path.display().to_string();
                    load_file(FileBytes::open(path, 1)?, path, None, &name, &|_| {})
                };
                Dataset::joined(paths.iter().map(part).collect::<Result<_>>()?, argument)
            }
        }
    }
}

fn load_file(
    file: FileBytes,
    path: &Path,
    key: Option<&str>,
    name: &str,
    announce: &dyn Fn(u64),
) -> Result<Dataset> {
    let format = detect(path, &file, name)?;
    refuse_key(format, key, name)?;
    if file.is_mapped()
        && let Some(bytes) = loaded_bytes(format, &file, key, name)
    {
        announce(bytes);
    }
    let converted = match format {
        Format::Npy if !file.starts_with(GZIP_MAGIC) => {
            return Dataset::from_file(file, name, |bytes| npy::parse(bytes, name));
        }
        Format::Safetensors => {
            return Dataset::from_file(file, name, |bytes| safetensors::parse(bytes, key, name));
        }
        Format::Csv => Dataset::from_table(csv::parse(&file, key, name)?, name),
        Format::Parquet => Dataset::from_table(parquet::parse(&file, key, name)?, name),
        Format::Cifar => {
            let (images, labels) = cifar::parse(&file, name)?;
            Dataset::from_raw(images, name)?.with_labels(labels)
        }
        Format::Npy | Format::Npz | Format::Idx => {
            Dataset::from_raw(raw_array(format, &file, key, name)?, name)?
        }
    };
    file.check_unchanged()?;
    Ok(converted)
}

/// All columns of a table but some.
fn load_table(path: &Path, without: &[&str], name: &str) -> Result<Dataset> {
    let file = FileBytes::open(path, MAP_FROM)?;
    let table = match detect(path, &file, name)? {
        Format::Csv => csv::parse_without(&file, without, name)?,
        Format::Parquet => parquet::parse_without(&file, without, name)?,
        format => return Err(Error::NoColumns { name: name.to_owned(), format }),
    };
    file.check_unchanged()?;
    Ok(Dataset::from_table(table, name))
}

fn labels_of_file(path: &Path, key: Option<&str>, name: &str) -> Result<Labels> {
    let file = FileBytes::open(path, MAP_FROM)?;
    let format = detect_words(path, &file, name)?;
    refuse_key(format, key, name)?;
    let labels = match format {
        Format::Csv => csv::labels(&file, key, name)?,
        Format::Parquet => parquet::labels(&file, key, name)?,
        Format::Cifar => cifar::parse(&file, name)?.1,
        Format::Npy | Format::Npz | Format::Safetensors | Format::Idx => {
            raw_array(format, &file, key, name)?.labels(name)?
        }
    };
    file.check_unchanged()?;
    Ok(labels)
}

/// Words are numbered within their file, so files whose words differ cannot be joined.
fn labels_of_parts(paths: &[PathBuf], name: &str) -> Result<Labels> {
    let mut whole: Option<Labels> = None;
    for path in paths {
        let part = labels_of_file(path, None, &path.display().to_string())?;
        match &mut whole {
            None => whole = Some(part),
            Some(labels) if labels.has_classes_of(&part) => labels.append(part),
            Some(_) => {
                let got = "other words in each file".to_owned();
                return Err(Error::LabelType { name: name.to_owned(), got });
            }
        }
    }
    whole.ok_or_else(|| Error::NotFound { path: name.to_owned() })
}

/// The formats that hold arrays as blocks of bytes.
fn raw_array<'a>(format: Format, bytes: &'a [u8], key: Option<&str>, name: &str) -> Result<RawArray<'a>> {
    match format {
        Format::Npz => npz::parse(bytes, key, name),
        Format::Safetensors => safetensors::parse(bytes, key, name),
        Format::Idx => idx::parse(bytes, name),
        _ if bytes.starts_with(GZIP_MAGIC) => {
            npy::read(Gunzip::new(bytes), bytes.len(), name, |cause| gzip_error(cause, name))
        }
        _ => npy::parse(bytes, name),
    }
}

fn refuse_key(format: Format, key: Option<&str>, name: &str) -> Result<()> {
    match (format, key) {
        (Format::Npy | Format::Idx | Format::Cifar, Some(key)) => {
            Err(Error::NoKeys { name: name.to_owned(), format, key: key.to_owned() })
        }
        _ => Ok(()),
    }
}

/// The format by the file's name, or else by its first bytes.
fn detect(path: &Path, bytes: &[u8], name: &str) -> Result<Format> {
    let file_name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    by_name(file_name.strip_suffix(".gz").unwrap_or(&file_name))
        .or_else(|| by_content(bytes))
        .ok_or_else(|| unknown_format(bytes, name))
}

fn unknown_format(bytes: &[u8], name: &str) -> Error {
    match bytes {
        // Protocols 2 to 5 begin with their number; a pickle of an older protocol looks like any text.
        [0x80, 2..=5, ..] => Error::Pickled { name: name.to_owned() },
        _ => Error::UnknownFormat { name: name.to_owned(), begins: begins(bytes) },
    }
}

fn by_name(file_name: &str) -> Option<Format> {
    const ENDINGS: [(&str, Format); 11] = [
        (".npy", Format::Npy),
        (".npz", Format::Npz),
        (".csv", Format::Csv),
        (".tsv", Format::Csv),
        (".parquet", Format::Parquet),
        (".pq", Format::Parquet),
        (".safetensors", Format::Safetensors),
        ("-ubyte", Format::Idx),
        (".idx", Format::Idx),
        (".bin", Format::Cifar),
        (".ubyte", Format::Idx),
    ];
    ENDINGS.iter().find(|(ending, _)| file_name.ends_with(ending)).map(|(_, format)| *format)
}

fn by_content(bytes: &[u8]) -> Option<Format> {
    if bytes.starts_with(GZIP_MAGIC) {
        let head = read_up_to(&mut Gunzip::new(bytes), 16).ok()?;
        // Only these two are read packed.
        return by_content(&head).filter(|format| matches!(format, Format::Npy | Format::Idx));
    }
    match bytes {
        _ if bytes.starts_with(npy::MAGIC) => Some(Format::Npy),
        _ if bytes.starts_with(b"PK\x03\x04") => Some(Format::Npz),
        _ if bytes.starts_with(parquet::MAGIC) => Some(Format::Parquet),
        _ if idx::is_idx(bytes) => Some(Format::Idx),
        // Eight bytes of header length, of which no real file uses the last four, then JSON.
        [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some(Format::Safetensors),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::write_npy;
    use crate::testing::scratch_path;
    use spadework::samples::Values;
    use std::borrow::Cow;
    use std::cell::Cell;
    use std::io::Write;

    fn load_mapping_from(argument: &str, map_from: u64, monitor: &dyn Monitor) -> Result<Dataset> {
        Loading { map_from, monitor, announce: &|_| {} }.load(argument)
    }

    #[test]
    fn maps_large_arrays_and_borrows_from_them() {
        let (_folder, path) = scratch_path("x.npy");
        write_npy(&path, &[2, 3], &[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0][..]).unwrap();
        let name = path.display().to_string();
        let mapped = load_mapping_from(&name, 1, &Silent).unwrap();
        assert!(mapped.is_mapped());
        let samples = mapped.samples().unwrap();
        let Values::F32(Cow::Borrowed(values)) = samples.values() else { panic!("a borrowed slice") };
        assert_eq!(*values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let read = load(&name).unwrap();
        assert!(!read.is_mapped());
        assert_eq!((read.name(), read.shape()), (name.as_str(), &[2, 3][..]));
    }

    /// A NumPy file of two rows of four numbers.
    fn narrow_file(path: &Path, descr: &str, values: &[u8]) {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2, 4), }}");
        let header = format!("{header:<117}\n");
        let head = [npy::MAGIC, &[1, 0, header.len() as u8, 0], header.as_bytes()].concat();
        std::fs::write(path, [&head, values].concat()).unwrap();
    }

    #[test]
    fn narrow_numbers_stay_what_they_are_and_stand_for_the_same_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for (descr, size) in [("|u1", 1), ("|i1", 1), ("<i2", 2), ("<f2", 2)] {
            let bytes: Vec<u8> = (0..8 * size).map(|at| (at * 37 % 120) as u8).collect();
            narrow_file(&path, descr, &bytes);
            let (mapped, read) = (
                load_mapping_from(&path.display().to_string(), 1, &Silent),
                load(&path.display().to_string()),
            );
            let (mapped, read) = (mapped.unwrap(), read.unwrap());
            assert!(mapped.is_mapped() && !read.is_mapped(), "{descr}");
            let file = std::fs::read(&path).unwrap();
            let wide = Values::from(npy::parse(&file, "x").unwrap().numbers());
            for dataset in [mapped, read] {
                let narrow = dataset.samples().unwrap();
                assert_eq!(narrow.values().bytes(), 8 * size, "{descr}");
                assert_eq!(narrow.values().all_doubles(), wide.all_doubles(), "{descr}");
                assert_eq!(crate::digest(&narrow), digest_of(&wide), "{descr}");
                let owned = dataset.into_samples().unwrap();
                assert_eq!(owned.values().all_doubles(), wide.all_doubles(), "{descr}");
            }
        }
    }

    fn digest_of(wide: &Values<'_>) -> String {
        crate::digest(&spadework::Samples::new(2, 4, wide.view()).unwrap())
    }

    /// A safetensors file of two tensors, of which the second begins at an odd place.
    fn tensors(dtype: &str, values: &[u8]) -> Vec<u8> {
        let end = values.len();
        let header = format!(
            "{{\"a\":{{\"dtype\":\"{dtype}\",\"shape\":[2,4],\"data_offsets\":[0,{end}]}},\
             \"b\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{end},{}]}},\
             \"c\":{{\"dtype\":\"{dtype}\",\"shape\":[2,4],\"data_offsets\":[{},{}]}}}}",
            end + 1,
            end + 1,
            2 * end + 1
        );
        let width = header.len().next_multiple_of(8);
        let header = format!("{header:<width$}");
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), values, &[7], values].concat()
    }

    #[test]
    fn narrow_tensors_are_mapped_where_they_lie_as_in_memory_and_otherwise_copied_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        for (dtype, size) in
            [("U8", 1), ("I8", 1), ("I16", 2), ("F16", 2), ("BF16", 2), ("F32", 4), ("F64", 8)]
        {
            let bytes: Vec<u8> = match size {
                4 => (0..8_u8).flat_map(|at| f32::from(at).to_le_bytes()).collect(),
                8 => (0..8_u8).flat_map(|at| f64::from(at).to_le_bytes()).collect(),
                _ => (0..8 * size).map(|at| (at * 37 % 120) as u8).collect(),
            };
            std::fs::write(&path, tensors(dtype, &bytes)).unwrap();
            let wide =
                Values::from(safetensors::parse(&tensors(dtype, &bytes), Some("a"), "x").unwrap().numbers());
            for (key, is_aligned) in [("a", true), ("c", size == 1)] {
                let name = format!("{}:{key}", path.display());
                let (mapped, read) = (load_mapping_from(&name, 1, &Silent).unwrap(), load(&name).unwrap());
                assert!(mapped.is_mapped() == is_aligned && !read.is_mapped(), "{dtype} {key}");
                for dataset in [mapped, read] {
                    let samples = dataset.samples().unwrap();
                    assert_eq!((dataset.shape(), samples.values().bytes()), (&[2, 4][..], 8 * size));
                    assert_eq!(samples.values().all_doubles(), wide.all_doubles(), "{dtype} {key}");
                    assert_eq!(crate::digest(&samples), digest_of(&wide), "{dtype} {key}");
                }
            }
        }
    }

    #[test]
    fn narrow_members_of_an_archive_stay_narrow() {
        for (descr, size) in [("|i1", 1), ("<i2", 2), (">i2", 2), ("<f2", 2), (">f2", 2)] {
            let bytes: Vec<u8> = (0..8 * size).map(|at| (at * 37 % 120) as u8).collect();
            let (_folder, path) = scratch_path("x.npy");
            narrow_file(&path, descr, &bytes);
            let array = std::fs::read(&path).unwrap();
            let dataset = load_bytes("x.npz", archive_of(&array)).unwrap();
            let samples = dataset.samples().unwrap();
            assert_eq!(samples.values().bytes(), 8 * size, "{descr}");
            let wide = Values::from(npy::parse(&array, "x").unwrap().numbers());
            assert_eq!(samples.values().all_doubles(), wide.all_doubles(), "{descr}");
        }
    }

    fn archive_of(array: &[u8]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file("x.npy", options.compression_method(zip::CompressionMethod::Stored)).unwrap();
        writer.write_all(array).unwrap();
        writer.finish().unwrap().into_inner()
    }

    /// From 4 MiB on, which is where a file may be mapped: what is mapped takes nothing, and what is not as much as its numbers.
    #[test]
    fn headers_say_how_much_memory_an_array_will_take() {
        let folder = tempfile::tempdir().unwrap();
        let rows = 1 << 21;
        let of = |name: &str, file: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, file).unwrap();
            let announced = Cell::new(None);
            let tell = |bytes| announced.set(Some(bytes));
            // As much is taken then, or more by what was unpacked before.
            let array = load_announcing(&path.display().to_string(), &Silent, &tell).unwrap();
            let kept = if array.is_mapped() { 0 } else { array.samples().unwrap().values().bytes() as u64 };
            (announced.get(), kept)
        };
        let npy = |descr: &str, is_by_columns: &str, size: usize| {
            let header =
                format!("{{'descr': '{descr}', 'fortran_order': {is_by_columns}, 'shape': ({rows}, 2), }}");
            let header = format!("{header:<117}\n");
            let values = vec![1; 2 * rows * size];
            [npy::MAGIC, &[1, 0, header.len() as u8, 0], header.as_bytes(), &values].concat()
        };
        let cells = 2 * rows as u64;
        assert_eq!(of("rows.npy", &npy("<f2", "False", 2)), (None, 0));
        assert_eq!(of("columns.npy", &npy("<f2", "True", 2)), (Some(2 * cells), 2 * cells));
        assert_eq!(of("wide.npy", &npy("<u2", "False", 2)), (Some(4 * cells), 4 * cells));
        assert_eq!(of("integers.npy", &npy("<i4", "False", 4)), (Some(8 * cells), 8 * cells));
        assert_eq!(of("pixels.npz", &archive_of(&npy("|u1", "False", 1))), (Some(cells), cells));
        assert_eq!(of("floats.npz", &archive_of(&npy("<f4", "False", 4))), (Some(8 * cells), 4 * cells));
        let idx =
            [&[0, 0, 8, 2][..], &(rows as u32).to_be_bytes(), &[0, 0, 0, 2], &vec![1; 2 * rows]].concat();
        assert_eq!(of("x-ubyte", &idx), (Some(cells), cells));
    }

    /// Bytes are 0 to 255, wherever they come from.
    #[test]
    fn numbers_of_columns_are_not_pixels() {
        let folder = tempfile::tempdir().unwrap();
        let in_folder = |name: &str| folder.path().join(name);
        let (array, bytes) = (in_folder("x.npy"), [0, 1, 2, 3, 4, 5, 6, 255]);
        narrow_file(&array, "|u1", &bytes);
        let expected = bytes.map(f64::from);
        let numbers = |path: &Path| load_numbers(&path.display().to_string()).unwrap();
        assert_eq!(numbers(&array), expected);
        let table = in_folder("x.csv");
        std::fs::write(&table, "0.5,1,2\n").unwrap();
        assert_eq!(numbers(&table), [0.5, 1.0, 2.0]);
    }

    #[test]
    fn ids_are_one_per_sample_with_or_without_a_header() {
        let (_folder, path) = scratch_path("ids.txt");
        let name = path.display().to_string();
        std::fs::write(&path, "img_1\nimg 2\n03\n").unwrap();
        assert_eq!(load_ids(&name, 3).unwrap(), ["img_1", "img 2", "03"]);
        // With two samples the first line is the name of the column.
        assert_eq!(load_ids(&name, 2).unwrap(), ["img 2", "03"]);
        let error = load_ids(&name, 7).unwrap_err().to_string();
        assert!(error.ends_with("ids must be one per sample, got 3 for 7 samples"), "{error}");
        std::fs::write(&path, "a,b\n1,x\n2,y\n").unwrap();
        assert_eq!(load_ids(&format!("{name}:b"), 2).unwrap(), ["x", "y"]);
        let error = load_ids(&name, 2).unwrap_err().to_string();
        assert!(error.contains("name it as FILE:COLUMN, got 2 columns"), "{error}");
    }

    #[test]
    fn columns_have_the_names_of_their_header() {
        let (_folder, path) = scratch_path("x.csv");
        let columns = |text: &str| {
            std::fs::write(&path, text).unwrap();
            load(&path.display().to_string()).unwrap().columns().map(<[String]>::to_vec)
        };
        assert_eq!(columns("age,income\n1,2\n3,4\n"), Some(vec!["age".to_owned(), "income".to_owned()]));
        assert_eq!(columns(",0,1\n0,1,2\n1,3,4\n"), None);
        assert_eq!(columns("1,2\n3,4\n"), None);
    }

    #[test]
    fn files_of_one_name_are_one_array() {
        let folder = tempfile::tempdir().unwrap();
        for part in [2_u8, 10, 1] {
            let bytes: Vec<u8> = (0..8).map(|at| part * 20 + at).collect();
            narrow_file(&folder.path().join(format!("x-{part}.npy")), "|u1", &bytes);
        }
        let whole = load(&format!("{}/x-*.npy", folder.path().display())).unwrap();
        assert_eq!(whole.shape(), [6, 4]);
        let samples = whole.samples().unwrap();
        let Values::U8(bytes) = samples.values() else { panic!("bytes stay bytes") };
        let want: Vec<u8> = [1, 2, 10].iter().flat_map(|part| (0..8).map(move |at| part * 20 + at)).collect();
        assert_eq!(bytes.as_ref(), want);
        write_npy(&folder.path().join("x-11.npy"), &[2, 3], &[0.0_f32; 6][..]).unwrap();
        let error = load(&format!("{}/x-*.npy", folder.path().display())).unwrap_err().to_string();
        assert!(error.contains("samples of shape [4]") && error.contains("[2, 3] in "), "{error}");
        write_npy(&folder.path().join("x-11.npy"), &[2, 4], &[0.0_f32; 8][..]).unwrap();
        let error = load(&format!("{}/x-*.npy", folder.path().display())).unwrap_err().to_string();
        assert!(error.contains("numbers of one type"), "{error}");
    }

    #[test]
    fn labels_of_several_files_come_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        for part in [1_i64, 2] {
            write_npy(&folder.path().join(format!("y_{part}.npy")), &[2], &[part, 7][..]).unwrap();
        }
        let labels = load_labels(&format!("{}/y_*.npy", folder.path().display())).unwrap();
        assert_eq!(labels.ids(), [1, 7, 2, 7]);
    }

    #[test]
    fn a_mapped_file_that_must_be_converted_is_owned() {
        let (_folder, path) = scratch_path("x.npy");
        write_npy(&path, &[2], &[1_i64, 2][..]).unwrap();
        let converted = load_mapping_from(&path.display().to_string(), 1, &Silent).unwrap();
        assert!(!converted.is_mapped());
        assert_eq!(converted.samples().unwrap().dim(), 1);
    }

    #[test]
    fn integers_beyond_double_precision_are_refused() {
        let (_folder, path) = scratch_path("x.npy");
        let name = path.display().to_string();
        write_npy(&path, &[2], &[(1_i64 << 53) - 1, 1 - (1 << 53)][..]).unwrap();
        load(&name).unwrap();
        write_npy(&path, &[2], &[1_i64, (1 << 53) + 1][..]).unwrap();
        let error = load(&name).unwrap_err();
        assert!(
            matches!(&error, Error::BigInteger { at: 1, got, .. } if got == "9007199254740993"),
            "{error}"
        );
        // As labels they are classes, not numbers.
        assert_eq!(load_labels(&name).unwrap().ids()[1], 9_007_199_254_740_993);
        let csv = |text: &str| load_bytes("x.csv", text.as_bytes().to_vec());
        csv("a,b\n1,9007199254740992\n2,12345678901234567890123\n").unwrap_err();
        // What double precision holds is no loss.
        csv("a,b\n1,9007199254740992\n2,1e300\n").unwrap();
    }

    #[test]
    fn a_mapped_file_that_is_not_aligned_is_owned() {
        let (_folder, path) = scratch_path("x.npy");
        for blanks in 0..8 {
            let blanks = " ".repeat(blanks);
            let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }}{blanks}");
            let mut bytes = [npy::MAGIC, &[1, 0, header.len() as u8, 0], header.as_bytes()].concat();
            let aligned = bytes.len().is_multiple_of(8);
            bytes.extend([1.0_f64, 2.0].iter().flat_map(|value| value.to_le_bytes()));
            std::fs::write(&path, bytes).unwrap();
            let dataset = load_mapping_from(&path.display().to_string(), 1, &Silent).unwrap();
            assert_eq!(dataset.is_mapped(), aligned);
            let samples = dataset.samples().unwrap();
            let Values::F64(values) = samples.values() else { panic!("doubles stay doubles") };
            assert_eq!(values.as_ref(), [1.0, 2.0]);
        }
    }

    #[test]
    fn a_packed_array_that_promises_more_than_it_can_hold_is_refused() {
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (134217729,), }";
        let array = [npy::MAGIC, &[1, 0, header.len() as u8, 0], header.as_bytes(), &[7]].concat();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&array).unwrap();
        let error = load_bytes("x.npy.gz", packed.finish().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Expansion { limit: 0x0800_0000, .. }), "{error}");
    }

    #[test]
    fn tells_formats_by_content() {
        assert_eq!(by_content(b"\x93NUMPY\x01\x00"), Some(Format::Npy));
        assert_eq!(by_content(b"PAR1"), Some(Format::Parquet));
        assert_eq!(by_content(&[0, 0, 8, 3]), Some(Format::Idx));
        assert_eq!(by_content(b"\x10\0\0\0\0\0\0\0{\"a\""), Some(Format::Safetensors));
        assert_eq!(by_content(b"\x80\x02}q\x01("), None);
        assert_eq!(by_content(b""), None);
    }
}
