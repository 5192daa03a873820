//! A loaded array with its name, shape and labels.

use spadework::Samples;
use spadework::samples::Values;

use crate::array::{RawArray, checked_product};
use crate::element::{Element, Numbers};
use crate::error::{Error, Result};
use crate::formats::npy;
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
}

#[derive(Debug)]
enum Store {
    Owned(Values<'static>),
    /// Values of a mapped file, from `offset` to its end, in the machine's own order.
    Mapped {
        file: FileBytes,
        offset: usize,
        element: Element,
    },
}

impl Dataset {
    pub(crate) fn from_raw(array: &RawArray<'_>, name: &str) -> Result<Self> {
        array.check_exact(name)?;
        let shape = array.shape().to_vec();
        Ok(Self::from_numbers(shape, array.numbers(), name))
    }

    /// Numbers that were computed: `len` samples of one shape.
    pub fn from_f32(name: &str, len: usize, sample: &[usize], values: Vec<f32>) -> Self {
        let shape = std::iter::once(len).chain(sample.iter().copied()).collect();
        Self::from_numbers(shape, Numbers::F32(values), name)
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
        Self { name: name.to_owned(), shape, store: Store::Owned(values), labels: None, columns: None }
    }

    /// A NumPy file. A mapped one is borrowed where it holds rows as memory would, and converted otherwise.
    pub(crate) fn from_npy(file: FileBytes, name: &str) -> Result<Self> {
        let array = npy::parse(&file, name)?;
        let (description, values) = npy::split(&file, name)?;
        // NumPy pads its header so that values are aligned; other writers need not.
        let aligned = description.element.values(values).is_some();
        if !(file.is_mapped() && description.is_native_rows() && aligned) {
            return Self::from_raw(&array, name);
        }
        let (offset, element) = (file.len() - values.len(), description.element);
        let shape = description.shape;
        Ok(Self {
            name: name.to_owned(),
            shape,
            store: Store::Mapped { file, offset, element },
            labels: None,
            columns: None,
        })
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
        let Store::Owned(values) = &mut self.store else { return Err(mismatch(other.shape)) };
        if !append_values(values, other.store.values()) {
            return Err(mismatch(other.shape));
        }
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
            whole.append(part).map_err(|_| Error::PartType { name: name.to_owned(), file })?;
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

    /// The class of each sample, where the file or data set gives it.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// What the numbers of a sample are called, where the file says so.
    pub fn columns(&self) -> Option<&[String]> {
        self.columns.as_deref()
    }

    /// Whether the values lie in a mapped file rather than in memory of their own.
    pub fn is_mapped(&self) -> bool {
        matches!(self.store, Store::Mapped { .. })
    }

    /// The samples, flattened to one row each. Nothing is copied.
    ///
    /// # Errors
    /// When the core refuses them: fewer than two, no columns, or a value that is not finite.
    pub fn samples(&self) -> Result<Samples<'_>> {
        let samples = self.few_samples()?;
        if samples.len() < 2 {
            let cause = spadework::Error::TooFewSamples { samples: samples.len() };
            return Err(Error::Samples { name: self.name.clone(), cause });
        }
        Ok(samples)
    }

    /// As [`Dataset::samples`], but one will do: for samples that are looked up among others.
    ///
    /// # Errors
    /// As [`Dataset::samples`], a single sample excepted.
    pub fn few_samples(&self) -> Result<Samples<'_>> {
        let (len, dim) = self.rows_and_columns()?;
        Samples::new(len, dim, self.store.values())
            .map_err(|cause| Error::Samples { name: self.name.clone(), cause })
    }

    /// The samples with numbers of their own; only those of a mapped file are copied.
    ///
    /// # Errors
    /// As [`Dataset::samples`].
    pub fn into_samples(self) -> Result<Samples<'static>> {
        let name = self.name.clone();
        let samples = self.into_few_samples()?;
        if samples.len() < 2 {
            let cause = spadework::Error::TooFewSamples { samples: samples.len() };
            return Err(Error::Samples { name, cause });
        }
        Ok(samples)
    }

    /// As [`Dataset::into_samples`], but one will do.
    ///
    /// # Errors
    /// As [`Dataset::few_samples`].
    pub fn into_few_samples(self) -> Result<Samples<'static>> {
        let (len, dim) = self.rows_and_columns()?;
        let values = match self.store {
            Store::Owned(values) => values,
            Store::Mapped { .. } => self.store.values().into_owned(),
        };
        Samples::new(len, dim, values).map_err(|cause| Error::Samples { name: self.name, cause })
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
            Store::Mapped { file, offset, element } => {
                let bytes = file.get(*offset..).unwrap_or_default();
                element.values(bytes).unwrap_or(Values::U8((&[]).into()))
            }
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
