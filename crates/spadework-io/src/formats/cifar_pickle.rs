//! CIFAR-10 batches of the Python version: a pickled dictionary with an array `data` and a list `labels`.

use crate::array::{Description, Layout, RawArray};
use crate::element::{Element, Endian};
use crate::error::{Error, Result};
use crate::formats::cifar::{CLASSES, PIXELS};
use crate::formats::pickle::{self, Value};
use crate::labels::Labels;

/// Whether bytes begin as these files do: a pickle of protocol 2 that is a dictionary.
pub(crate) fn is_pickled_dictionary(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x80\x02}")
}

/// Images of shape `[n, 3, 32, 32]` and their labels.
pub(crate) fn parse<'a>(bytes: &'a [u8], name: &str) -> Result<(RawArray<'a>, Labels)> {
    let refuse = |expected, got| Error::CifarPickle { name: name.to_owned(), expected, got };
    let entries = match pickle::parse(bytes, name)? {
        Value::Dictionary(entries) => entries,
        other => return Err(refuse("a dictionary", other.describe())),
    };
    let (mut data, mut labels) = (None, None);
    for (key, value) in entries {
        match (key, value) {
            (Value::Text(b"data"), Value::Bytes { shape, values }) => data = Some((shape, values)),
            (Value::Text(b"labels"), Value::List(list)) => labels = Some(list),
            (Value::Text(b"batch_label" | b"filenames"), _) => {}
            (Value::Text(b"data"), other) => return Err(refuse("an array `data`", other.describe())),
            (Value::Text(b"labels"), other) => return Err(refuse("a list `labels`", other.describe())),
            (key, _) => {
                return Err(refuse("no entries but data, labels, batch_label and filenames", key.describe()));
            }
        }
    }
    let (shape, values) = data.ok_or_else(|| refuse("an array `data`", "none".to_owned()))?;
    let labels = labels.ok_or_else(|| refuse("a list `labels`", "none".to_owned()))?;
    let samples = match shape.as_slice() {
        &[samples, pixels] if samples > 0 && pixels == PIXELS as i64 => samples as usize,
        _ => return Err(refuse("`data` of shape [n, 3072]", format!("{shape:?}"))),
    };
    let images = images(samples, values, name)?;
    if labels.len() != samples {
        return Err(Error::LabelCount { name: name.to_owned(), samples, labels: labels.len() });
    }
    let ids = labels.into_iter().map(|label| match label {
        Value::Integer(id) if (0..CLASSES.len() as i64).contains(&id) => Ok(id),
        other => Err(refuse("labels from 0 to 9", other.describe())),
    });
    let names = CLASSES.map(str::to_owned).to_vec();
    Ok((images, Labels::with_names(ids.collect::<Result<_>>()?, names)))
}

fn images<'a>(samples: usize, values: &'a [u8], name: &str) -> Result<RawArray<'a>> {
    let shape = vec![samples, 3, 32, 32];
    let description =
        Description { shape, element: Element::U8, endian: Endian::Little, layout: Layout::RowMajor };
    RawArray::new(description, values, name)
}
