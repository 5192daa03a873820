//! Files and calls that ask for more memory than they should, or than there is.

#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use spadework_io::output::{Column, write_parquet};

use crate::support::arrays::{Random, npy};
use crate::support::{Scene, assert_holds};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The exit code of a script, and what it says on stderr.
fn shell(scene: &Scene, script: &str) -> (Option<i32>, String) {
    let output = Command::new("sh")
        .args(["-c", script])
        .envs([("SW", env!("CARGO_BIN_EXE_spadework")), ("RUST_BACKTRACE", "0")])
        .current_dir(scene.path())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// For calls with little memory. The first allocation of another thread makes glibc ask for 128 MiB of addresses, for a moment.
const ONE_ARENA: &str = "MALLOC_ARENA_MAX=1 RAYON_NUM_THREADS=1";

#[test]
fn small_files_take_little_memory() {
    let scene = Scene::with_model();
    // 100 MB of text in 100 kB, as one line and as one column.
    let line = [b"1,".repeat(50_000_000), b"1\n".to_vec()].concat();
    scene.write("line.csv.gz", gzip(&line));
    scene.write("column.csv.gz", gzip(&b"1\n".repeat(50_000_000)));
    scene.write("plain.csv", b"1,2\n".iter().chain(&b"1,".repeat(5_000_000)).copied().collect::<Vec<u8>>());
    for file in ["line.csv.gz", "column.csv.gz", "plain.csv"] {
        // In KiB: the program itself, the text and the numbers.
        let call = format!("ulimit -v 1000000; {ONE_ARENA} \"$SW\" score --inputs {file} --outputs y.npy");
        scene.shell(&call).refuses(2, &[file]);
    }
}

/// What takes two bytes of text, or one of an array, takes many more once it has been read.
#[test]
fn small_files_of_many_values_take_little_memory() {
    let scene = Scene::with_model();
    // 32 MB of labels in 31 kB, 60 million in 60 kB, and words above two million columns.
    scene.write("labels.csv.gz", gzip(&b"1\n".repeat(16_000_000)));
    scene.write("bytes.npy.gz", gzip(&npy("|i1", false, &[60_000_000], &vec![0; 60_000_000])));
    scene.write("names.csv.gz", gzip(&[b"a,".repeat(3_000_000), b"a\n".to_vec()].concat()));
    let call = format!("ulimit -v 400000; {ONE_ARENA} \"$SW\" score --outputs y.npy");
    let refused = |option: &str, file: &str, words: &str| {
        let call = match option {
            "inputs" => format!("{call} --inputs {file}"),
            option => format!("{call} --inputs x.npy --{option} {file}"),
        };
        scene.shell(&call).refuses(2, &[file, words]);
    };
    for option in ["labels", "ids"] {
        refused(option, "labels.csv.gz", "may unpack to at most");
        refused(option, "bytes.npy.gz", "may unpack to at most");
    }
    refused("inputs", "bytes.npy.gz", "may unpack to at most");
    refused("inputs", "names.csv.gz", "may unpack to at most");
}

/// Lines of 120 MB in 120 kB, which would be copied several times.
#[test]
fn long_lines_of_packed_text_take_little_memory() {
    let scene = Scene::with_model();
    let letters = vec![b'a'; 120_000_000];
    let around = |before: &[u8], after: &[u8]| gzip(&[before, &letters, after].concat());
    scene.write("cell.csv.gz", around(b"", b"\n"));
    scene.write("quoted.csv.gz", around(b"\"", b"\"\n"));
    scene.write("blanks.csv.gz", around(b" ", b" \n"));
    scene.write("marked.csv.gz", around(b"\xef\xbb\xbf", b"\n"));
    scene.write("below.csv.gz", around(b"a\n", b"\n"));
    scene.write("words.csv.gz", gzip(&[[b'a'; 28].as_slice(), b","].concat().repeat(4_000_000)));
    scene.write("comment.mtx.gz", around(b"%%MatrixMarket matrix coordinate real general\n%", b"\n"));
    // In KiB: the program itself, and twice the text.
    let call = format!("ulimit -v 500000; {ONE_ARENA} \"$SW\" score --outputs y.npy");
    let refused = |call: &str, file: &str, line: usize| {
        let most = (64 * fs::metadata(scene.path().join(file)).unwrap().len()).max(8 << 20);
        let words = format!("may have at most {most} bytes, got more in line {line}");
        scene.shell(call).refuses(2, &[file, &words]);
    };
    for (file, line) in [
        ("cell.csv.gz", 1),
        ("quoted.csv.gz", 1),
        ("blanks.csv.gz", 1),
        ("marked.csv.gz", 1),
        ("below.csv.gz", 2),
        ("words.csv.gz", 1),
    ] {
        refused(&format!("{call} --inputs {file}"), file, line);
    }
    for option in ["labels", "ids"] {
        refused(&format!("{call} --inputs x.npy --{option} below.csv.gz"), "below.csv.gz", 2);
    }
    for (file, line) in [("quoted.csv.gz", 1), ("below.csv.gz", 2), ("comment.mtx.gz", 2)] {
        refused(&format!("{call} --input-graph {file}"), file, line);
    }
}

/// An image of one column is as many times longer as it is wider once it is resized: 800 MB of pixels for each core.
#[test]
fn narrow_images_take_little_memory() {
    let scene = Scene::with_model();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../spadework-io/tests/regressions/narrow");
    let call = format!(
        "ulimit -v 500000; {ONE_ARENA} \"$SW\" score --outputs y.npy --inputs 'images:{folder}' --resize 256 --crop 224"
    );
    scene.shell(&call).refuses(2, &["a.png", "1 × 4096 pixels", "at most 16384 per side"]);
}

/// A column of equal numbers takes a few kilobytes in a file. In memory it takes what its numbers take, once.
#[test]
fn parquet_columns_take_the_memory_of_their_numbers() {
    let scene = Scene::with_model();
    let rows = 16_000_000;
    let path = |name: &str| scene.path().join(name);
    write_parquet(&path("doubles.parquet"), &[("a", Column::F64(&vec![0.0; rows]))]).unwrap();
    write_parquet(&path("integers.parquet"), &[("a", Column::I64(&vec![0; rows]))]).unwrap();
    assert!(fs::metadata(path("doubles.parquet")).unwrap().len() < 128 << 10);
    // 128 MB of numbers and the program itself.
    let call = format!("ulimit -v 320000; {ONE_ARENA} \"$SW\" score --outputs y.npy");
    for file in ["doubles.parquet", "integers.parquet"] {
        scene.shell(&format!("{call} --inputs {file}")).refuses(2, &[file, "got 16000000 inputs"]);
    }
    scene
        .shell(&format!("{call} --inputs x.npy --labels integers.parquet"))
        .refuses(2, &["integers.parquet", "got 16000000"]);
    // A page of 900 MB in 28 kB, whose words would be counted when it is unpacked.
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/../spadework-io/tests/regressions");
    scene
        .shell(&format!("{call} --inputs x.npy --labels '{regressions}/page_of_long_words.parquet'"))
        .refuses(2, &["page_of_long_words.parquet", "may unpack to at most"]);
    // As many as 128 MiB hold, and one more.
    write_parquet(&path("more.parquet"), &[("a", Column::F64(&vec![0.0; (128 << 20) / 8 + 1]))]).unwrap();
    scene
        .shell(&format!("{call} --inputs more.parquet"))
        .refuses(2, &["more.parquet", "may unpack to at most"]);
}

#[test]
fn what_does_not_fit_into_memory_is_refused() {
    let scene = Scene::with_many_samples();
    let call = format!("ulimit -v 500000; {ONE_ARENA} \"$SW\" score -k 4400 --inputs x.npy --outputs y.npy");
    scene.shell(&call).refuses(3, &["neighbor lists would need", "MiB of memory"]);
}

/// 300,000 samples with 100,000 neighbors each take terabytes, more than the machines that run this have.
#[cfg(target_os = "linux")]
#[test]
fn what_will_not_fit_is_said_at_the_start_by_every_command() {
    let scene = Scene::with_network();
    let (samples, words) =
        (300_000, ["needs about", "are available: the run may be stopped", "use fewer samples"]);
    for (name, seed) in [("x.npy", 3), ("y.npy", 4)] {
        let values = Random::new(seed).whole(samples * 4, 255);
        scene.write(name, npy("|u1", false, &[samples, 4], &values));
    }
    let call = |command: &str| {
        let script = format!("ulimit -v 2000000; {ONE_ARENA} \"$SW\" {command} -k 100000 --inputs x.npy");
        let (code, stderr) = shell(&scene, &script);
        assert_eq!(code, Some(3), "{command}: {stderr}");
        // Before the error that ends it.
        let (note, error) = stderr.split_once("\nerror: ").expect("a note and an error");
        assert_holds(note, &words);
        assert!(note.starts_with("note: ") && error.contains("of memory"), "{stderr}");
    };
    for command in ["score", "compare --outputs x.npy", "sweep", "graphs", "graph --out result"] {
        call(&format!("{command} --outputs y.npy"));
    }
    call("layers --model mlp.onnx");
}

/// What a plan says of memory follows what makes it grow.
#[test]
fn a_plan_counts_eigenpairs_neighbors_and_copies() {
    let scene = Scene::with_many_samples();
    let planned = |options: &str| {
        let call = format!("score --plan --json --quiet --inputs x.npy --outputs y.npy {options}");
        scene.run(&call).json()["memory"].clone()
    };
    let bytes = |memory: &serde_json::Value, what: &str| memory[what].as_u64().unwrap();
    let plain = planned("");
    assert_eq!(bytes(&plain, "inputs"), 4500 * 12 * 4);
    // Three panels of four numbers in double precision for each of 2⌈(r + 2)/4⌉ + 4.
    let many = planned("-r 30");
    assert!(bytes(&many, "graphs") >= bytes(&plain, "graphs") + 4500 * (20 - 6) * 3 * 4 * 8);
    assert!(bytes(&planned("-k 20"), "search") > bytes(&plain, "search"));
    assert_eq!(bytes(&planned("--standardize"), "search"), bytes(&plain, "search") + 4500 * 12 * 8);
    let (work, total) = (bytes(&plain, "search").max(bytes(&plain, "graphs")), bytes(&plain, "total"));
    assert_eq!(total, bytes(&plain, "inputs") + bytes(&plain, "outputs") + work);
}

/// Wherever an allocation fails, the call ends with one of the codes that mean something, and says why.
#[test]
fn allocations_that_fail_end_with_a_message() {
    let scene = Scene::with_many_samples();
    scene.write("x.csv", "0.25,0.5,0.75,1\n".repeat(30_000));
    let mut failed = 0;
    for call in ["score --inputs x.npy --outputs y.npy --out result", "score --inputs x.csv --outputs x.csv"]
    {
        for kibibytes in (60_000..200_000).step_by(10_000) {
            let script = format!("ulimit -v {kibibytes}; RAYON_NUM_THREADS=1 exec \"$SW\" {call}");
            let (code, stderr) = shell(&scene, &script);
            assert!(matches!(code, Some(0 | 2 | 3)), "{code:?} with {kibibytes} KiB: {stderr}");
            if code == Some(0) {
                break;
            }
            failed += 1;
            assert!(stderr.lines().any(|line| line.starts_with("error: ")), "{stderr}");
            assert!(stderr.lines().count() < 8, "{stderr}");
        }
    }
    assert!(failed > 2, "memory was short {failed} times");
}
