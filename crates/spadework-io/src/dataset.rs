//! A loaded array with its name, shape and labels.

use std::ops::Range;
use std::sync::OnceLock;

use spadework::Samples;
use spadework::samples::Values;

use crate::array::{RawArray, checked_product};
use crate::element::{Element, Numbers};
use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::mapping::FileBytes;
use crate::table::Table;

/// Evaluates an expression with two slices of numbers of one type, or another where their types differ.
macro_rules! of_one_type {
    ($first:expr, $second:expr, ($a:ident, $b:ident) => $body:expr, $otherwise:expr) => {
        match ($first, $second) {
            (Values::F32($a), Values::F32($b)) => $body,
            (Values::F64($a), Values::F64($b)) => $body,
            (Values::U8($a), Values::U8($b)) => $body,
            (Values::I8($a), Values::I8($b)) => $body,
            (Values::I16($a), Values::I16($b)) => $body,
            (Values::F16($a), Values::F16($b)) => $body,
            (Values::Bf16($a), Values::Bf16($b)) => $body,
            _ => $otherwise,
        }
    };
}

/// An array that a user named, ready to be scored.
#[derive(Debug)]
pub struct Dataset {
    name: String,
    shape: Vec<usize>,
    store: Store,
    labels: Option<Labels>,
    columns: Option<Vec<String>>,
    /// Set once the numbers have been found finite, so that nobody reads all of them for it again.
    are_checked: OnceLock<()>,
}

#[derive(Debug)]
enum Store {
    Owned(Values<'static>),
    /// Values at a place of a mapped file, in the machine's own order.
    Mapped {
        file: FileBytes,
        place: Range<usize>,
        element: Element,
    },
}

impl Dataset {
    pub(crate) fn from_raw(array: RawArray<'_>, name: &str) -> Result<Self> {
        array.check_exact(name)?;
        Ok(Self::from_values(array.shape().to_vec(), array.into_values(), name))
    }

    /// Numbers that were computed: `len` samples of one shape.
    pub fn from_f32(name: &str, len: usize, sample: &[usize], values: Vec<f32>) -> Self {
        let shape = std::iter::once(len).chain(sample.iter().copied()).collect();
        Self::from_numbers(shape, Numbers::F32(values), name)
    }

    /// The same of numbers that are known to be finite.
    pub fn from_finite_f32(name: &str, len: usize, sample: &[usize], values: Vec<f32>) -> Self {
        Self { are_checked: OnceLock::from(()), ..Self::from_f32(name, len, sample, values) }
    }

    pub(crate) fn from_table(table: Table, name: &str) -> Self {
        Self { columns: table.columns, ..Self::from_numbers(table.shape, table.numbers, name) }
    }

    /// As many numbers as the shape says.
    pub(crate) fn from_numbers(shape: Vec<usize>, numbers: Numbers, name: &str) -> Self {
        Self::from_values(shape, numbers.into(), name)
    }

    /// As many numbers as the shape says, which stay of their type.
    pub(crate) fn from_values(shape: Vec<usize>, values: Values<'static>, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            shape,
            store: Store::Owned(values),
            labels: None,
            columns: None,
            are_checked: OnceLock::new(),
        }
    }

    /// An array that `parse` finds in a file. In a mapped one it is borrowed where it holds rows as memory would, and converted
    /// otherwise.
    pub(crate) fn from_file(
        file: FileBytes,
        name: &str,
        parse: impl FnOnce(&[u8]) -> Result<RawArray<'_>>,
    ) -> Result<Self> {
        let array = parse(&file)?;
        // NumPy pads its header so that values are aligned; other writers need not.
        let Some(place) = array.place_in(&file).filter(|_| file.is_mapped()) else {
            let converted = Self::from_raw(array, name)?;
            file.check_unchanged()?;
            return Ok(converted);
        };
        let (shape, element) = (array.shape().to_vec(), array.element());
        let store = Store::Mapped { file, place, element };
        Ok(Self { store, ..Self::from_values(shape, Values::U8((&[]).into()), name) })
    }

    /// Bytes of a mapped file, as many as the shape says.
    pub(crate) fn from_mapped_bytes(shape: Vec<usize>, file: FileBytes, name: &str) -> Self {
        let store = Store::Mapped { place: 0..file.len(), file, element: Element::U8 };
        Self { store, ..Self::from_values(shape, Values::U8((&[]).into()), name) }
    }

    pub(crate) fn with_labels(self, labels: Labels) -> Self {
        Self { labels: Some(labels), ..self }
    }

    /// Puts another part of the same data set behind this one: same precision, same extents but the first.
    pub(crate) fn append(&mut self, other: Self) -> Result<()> {
        let mismatch = |shape: Vec<usize>| Error::ImageShape {
            name: self.name.clone(),
            file: "all parts".to_owned(),
            height: self.shape.get(1).copied().unwrap_or(0),
            width: self.shape.get(2).copied().unwrap_or(0),
            shape,
        };
        let (Some((n, rest)), Some((more, same))) = (self.shape.split_first(), other.shape.split_first())
        else {
            return Err(mismatch(other.shape));
        };
        if rest != same {
            return Err(mismatch(other.shape));
        }
        self.are_checked = OnceLock::new();
        let Store::Owned(values) = &mut self.store else { return Err(mismatch(other.shape)) };
        if !append_values(values, other.store.values()) {
            return Err(mismatch(other.shape));
        }
        other.store.check_unchanged()?;
        let total = n + more;
        self.shape.splice(..1, [total]);
        if let (Some(labels), Some(others)) = (&mut self.labels, other.labels) {
            labels.append(others);
        }
        Ok(())
    }

    /// Parts of one array, in their order, under the name of the whole. They must be of one type, which is kept.
    pub(crate) fn joined(parts: Vec<Self>, name: &str) -> Result<Self> {
        let total: usize = parts.iter().map(|part| part.store.values().len()).sum();
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or_else(|| Error::NotFound { path: name.to_owned() })?;
        let mut values = first.store.values().into_owned();
        first.store.check_unchanged()?;
        // Many gigabytes should not be moved again whenever more are put behind them.
        of_one_type!(&mut values, first.store.values(), (values, first) => {
            values.to_mut().reserve_exact(total - first.len());
        }, ());
        let mut whole = Self { name: name.to_owned(), store: Store::Owned(values), ..first };
        for part in parts {
            if whole.shape.get(1..) != part.shape.get(1..) {
                let (expected, got) = (whole.shape.split_off(1), part.shape);
                return Err(Error::PartShape { name: name.to_owned(), file: part.name, expected, got });
            }
            let file = part.name.clone();
            whole.append(part).map_err(|error| match error {
                changed @ Error::Changed { .. } => changed,
                _ => Error::PartType { name: name.to_owned(), file },
            })?;
        }
        match (&whole.labels, whole.shape.first()) {
            (Some(labels), Some(&samples)) if labels.len() != samples => {
                Err(Error::LabelCount { name: name.to_owned(), samples, labels: labels.len() })
            }
            _ => Ok(whole),
        }
    }

    /// What the user typed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape in the file; its first extent is the number of samples, e.g. `[10000, 28, 28]`.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The class of each sample, if the file or data set gives it.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// The names of the columns, if the file has them.
    pub fn columns(&self) -> Option<&[String]> {
        self.columns.as_deref()
    }

    /// Whether the values are in a mapped file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.store, Store::Mapped { .. })
    }

    /// The samples, flattened to one row each. Nothing is copied, and the numbers are only checked in the first call.
    ///
    /// # Errors
    /// When the core refuses them: no rows, no columns, or a value that is not finite.
    pub fn samples(&self) -> Result<Samples<'_>> {
        let (len, dim) = self.rows_and_columns()?;
        self.checked(len, dim, self.store.values())
    }

    /// The samples with numbers of their own; only those of a mapped file are copied.
    ///
    /// # Errors
    /// As [`Dataset::samples`].
    pub fn into_samples(mut self) -> Result<Samples<'static>> {
        let (len, dim) = self.rows_and_columns()?;
        let values = match std::mem::replace(&mut self.store, Store::Owned(Values::U8((&[]).into()))) {
            Store::Owned(values) => values,
            mapped @ Store::Mapped { .. } => {
                let values = mapped.values().into_owned();
                mapped.check_unchanged()?;
                values
            }
        };
        self.checked(len, dim, values)
    }

    /// Values of this array as samples, which are checked unless they have been.
    fn checked<'v>(&self, len: usize, dim: usize, values: Values<'v>) -> Result<Samples<'v>> {
        let samples = match self.are_checked.get() {
            Some(()) => Samples::of_checked(len, dim, values),
            None => Samples::new(len, dim, values).inspect(|_| {
                // Another thread may have said so in the meantime.
                let _ = self.are_checked.set(());
            }),
        };
        samples.map_err(|cause| Error::Samples { name: self.name.clone(), cause })
    }

    fn rows_and_columns(&self) -> Result<(usize, usize)> {
        let overflow = || Error::ShapeOverflow {
            name: self.name.clone(),
            shape: self.shape.iter().map(|&n| n as u64).collect(),
        };
        let (&len, rest) =
            self.shape.split_first().ok_or_else(|| Error::Scalar { name: self.name.clone() })?;
        Ok((len, checked_product(rest).ok_or_else(overflow)?))
    }
}

impl Store {
    fn values(&self) -> Values<'_> {
        match self {
            Store::Owned(values) => values.view(),
            // Checked when it was mapped, so this never falls back; an empty slice would be refused by its length.
            Store::Mapped { file, place, element } => {
                let bytes = file.get(place.clone()).unwrap_or_default();
                element.values(bytes).unwrap_or(Values::U8((&[]).into()))
            }
        }
    }

    /// To be asked when the values have been copied: their file is not watched any longer.
    fn check_unchanged(&self) -> Result<()> {
        match self {
            Store::Owned(_) => Ok(()),
            Store::Mapped { file, .. } => file.check_unchanged(),
        }
    }
}

/// Puts more numbers behind some; `false` where they are of another type.
fn append_values(values: &mut Values<'static>, more: Values<'_>) -> bool {
    of_one_type!(values, more, (values, more) => {
        values.to_mut().extend_from_slice(&more);
        true
    }, false)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;
    use std::time::SystemTime;

    use super::*;
    use crate::formats::npy;
    use crate::output::write_npy;
    use crate::testing::turn;

    /// What is copied from a mapped file is checked when it has been copied: after that, nobody watches the file.
    #[test]
    fn files_that_change_before_they_are_copied_are_named() {
        let _turn = turn();
        let folder = tempfile::tempdir().unwrap();
        let paths = ["x-1.npy", "x-2.npy"].map(|name| folder.path().join(name));
        let mapped = |path: &Path| {
            write_npy(path, &[2, 3], &[0.5_f32; 6][..]).unwrap();
            let array =
                Dataset::from_file(FileBytes::open(path, 1).unwrap(), "x", |bytes| npy::parse(bytes, "x"))
                    .unwrap();
            assert!(array.is_mapped());
            array
        };
        let change = |path: &Path| {
            File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        };
        let both = || paths.each_ref().map(|path| mapped(path)).into();
        assert_eq!(Dataset::joined(both(), "x").unwrap().shape(), [4, 3]);
        for changed in &paths {
            let parts = both();
            change(changed);
            let error = Dataset::joined(parts, "x").unwrap_err();
            assert!(matches!(&error, Error::Changed { path } if path == changed), "{error}");
        }
        let array = mapped(&paths[0]);
        change(&paths[0]);
        assert!(matches!(array.into_samples(), Err(Error::Changed { .. })));
    }

    /// Numbers that are not finite are refused whenever they come in, and what was found finite is not read again.
    #[test]
    fn numbers_are_checked_once_unless_more_come() {
        let rows = |values: Vec<f32>| Dataset::from_f32("x", values.len(), &[1], values);
        let mut finite = rows(vec![1.0, 2.0]);
        assert!(finite.are_checked.get().is_none());
        assert_eq!(finite.samples().unwrap().len(), 2);
        assert!(finite.are_checked.get().is_some());
        finite.append(rows(vec![f32::NAN])).unwrap();
        for _ in 0..2 {
            let message = finite.samples().unwrap_err().to_string();
            assert!(message.contains("row 2"), "{message}");
        }
        assert!(finite.into_samples().is_err());
        let known = Dataset::from_finite_f32("x", 1, &[2], vec![1.0, 2.0]);
        assert!(known.are_checked.get().is_some());
        assert_eq!(known.into_samples().unwrap().dim(), 2);
    }
}
