//! No bytes make a reader panic, allocate what is not there, or give an array of another size than it says.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use spadework_io::fuzzing;

/// A reader, and fixtures that are valid for it.
type Reader = (fn(&[u8]), &'static [&'static str]);

const READERS: [Reader; 12] = [
    (fuzzing::npy, &["f4_le_C.npy", "i2_be_F.npy", "cube_F.npy", "version3.npy"]),
    (fuzzing::npz, &["stored.npz", "deflated.npz", "single.npz"]),
    (fuzzing::csv, &["comma.csv", "tab_header.tsv", "packed.csv.gz"]),
    (
        fuzzing::parquet,
        &["f4_none.parquet", "f8_zstd.parquet", "widths.parquet", "list_f4.parquet", "refused_text.parquet"],
    ),
    (fuzzing::safetensors, &["all.safetensors", "single.safetensors"]),
    (fuzzing::idx, &["u1-idx3-ubyte", "f8-idx3-ubyte.gz"]),
    (fuzzing::cifar, &["batch.bin"]),
    (
        fuzzing::picture,
        &["images/color/cat/a.png", "images/color/cat/b.jpg", "images/color/dog/d.png", "images/gray/3.png"],
    ),
    (fuzzing::graph_csv, &["graphs/weighted.csv", "graphs/header.tsv", "graphs/pairs.csv"]),
    (fuzzing::graph_mtx, &["graphs/directed.mtx", "graphs/symmetric_pattern.mtx", "graphs/packed.mtx.gz"]),
    (fuzzing::graph_npz, &["graphs/directed.npz", "graphs/undirected.npz", "graphs/whole.npz"]),
    (fuzzing::graph_petsc, &["graphs/directed.petsc"]),
];

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

/// What each format begins with, so that arbitrary bytes get past the first check.
const BEGINNINGS: [&[u8]; 10] = [
    b"",
    b"\x93NUMPY\x01\x00\x40\x00{'descr': '<f4', ",
    b"PK\x03\x04",
    b"PAR1",
    b"\x00\x00\x08\x02",
    b"\x1f\x8b\x08\x00",
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR",
    b"\xff\xd8\xff\xe0",
    b"%%MatrixMarket matrix coordinate real general\n3 3 2\n",
    b"\x00\x12\x7b\x50\x00\x00\x00\x03\x00\x00\x00\x03",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_bytes(start in 0..BEGINNINGS.len(), tail in vec(any::<u8>(), 0..400)) {
        let bytes = [BEGINNINGS[start], &tail].concat();
        for (read, _) in READERS {
            read(&bytes);
        }
    }

    #[test]
    fn flipped_and_cut_files(
        reader in 0..READERS.len(),
        file in any::<prop::sample::Index>(),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (read, files) = READERS[reader];
        let mut bytes = fixture(files[file.index(files.len())]);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        read(&bytes);
    }

    #[test]
    fn text_of_all_sorts(text in "([0-9a-z.,;\t\"+-]{0,8}[\r\n]?){0,12}") {
        fuzzing::csv(text.as_bytes());
        fuzzing::graph_csv(text.as_bytes());
    }
}

/// Found by fuzzing: each file made the Parquet decoder panic.
#[test]
fn damaged_parquet_files_are_refused_before_they_are_decoded() {
    let cases = [
        ("page_without_dictionary.parquet", "a dictionary that the column does not have"),
        ("negative_column_start.parquet", "a column lies outside the file"),
    ];
    for (file, reason) in cases {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions").join(file);
        let message = spadework_io::load(&path.display().to_string()).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn every_prefix_of_small_files() {
    for (read, files) in READERS {
        for file in files {
            let bytes = fixture(file);
            let step = (bytes.len() / 500).max(1);
            for end in (0..bytes.len()).step_by(step) {
                read(&bytes[..end]);
            }
        }
    }
}
