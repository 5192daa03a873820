//! As much of Python's pickle format as a CIFAR-10 batch of the Python version is made of.
//!
//! A pickle is a program for a small stack machine, and Python's own machine may be told to call anything. This one knows
//! the opcodes that Python 2 wrote for those files (protocol 2), builds plain values and arrays of bytes, and calls nothing:
//! a name other than the three that NumPy puts there ends the reading. Text and arrays are borrowed from the file, what is
//! built is bounded in number and in depth, and a container may not be used twice, so no pickle can unfold into more than it
//! is.

use std::collections::BTreeMap;

use crate::error::{Error, Result, excerpt};

/// More opcodes than this no batch has: 10,000 labels and names of files take some 40,000.
const MOST_OPCODES: usize = 1 << 19;
/// Tuples within tuples; an array's state has three levels.
const MOST_DEPTH: usize = 4;

/// What a pickle can say here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    None,
    Bool(bool),
    Integer(i64),
    Text(&'a [u8]),
    Tuple(Vec<Value<'a>>),
    List(Vec<Value<'a>>),
    Dictionary(Vec<(Value<'a>, Value<'a>)>),
    /// An array of bytes, in rows.
    Bytes {
        shape: Vec<i64>,
        values: &'a [u8],
    },
    Name(Name),
    /// An array whose shape and values are still to come.
    EmptyArray,
    /// NumPy's type of unsigned bytes.
    ByteType,
}

/// The names that may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Reconstruct,
    Array,
    Type,
}

impl Name {
    fn of(module: &[u8], name: &[u8]) -> Option<Self> {
        match (module, name) {
            (b"numpy.core.multiarray" | b"numpy._core.multiarray", b"_reconstruct") => {
                Some(Name::Reconstruct)
            }
            (b"numpy", b"ndarray") => Some(Name::Array),
            (b"numpy", b"dtype") => Some(Name::Type),
            _ => None,
        }
    }
}

impl Value<'_> {
    fn depth(&self) -> usize {
        let deepest = |values: &[Value<'_>]| values.iter().map(Value::depth).max().unwrap_or(0);
        match self {
            Value::Tuple(values) | Value::List(values) => 1 + deepest(values),
            Value::Dictionary(entries) => {
                1 + entries.iter().map(|(_, value)| value.depth()).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    fn is_container(&self) -> bool {
        matches!(
            self,
            Value::Tuple(_) | Value::List(_) | Value::Dictionary(_) | Value::Bytes { .. } | Value::EmptyArray
        )
    }

    /// In a few words, for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Value::None => "None".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Text(text) => format!("`{}`", excerpt(text)),
            Value::Tuple(values) => format!("a tuple of {}", values.len()),
            Value::List(values) => format!("a list of {}", values.len()),
            Value::Dictionary(entries) => format!("a dictionary of {}", entries.len()),
            Value::Bytes { shape, .. } => format!("an array of bytes of shape {shape:?}"),
            Value::Name(_) | Value::EmptyArray | Value::ByteType => "a part of an array".to_owned(),
        }
    }
}

/// Reads the one value of a pickle, which must fill the file.
pub(crate) fn parse<'a>(bytes: &'a [u8], name: &str) -> Result<Value<'a>> {
    let mut machine =
        Machine { bytes, at: 0, name, stack: Vec::new(), marks: Vec::new(), memo: BTreeMap::new() };
    machine.run()
}

struct Machine<'a, 'n> {
    bytes: &'a [u8],
    at: usize,
    name: &'n str,
    stack: Vec<Value<'a>>,
    /// Heights of the stack at which a run of items begins.
    marks: Vec<usize>,
    /// What may be used again; `None` stands for a container, which may not.
    memo: BTreeMap<u32, Option<Value<'a>>>,
}

impl<'a> Machine<'a, '_> {
    fn run(&mut self) -> Result<Value<'a>> {
        match self.take(2)? {
            [0x80, 2] => {}
            other => return Err(self.refuse("to begin with protocol 2", other.escape_ascii().to_string())),
        }
        for _ in 0..MOST_OPCODES {
            let opcode = self.byte()?;
            if opcode == b'.' {
                return self.finish();
            }
            self.step(opcode)?;
        }
        Err(self.refuse("at most 524288 opcodes", "more".to_owned()))
    }

    fn finish(&mut self) -> Result<Value<'a>> {
        if self.at != self.bytes.len() {
            let more = self.bytes.len() - self.at;
            return Err(self.refuse("its end at the end of the file", format!("{more} more bytes")));
        }
        match (self.stack.pop(), self.stack.is_empty() && self.marks.is_empty()) {
            (Some(value), true) => Ok(value),
            _ => Err(self.refuse("one value", "none or several".to_owned())),
        }
    }

    fn step(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'K' | b'M' | b'J' | b'U' | b'T' => {
                let value = self.literal(opcode)?;
                self.push(value);
            }
            b'c' => {
                let name = self.global()?;
                self.push(Value::Name(name));
            }
            b'}' => self.push(Value::Dictionary(Vec::new())),
            b']' => self.push(Value::List(Vec::new())),
            b')' => self.push(Value::Tuple(Vec::new())),
            b'(' => self.marks.push(self.stack.len()),
            b't' | 0x85..=0x87 => self.tuple(opcode)?,
            b'a' | b'e' | b's' | b'u' => self.fill(opcode)?,
            b'q' | b'r' | b'h' | b'j' => self.recall(opcode)?,
            b'R' => self.reduce()?,
            b'b' => self.build()?,
            other => {
                return Err(self.refuse("the opcodes of a CIFAR-10 batch alone", format!("{other:#04x}")));
            }
        }
        Ok(())
    }

    /// A number or a text.
    fn literal(&mut self, opcode: u8) -> Result<Value<'a>> {
        Ok(match opcode {
            b'K' => Value::Integer(i64::from(self.byte()?)),
            b'M' => Value::Integer(i64::from(u16::from_le_bytes(self.array()?))),
            b'J' => Value::Integer(i64::from(i32::from_le_bytes(self.array()?))),
            b'U' => {
                let length = usize::from(self.byte()?);
                Value::Text(self.take(length)?)
            }
            _ => {
                let length = u32::from_le_bytes(self.array()?) as usize;
                Value::Text(self.take(length)?)
            }
        })
    }

    /// Two lines: a module and a name in it.
    fn global(&mut self) -> Result<Name> {
        let (module, name) = (self.line()?, self.line()?);
        Name::of(module, name).ok_or_else(|| {
            let got = format!("`{}.{}`, which was not called", excerpt(module), excerpt(name));
            self.refuse("no names but those of a NumPy array", got)
        })
    }

    fn tuple(&mut self, opcode: u8) -> Result<()> {
        let items = if opcode == b't' {
            self.since_mark()?
        } else {
            let count = usize::from(opcode - 0x84);
            let from = self.stack.len().checked_sub(count).ok_or_else(|| self.underflow())?;
            self.stack.split_off(from)
        };
        let tuple = Value::Tuple(items);
        if tuple.depth() > MOST_DEPTH {
            return Err(self.refuse("at most four tuples within each other", "more".to_owned()));
        }
        self.push(tuple);
        Ok(())
    }

    /// Puts one item or several into the list or dictionary below them.
    fn fill(&mut self, opcode: u8) -> Result<()> {
        let items = match opcode {
            b'e' | b'u' => self.since_mark()?,
            b'a' => vec![self.pop()?],
            _ => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
        };
        if items.iter().any(|item| item.depth() >= MOST_DEPTH) {
            return Err(self.refuse("at most four containers within each other", "more".to_owned()));
        }
        match (self.stack.last_mut(), opcode) {
            (Some(Value::List(list)), b'a' | b'e') => list.extend(items),
            (Some(Value::Dictionary(entries)), b's' | b'u') if items.len().is_multiple_of(2) => {
                let mut items = items.into_iter();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    entries.push((key, value));
                }
            }
            _ => return Err(self.refuse("a list or dictionary to put items in", "none".to_owned())),
        }
        Ok(())
    }

    /// Stores the top of the stack under a number, or fetches what was stored.
    fn recall(&mut self, opcode: u8) -> Result<()> {
        let number = match opcode {
            b'q' | b'h' => u32::from(self.byte()?),
            _ => u32::from_le_bytes(self.array()?),
        };
        if matches!(opcode, b'q' | b'r') {
            let top = self.stack.last().ok_or_else(|| self.underflow())?;
            let kept = (!top.is_container()).then(|| top.clone());
            self.memo.insert(number, kept);
            return Ok(());
        }
        match self.memo.get(&number) {
            Some(Some(value)) => {
                let value = value.clone();
                self.push(value);
                Ok(())
            }
            Some(None) => Err(self.refuse("every container once", format!("number {number} again"))),
            None => Err(self.refuse("numbers that were stored", number.to_string())),
        }
    }

    /// The two calls of an array, recognized and not made.
    fn reduce(&mut self) -> Result<()> {
        let (arguments, callee) = (self.pop()?, self.pop()?);
        let Value::Tuple(arguments) = arguments else {
            return Err(self.refuse("arguments as a tuple", arguments.describe()));
        };
        let made = match (callee, arguments.as_slice()) {
            (
                Value::Name(Name::Reconstruct),
                [Value::Name(Name::Array), Value::Tuple(shape), Value::Text(b"b")],
            ) if shape.as_slice() == [Value::Integer(0)] => Value::EmptyArray,
            (
                Value::Name(Name::Type),
                [
                    Value::Text(b"u1"),
                    Value::Integer(0) | Value::Bool(false),
                    Value::Integer(1) | Value::Bool(true),
                ],
            ) => Value::ByteType,
            (Value::Name(Name::Type), [Value::Text(kind), ..]) => {
                return Err(self.refuse("an array of unsigned bytes (u1)", format!("`{}`", excerpt(kind))));
            }
            (callee, _) => return Err(self.refuse("the calls of a NumPy array alone", callee.describe())),
        };
        self.push(made);
        Ok(())
    }

    /// Gives an array its shape and values; of the type nothing is left to say.
    fn build(&mut self) -> Result<()> {
        let (state, target) = (self.pop()?, self.pop()?);
        let made = match (target, state) {
            (Value::ByteType, Value::Tuple(_)) => Value::ByteType,
            (Value::EmptyArray, Value::Tuple(state)) => match state.as_slice() {
                [
                    Value::Integer(1),
                    Value::Tuple(shape),
                    Value::ByteType,
                    Value::Bool(false) | Value::Integer(0),
                    Value::Text(values),
                ] => Value::Bytes { shape: self.shape(shape)?, values },
                _ => return Err(self.refuse("an array of unsigned bytes in rows", "another".to_owned())),
            },
            (target, _) => return Err(self.refuse("an array to fill", target.describe())),
        };
        self.push(made);
        Ok(())
    }

    fn shape(&self, extents: &[Value<'_>]) -> Result<Vec<i64>> {
        let extent = |value: &Value<'_>| match value {
            Value::Integer(extent) => Ok(*extent),
            other => Err(self.refuse("numbers in a shape", other.describe())),
        };
        extents.iter().map(extent).collect()
    }

    fn push(&mut self, value: Value<'a>) {
        self.stack.push(value);
    }

    /// The top of the stack, above the last mark.
    fn pop(&mut self) -> Result<Value<'a>> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(self.underflow());
        }
        self.stack.pop().ok_or_else(|| self.underflow())
    }

    fn since_mark(&mut self) -> Result<Vec<Value<'a>>> {
        let mark = self.marks.pop().filter(|&mark| mark <= self.stack.len());
        mark.map(|mark| self.stack.split_off(mark)).ok_or_else(|| self.underflow())
    }

    fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        bytes.first_chunk().copied().ok_or_else(|| self.cut_short(N))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..count).ok_or_else(|| self.cut_short(count))?;
        self.at += count;
        Ok(taken)
    }

    fn line(&mut self) -> Result<&'a [u8]> {
        const LONGEST: usize = 80;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().take(LONGEST).position(|&byte| byte == b'\n');
        let end = end.ok_or_else(|| self.refuse("a short name", format!("`{}`", excerpt(rest))))?;
        let line = self.take(end)?;
        self.at += 1;
        Ok(line)
    }

    fn cut_short(&self, count: usize) -> Error {
        let rest = self.bytes.len() - self.at.min(self.bytes.len());
        let got = format!("{rest} of the next {count}");
        self.refuse("all of its bytes", got)
    }

    fn underflow(&self) -> Error {
        self.refuse("values where it uses them", "none".to_owned())
    }

    fn refuse(&self, expected: &'static str, got: String) -> Error {
        Error::Pickle { name: self.name.to_owned(), at: self.at, expected, got }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &[u8]) -> String {
        parse(&[b"\x80\x02", body].concat(), "x").unwrap_err().to_string()
    }

    #[test]
    fn builds_plain_values() {
        let value =
            parse(b"\x80\x02}q\x01(U\x01aq\x02](K\x01M\x00\x02J\xff\xff\xff\xffh\x02eU\x01bN\x88\x86u.", "x");
        let numbers = [1, 512, -1].map(Value::Integer).into_iter().chain([Value::Text(b"a")]).collect();
        let pair = Value::Tuple(vec![Value::None, Value::Bool(true)]);
        let entries = vec![(Value::Text(b"a"), Value::List(numbers)), (Value::Text(b"b"), pair)];
        assert_eq!(value.unwrap(), Value::Dictionary(entries));
    }

    #[test]
    fn calls_nothing() {
        assert_eq!(
            message(b"cos\nsystem\n(U\x02lstR."),
            "x: a pickled CIFAR-10 batch must have no names but those of a NumPy array, got `os.system`, which was not \
             called, at byte 13"
        );
        assert!(message(b"cnumpy\ndtype\nU\x02O8K\x00K\x01\x87R.").contains("unsigned bytes (u1), got `O8`"));
        assert!(message(b"cnumpy\nndarray\n)R.").contains("the calls of a NumPy array alone"));
        // Every other way by which Python finds or calls something.
        for opcode in
            [b'i', b'o', b'\x81', b'\x82', b'\x93', b'P', b'Q', b'S', b'V', b'X', b'I', b'L', b'0', b'2']
        {
            assert!(message(&[opcode]).contains("the opcodes of a CIFAR-10 batch alone"), "{opcode}");
        }
    }

    #[test]
    fn nothing_unfolds() {
        // A list within a list twice, and so on: 2ⁿ items of n opcodes.
        assert!(message(b"]q\x01(h\x01h\x01e.").contains("every container once, got number 1 again"));
        assert!(message(&b"\x85".repeat(10)).contains("values where it uses them"));
        let nested = [b"N".as_slice(), &b"\x85".repeat(100_000)].concat();
        assert!(message(&nested).contains("at most four tuples"));
        let nested = [b"]".repeat(100_000), b"a".repeat(99_999)].concat();
        assert!(message(&nested).contains("at most four containers"));
        let nested = b"}".repeat(600_000);
        assert!(message(&nested).contains("at most 524288 opcodes"));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        assert!(parse(b"\x80\x04N.", "x").unwrap_err().to_string().contains("protocol 2"));
        assert!(parse(b"", "x").unwrap_err().to_string().ends_with("got 0 of the next 2, at byte 0"));
        for (body, words) in [
            (&b"T\xff\xff\xff\xffabc"[..], "got 3 of the next 4294967295, at byte 7"),
            (b"N.more", "got 4 more bytes"),
            (b".", "one value"),
            (b"NN.", "one value"),
            (b"(N.", "one value"),
            (b"t", "values where it uses them"),
            (b"h\x05", "numbers that were stored, got 5"),
            (b"N(a", "values where it uses them"),
            (b"N(Ne", "a list or dictionary to put items in"),
            (b"}(Nu", "a list or dictionary to put items in"),
            (b"NNb", "an array to fill, got None"),
            (b"cwithout an end", "a short name"),
        ] {
            assert!(message(body).contains(words), "{}", message(body));
        }
    }
}
