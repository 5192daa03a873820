//! The header of a NumPy file: a Python dictionary of three entries, written as text.
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
//! ```
//!
//! The parser takes what NumPy writes (entries in any order, either quote, blanks anywhere) and nothing else.

use crate::array::{Description, Layout};
use crate::element::{Element, Endian};
use crate::error::{Error, Format, Result, excerpt};

/// For messages about element types.
pub(crate) const ACCEPTED: &str = "float16, float32, float64, int8 to int64, uint8 to uint64, bool";

/// Parses the text of a header.
pub(crate) fn parse_header(text: &[u8], name: &str) -> Result<Description> {
    let mut cursor = Cursor { text, at: 0, name };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    cursor.expect(b'{', "an opening brace")?;
    while cursor.peek() != Some(b'}') {
        let start = cursor.at;
        let key = cursor.string()?;
        cursor.expect(b':', "a colon after each key")?;
        let repeated = match key {
            b"descr" => descr.replace(cursor.descr()?).is_some(),
            b"fortran_order" => fortran_order.replace(cursor.boolean()?).is_some(),
            b"shape" => shape.replace(cursor.tuple()?).is_some(),
            _ => true,
        };
        if repeated {
            return Err(cursor.fail_at(start, "the keys 'descr', 'fortran_order' and 'shape' once each"));
        }
        if !cursor.take(b',') {
            break;
        }
    }
    cursor.expect(b'}', "a closing brace")?;
    if cursor.peek().is_some() {
        return Err(cursor.fail("nothing after the closing brace"));
    }
    let (Some((element, endian)), Some(fortran), Some(shape)) = (descr, fortran_order, shape) else {
        return Err(cursor.fail("the keys 'descr', 'fortran_order' and 'shape'"));
    };
    let layout = if fortran { Layout::ColumnMajor } else { Layout::RowMajor };
    Ok(Description { shape, element, endian, layout })
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    name: &'a str,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn fail(&self, expected: &'static str) -> Error {
        self.fail_at(self.at, expected)
    }

    fn fail_at(&self, at: usize, expected: &'static str) -> Error {
        let rest = self.text.get(at..).unwrap_or_default();
        let got = if rest.is_empty() { "its end".to_owned() } else { format!("`{}`", excerpt(rest)) };
        Error::Header { name: self.name.to_owned(), format: Format::Npy, expected, got, at }
    }

    /// The next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        while self.rest().first().is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.rest().first().copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<()> {
        if self.take(byte) { Ok(()) } else { Err(self.fail(expected)) }
    }

    /// A quoted string; NumPy writes no escapes in the strings that matter here.
    fn string(&mut self) -> Result<&'a [u8]> {
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        let Some(quote) = quote else { return Err(self.fail("a quoted string")) };
        let inside = self.rest().get(1..).unwrap_or_default();
        let Some(length) = inside.iter().position(|&byte| byte == quote) else {
            return Err(self.fail("a closing quote"));
        };
        self.at += length + 2;
        Ok(inside.get(..length).unwrap_or_default())
    }

    fn boolean(&mut self) -> Result<bool> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (&b"False"[..], false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fail("True or False for 'fortran_order'"))
    }

    fn descr(&mut self) -> Result<(Element, Endian)> {
        let unsupported = |got: &[u8]| Error::ElementType {
            name: self.name.to_owned(),
            got: format!("NumPy type `{}`", excerpt(got)),
            accepted: ACCEPTED,
        };
        if self.text.get(self.at..).unwrap_or_default().trim_ascii_start().starts_with(b"[") {
            return Err(unsupported(self.rest().trim_ascii_start()));
        }
        let text = self.string()?;
        element_of(text).ok_or_else(|| Error::ElementType {
            name: self.name.to_owned(),
            got: format!("NumPy type `{}`", excerpt(text)),
            accepted: ACCEPTED,
        })
    }

    fn tuple(&mut self) -> Result<Vec<usize>> {
        self.expect(b'(', "a tuple for 'shape'")?;
        let mut extents = Vec::new();
        while self.peek() != Some(b')') {
            extents.push(self.extent()?);
            if !self.take(b',') {
                break;
            }
        }
        self.expect(b')', "a closing parenthesis")?;
        Ok(extents)
    }

    fn extent(&mut self) -> Result<usize> {
        self.peek();
        let start = self.at;
        let mut extent = Some(0_usize);
        while let Some(digit) = self.rest().first().filter(|byte| byte.is_ascii_digit()) {
            extent = extent.and_then(|n| n.checked_mul(10)?.checked_add(usize::from(digit - b'0')));
            self.at += 1;
        }
        // Python 2 wrote its long integers with this suffix.
        let digits = self.at - start;
        if self.rest().starts_with(b"L") {
            self.at += 1;
        }
        match extent {
            Some(extent) if digits > 0 => Ok(extent),
            _ => Err(self.fail_at(start, "extents that are integers below 2^64")),
        }
    }
}

/// NumPy's type string: byte order, kind, bytes.
fn element_of(descr: &[u8]) -> Option<(Element, Endian)> {
    let (order, kind) = descr.split_first()?;
    let element = match kind {
        b"b1" => Element::Bool,
        b"u1" => Element::U8,
        b"u2" => Element::U16,
        b"u4" => Element::U32,
        b"u8" => Element::U64,
        b"i1" => Element::I8,
        b"i2" => Element::I16,
        b"i4" => Element::I32,
        b"i8" => Element::I64,
        b"f2" => Element::F16,
        b"f4" => Element::F32,
        b"f8" => Element::F64,
        _ => return None,
    };
    let endian = match order {
        b'>' => Endian::Big,
        b'=' if cfg!(target_endian = "big") => Endian::Big,
        b'<' | b'=' => Endian::Little,
        b'|' if element.size() == 1 => Endian::Little,
        _ => return None,
    };
    Some((element, endian))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_numpy_writes() {
        let got =
            parse_header(b"{'descr': '>i4', 'fortran_order': True, 'shape': (3, 4L), }   \n", "x").unwrap();
        let expected = Description {
            shape: vec![3, 4],
            element: Element::I32,
            endian: Endian::Big,
            layout: Layout::ColumnMajor,
        };
        assert_eq!(got, expected);
        let other = br#"{"shape":(),"fortran_order":False,"descr":"|u1"}"#;
        assert_eq!(parse_header(other, "x").unwrap().shape, Vec::<usize>::new());
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let message = |text: &str| parse_header(text.as_bytes(), "x.npy").unwrap_err().to_string();
        assert_eq!(
            message("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}"),
            format!("x.npy: elements must be one of {ACCEPTED}, got NumPy type `<c8`")
        );
        assert!(message("{'descr': [('a', '<f4')], 'fort").contains("got NumPy type `[(\\'a"));
        assert_eq!(
            message("{'descr': '<f4', 'fortran_order': 1}"),
            "x.npy: the npy header must have True or False for 'fortran_order', got `1}` at byte 34"
        );
        assert!(message("{'shape': (99999999999999999999,)").contains("integers below 2^64"));
        assert!(message("{'shape': (-1,)").contains("extents"));
        assert!(message("{'shape': (1,), 'shape': (1,)").contains("once each"));
        assert!(message("{'descr': '<f4'").contains("closing brace, got its end"));
        assert!(message("").contains("opening brace"));
    }
}
