//! The few shapes of Protocol Buffers that an ONNX file is made of.
//!
//! A message is a row of fields, each a number and a value: a variable-length integer, four or eight bytes, or a counted run
//! of bytes that may be text, packed numbers or another message. Nothing here trusts a length that the bytes do not hold.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Field<'a> {
    Integer(u64),
    Four([u8; 4]),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], Malformed> {
        if let Field::Bytes(bytes) = self { Ok(bytes) } else { Err(Malformed) }
    }

    pub(super) fn text(self) -> Result<String, Malformed> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Malformed)
    }

    pub(super) fn integer(self) -> Result<i64, Malformed> {
        if let Field::Integer(value) = self { Ok(value as i64) } else { Err(Malformed) }
    }

    pub(super) fn float(self) -> Result<f32, Malformed> {
        if let Field::Four(bytes) = self { Ok(f32::from_le_bytes(bytes)) } else { Err(Malformed) }
    }

    /// A repeated integer: one by one or packed.
    pub(super) fn integers(self, into: &mut Vec<i64>) -> Result<(), Malformed> {
        match self {
            Field::Bytes(mut packed) => {
                while !packed.is_empty() {
                    into.push(varint(&mut packed)? as i64);
                }
            }
            other => into.push(other.integer()?),
        }
        Ok(())
    }

    /// A repeated float: one by one or packed.
    pub(super) fn floats(self, into: &mut Vec<f32>) -> Result<(), Malformed> {
        match self {
            Field::Bytes(packed) => {
                let (values, rest) = packed.as_chunks::<4>();
                into.extend(values.iter().map(|bytes| f32::from_le_bytes(*bytes)));
                if rest.is_empty() { Ok(()) } else { Err(Malformed) }
            }
            other => {
                into.push(other.float()?);
                Ok(())
            }
        }
    }
}

/// Bytes that are no such message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// Calls `take` with the number and value of every field.
pub(super) fn read<'a>(
    mut bytes: &'a [u8],
    mut take: impl FnMut(u64, Field<'a>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = match key & 7 {
            0 => Field::Integer(varint(&mut bytes)?),
            1 => Field::Eight(*bytes.split_off(..8).and_then(<[u8]>::as_array).ok_or(Malformed)?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).map_err(|_| Malformed)?;
                Field::Bytes(bytes.split_off(..length).ok_or(Malformed)?)
            }
            5 => Field::Four(*bytes.split_off(..4).and_then(<[u8]>::as_array).ok_or(Malformed)?),
            _ => return Err(Malformed),
        };
        take(key >> 3, field)?;
    }
    Ok(())
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first().ok_or(Malformed)?;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

/// A message being written.
#[derive(Debug, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    pub(super) fn integer(mut self, field: u64, value: i64) -> Self {
        self.key(field, 0);
        self.varint(value as u64);
        self
    }

    pub(super) fn float(mut self, field: u64, value: f32) -> Self {
        self.key(field, 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub(super) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub(super) fn message(self, field: u64, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn varint(&mut self, mut value: u64) {
        while value > 127 {
            self.0.push(value as u8 | 128);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let inner = Message::default().text(1, "name").float(2, 0.5);
        let message = Message::default().integer(1, 300).integer(3, -1).message(7, &inner);
        let mut seen = Vec::new();
        read(&message.0, |number, field| {
            seen.push((number, field));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen[0], (1, Field::Integer(300)));
        assert_eq!(seen[1].1.integer(), Ok(-1));
        assert_eq!(seen[2].1.bytes().unwrap(), inner.0);
    }

    #[test]
    fn lengths_that_are_not_there_are_refused() {
        for bytes in [&[0x12, 200, 1, 0][..], &[0x0d, 1, 2], &[0x80; 12], &[0x08], &[0x0b]] {
            assert_eq!(read(bytes, |_, _| Ok(())), Err(Malformed), "{bytes:?}");
        }
    }
}
