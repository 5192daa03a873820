//! Weights in a file next to the model, as PyTorch's exporter writes them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::wire::TensorProto;

/// Bytes of weights at most, for each byte of their file: layers may share weights, but a small file must not stand for much more memory.
const TIMES: u64 = 4;

/// The folder of a model.
pub(super) struct Folder<'a> {
    path: &'a Path,
    /// Bytes that were taken of each file.
    taken: HashMap<PathBuf, u64>,
}

impl<'a> Folder<'a> {
    pub(super) fn of(model: &'a Path) -> Self {
        Self { path: model.parent().unwrap_or(Path::new("")), taken: HashMap::new() }
    }

    /// The bytes of a tensor that says where they are; otherwise what is wrong, as what a constant has.
    pub(super) fn bytes(&mut self, tensor: &TensorProto) -> Result<Vec<u8>, String> {
        let entry = |key: &str| {
            let found = tensor.external_data.iter().find(|entry| entry.key == key);
            found.map(|entry| entry.value.as_str())
        };
        let location = entry("location").unwrap_or_default();
        let number = |key: &str| match entry(key).map(str::parse::<u64>) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(format!("its {key} is not a number")),
        };
        let mut read = || {
            let outside = Path::new(location)
                .components()
                .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir));
            if location.is_empty() || outside {
                return Err("it must lie in the folder of the model".to_owned());
            }
            self.read(location, number("offset")?.unwrap_or(0), number("length")?)
        };
        let in_words = |reason| {
            format!("values in the file `{location}` next to the model, which cannot be read: {reason}")
        };
        read().map_err(in_words)
    }

    fn read(&mut self, location: &str, offset: u64, length: Option<u64>) -> Result<Vec<u8>, String> {
        let path: PathBuf = self.path.join(location).components().collect();
        let words = |error: std::io::Error| error.to_string();
        let mut file = File::open(&path).map_err(words)?;
        let size = file.metadata().map_err(words)?.len();
        let left = size.saturating_sub(offset);
        let length = length.unwrap_or(left);
        if length > left {
            return Err(format!("expected {length} bytes from byte {offset} on, got {left}"));
        }
        let taken = self.taken.entry(path).or_default();
        *taken = taken.saturating_add(length);
        if *taken > size.saturating_mul(TIMES) {
            return Err(format!("weights take more than {TIMES} times its {size} bytes"));
        }
        let mut bytes = vec![0; length as usize];
        file.seek(SeekFrom::Start(offset)).map_err(words)?;
        file.read_exact(&mut bytes).map_err(words)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::EntryProto;
    use super::*;

    fn tensor(entries: &[(&str, &str)]) -> TensorProto {
        let entry =
            |&(key, value): &(&str, &str)| EntryProto { key: key.to_owned(), value: value.to_owned() };
        TensorProto { external_data: entries.iter().map(entry).collect(), ..TensorProto::default() }
    }

    #[test]
    fn bytes_are_taken_from_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.data"), [1, 2, 3, 4, 5, 6]).unwrap();
        let model = folder.path().join("net.onnx");
        let mut folder = Folder::of(&model);
        let part = [("location", "w.data"), ("offset", "2"), ("length", "3")];
        assert_eq!(folder.bytes(&tensor(&part)).unwrap(), [3, 4, 5]);
        assert_eq!(folder.bytes(&tensor(&part[..2])).unwrap(), [3, 4, 5, 6]);
        let whole = tensor(&part[..1]);
        assert!((0..2).all(|_| folder.bytes(&whole).is_ok()), "two layers may share weights");
        let refused = folder.bytes(&whole).unwrap_err();
        assert!(refused.ends_with("weights take more than 4 times its 6 bytes"), "{refused}");
    }

    #[test]
    fn files_that_are_not_there_or_lie_elsewhere_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.data"), [1, 2]).unwrap();
        let model = folder.path().join("net.onnx");
        let refused = |entries: &[(&str, &str)]| Folder::of(&model).bytes(&tensor(entries)).unwrap_err();
        for outside in ["../w.data", "/etc/passwd", ""] {
            let message = refused(&[("location", outside)]);
            assert!(message.ends_with("it must lie in the folder of the model"), "{message}");
        }
        assert!(refused(&[("location", "gone.data")]).contains("the file `gone.data` next to the model"));
        let long = refused(&[("location", "w.data"), ("offset", "1"), ("length", "2")]);
        assert!(long.ends_with("expected 2 bytes from byte 1 on, got 1"), "{long}");
        assert!(refused(&[("location", "w.data"), ("offset", "-1")]).ends_with("its offset is not a number"));
    }
}
