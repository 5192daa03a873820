//! No bytes make a reader panic, allocate what is not there, or give an array of another size than it says.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use spadework_io::fuzzing;

/// A reader, and fixtures that are valid for it.
type Reader = (fn(&[u8]), &'static [&'static str]);

const READERS: [Reader; 13] = [
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
    (fuzzing::sparse, &["graphs/directed.npz", "graphs/columns.npz", "graphs/refused_wide.npz"]),
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

/// Small files that asked for much memory: a line of 9 MiB in 9 kB (the fuzzer does not begin with it, since each try takes a second), and
/// an image that is a thousand times longer once it is resized.
#[test]
fn files_that_asked_for_much_are_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let path = |file: &str| folder.join(file).display().to_string();
    let cases = [
        (
            path("large_unpacked/long_cell.csv.gz"),
            "a line of packed text may have at most 8388608 bytes, got more in line 1",
        ),
        (format!("images:{}?resize=256&crop=224", path("regressions/narrow")), "256 × 1048576"),
    ];
    for (argument, reason) in cases {
        let message = spadework_io::load(&argument).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
    for file in ["large_unpacked/long_cell.csv.gz", "regressions/narrow/a.png"] {
        let bytes = fs::read(folder.join(file)).unwrap();
        for (read, _) in READERS {
            read(&bytes);
        }
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

/// Small numbers from a seed (Knuth's constants); these files need no better ones.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// Flips, cuts, repeats and inserts a few bytes.
fn mutated(mut bytes: Vec<u8>, draw: &mut Draw) -> Vec<u8> {
    for _ in 0..=draw.below(8) {
        let at = draw.below(bytes.len());
        let end = bytes.len().min(at + 1 + draw.below(48));
        match draw.below(5) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << draw.below(8),
            1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][draw.below(5)],
            2 => drop(bytes.drain(at..end)),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => bytes.insert(at, draw.below(256) as u8),
        }
    }
    bytes
}

/// 10,000 mutated files per reader, or as many as the minutes allow (`SPADEWORK_SOAK_MINUTES`, 3 by default), from
/// `SPADEWORK_SOAK_SEED`; the last line has the figures.
#[test]
#[ignore = "takes minutes; scripts/test-extended runs it"]
#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn a_soak_of_mutated_files() {
    const FILES: usize = 10_000;
    let number = |name: &str, usual: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
    };
    let (seed, minutes) = (number("SPADEWORK_SOAK_SEED", 1), number("SPADEWORK_SOAK_MINUTES", 3));
    let share = std::time::Duration::from_secs(60 * minutes) / READERS.len() as u32;
    let mut counts = Vec::new();
    for (reader, (read, files)) in READERS.into_iter().enumerate() {
        let began = std::time::Instant::now();
        let mut draw = Draw(seed.wrapping_add(reader as u64));
        let fixtures: Vec<Vec<u8>> = files.iter().map(|file| fixture(file)).collect();
        let mut count = 0;
        while count < FILES && began.elapsed() < share {
            read(&mutated(fixtures[draw.below(fixtures.len())].clone(), &mut draw));
            count += 1;
        }
        counts.push(count);
    }
    let total: usize = counts.iter().sum();
    println!("soak: seed {seed}: {total} mutated files, {counts:?} per reader, no panic");
}
