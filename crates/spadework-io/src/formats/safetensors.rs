//! Safetensors files: a JSON header, then the tensors one after the other, little-endian and in rows.

use safetensors::{Dtype, SafeTensorError, SafeTensors};

use crate::array::{Description, Layout, RawArray};
use crate::element::{Element, Endian};
use crate::error::{Error, Format, Result};
use crate::keys::pick;

const ACCEPTED: &str = "F16, BF16, F32, F64, I8 to I64, U8 to U64, BOOL";

/// The tensor called `key`, or the only one.
pub(crate) fn parse<'a>(bytes: &'a [u8], key: Option<&str>, name: &str) -> Result<RawArray<'a>> {
    check_header_length(bytes, name)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| decoder(&e, name))?;
    let mut keys: Vec<String> = tensors.names().into_iter().map(str::to_owned).collect();
    keys.sort_unstable();
    let chosen = pick(&keys, key, Format::Safetensors, name)?;
    let key = keys.get(chosen).map_or("", String::as_str);
    let tensor = tensors.tensor(key).map_err(|e| decoder(&e, name))?;
    let element = element_of(tensor.dtype()).ok_or_else(|| Error::ElementType {
        name: name.to_owned(),
        got: tensor.dtype().to_string(),
        accepted: ACCEPTED,
    })?;
    let shape = tensor.shape().to_vec();
    let description = Description { shape, element, endian: Endian::Little, layout: Layout::RowMajor };
    RawArray::new(description, tensor.data(), name)
}

/// The length of the header comes first; it is compared with the file before anything is made of it.
fn check_header_length(bytes: &[u8], name: &str) -> Result<()> {
    let header = |got: String| Error::Header {
        name: name.to_owned(),
        format: Format::Safetensors,
        expected: "its length in 8 bytes and then as many bytes",
        got,
        at: 0,
    };
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(header(format!("a file of {} bytes", bytes.len())));
    };
    let length = u64::from_le_bytes(*length);
    if length > rest.len() as u64 {
        return Err(header(format!("a length of {length} with {} bytes after it", rest.len())));
    }
    Ok(())
}

fn element_of(dtype: Dtype) -> Option<Element> {
    Some(match dtype {
        Dtype::BOOL => Element::Bool,
        Dtype::U8 => Element::U8,
        Dtype::U16 => Element::U16,
        Dtype::U32 => Element::U32,
        Dtype::U64 => Element::U64,
        Dtype::I8 => Element::I8,
        Dtype::I16 => Element::I16,
        Dtype::I32 => Element::I32,
        Dtype::I64 => Element::I64,
        Dtype::F16 => Element::F16,
        Dtype::BF16 => Element::Bf16,
        Dtype::F32 => Element::F32,
        Dtype::F64 => Element::F64,
        _ => return None,
    })
}

fn decoder(error: &SafeTensorError, name: &str) -> Error {
    Error::Decoder { name: name.to_owned(), format: Format::Safetensors, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Numbers;

    fn file(header: &str, values: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), values].concat()
    }

    #[test]
    fn reads_by_key() {
        let header = r#"{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[1,1],"data_offsets":[4,5]}}"#;
        let bytes = file(header, &[0x80, 0x3f, 0x00, 0xc0, 0xff]);
        assert_eq!(parse(&bytes, Some("a"), "x").unwrap().numbers(), Numbers::F32(vec![1.0, -2.0]));
        assert_eq!(parse(&bytes, Some("b"), "x").unwrap().shape(), [1, 1]);
        assert!(matches!(parse(&bytes, None, "x"), Err(Error::ManyKeys { .. })));
        assert!(matches!(parse(&bytes, Some("c"), "x"), Err(Error::MissingKey { .. })));
    }

    #[test]
    fn refuses_promises_and_types() {
        let error = parse(&u64::MAX.to_le_bytes(), None, "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x: the safetensors header must have its length in 8 bytes and then as many bytes, got a length of 18446744073709551615 with 0 bytes after it at byte 0"
        );
        assert!(parse(b"abc", None, "x").is_err());
        let long =
            file(r#"{"a":{"dtype":"F32","shape":[9999999999999],"data_offsets":[0,39999999999996]}}"#, &[]);
        assert!(matches!(parse(&long, None, "x"), Err(Error::Decoder { .. })));
        let complex = file(r#"{"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}"#, &[0; 8]);
        assert!(parse(&complex, None, "x").unwrap_err().to_string().ends_with("got C64"));
    }
}
