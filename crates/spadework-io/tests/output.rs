//! What is written reads back, and what is not finished leaves nothing behind.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use proptest::collection::vec;
use proptest::prelude::*;
use spadework::samples::Values;
use spadework_io::output::{
    Column, OutputDir, OutputFile, remove_unfinished, write_bytes, write_npy, write_parquet,
};
use spadework_io::{load, load_labels};

/// `remove_unfinished` reaches every temporary of the process, so these tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn npy_reads_back(rows in 2_usize..6, extents in vec(1_usize..4, 0..3), seed in any::<u32>()) {
        let _turn = turn();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let shape: Vec<usize> = [rows].into_iter().chain(extents).collect();
        let count = shape.iter().product::<usize>() as u32;
        let values: Vec<f64> = (0..count).map(|i| f64::from(seed ^ i) / 7.0 - 1e8).collect();
        write_npy(&path, &shape, values.as_slice()).unwrap();
        let dataset = load(&path.display().to_string()).unwrap();
        prop_assert_eq!(dataset.shape(), shape.as_slice());
        let samples = dataset.samples().unwrap();
        let Values::F64(read) = samples.values() else { panic!("doubles stay doubles") };
        prop_assert_eq!(read.as_ref(), values.as_slice());

        let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        write_npy(&path, &shape, single.as_slice()).unwrap();
        let dataset = load(&path.display().to_string()).unwrap();
        let samples = dataset.samples().unwrap();
        let Values::F32(read) = samples.values() else { panic!("floats stay floats") };
        prop_assert_eq!(read.as_ref(), single.as_slice());
    }
}

#[test]
fn npy_refuses_another_shape() {
    let error = write_npy(Path::new("x.npy"), &[2, 2], &[1.0_f64][..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.npy: an array of shape [2, 2] must hold the values given, got 1 of them"
    );
}

#[test]
fn parquet_reads_back() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/nodes.parquet");
    let words = ["cat".to_owned(), "dog".to_owned()];
    let columns = [
        ("index", Column::I64(&[7, i64::MAX])),
        ("score", Column::F64(&[0.1, 2.5])),
        ("label", Column::Utf8(&words)),
    ];
    write_parquet(&path, &columns).unwrap();
    let name = path.display().to_string();
    assert_eq!(load_labels(&format!("{name}:index")).unwrap().ids(), [7, i64::MAX]);
    assert_eq!(load_labels(&format!("{name}:label")).unwrap().class_name(1), Some("dog"));
    let scores = load(&format!("{name}:score")).unwrap();
    let samples = scores.samples().unwrap();
    let Values::F64(values) = samples.values() else { panic!("doubles stay doubles") };
    assert_eq!(values.as_ref(), [0.1, 2.5]);
    let error = write_parquet(&path, &[("a", Column::I64(&[1])), ("b", Column::F64(&[]))]).unwrap_err();
    assert!(error.to_string().ends_with("every column must have 1 rows, got 0 in `b`"), "{error}");
    assert_eq!(entries(path.parent().unwrap()), ["nodes.parquet"]);
}

#[test]
fn files_appear_when_complete() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/result.json");
    let parent = path.parent().unwrap();
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"{}").unwrap();
    assert_eq!(entries(parent), [format!(".result.json.tmp-{}", std::process::id())]);
    let second = OutputFile::create(&path).unwrap();
    assert_eq!(entries(parent).len(), 2);
    drop(second);
    file.commit().unwrap();
    assert_eq!(entries(parent), ["result.json"]);
    write_bytes(&path, b"[]").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"[]");
    drop(OutputFile::create(&path).unwrap());
    assert_eq!((entries(parent), fs::read(&path).unwrap()), (vec!["result.json".to_owned()], b"[]".to_vec()));
}

#[test]
fn folders_appear_when_complete() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for (file, expected) in [("a", vec!["a"]), ("b", vec!["a", "b"])] {
        let output = OutputDir::create(&path).unwrap();
        fs::write(output.path().join(file), file).unwrap();
        output.commit().unwrap();
        assert_eq!(entries(&path), expected);
    }
    drop(OutputDir::create(&path).unwrap());
    assert_eq!(entries(folder.path()), ["out"]);
}

/// No process has the number 4294967295, one has the number 1, and the other names are not of this target.
#[test]
#[cfg(target_os = "linux")]
fn what_a_killed_run_left_is_removed() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let stays = [".out.tmp-1", ".out.tmp-x", ".out2.tmp-4294967295"];
    for name in stays.iter().chain(&[".out.tmp-4294967295", ".out.tmp-4294967295-1"]) {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    OutputDir::create(&folder.path().join("out")).unwrap().commit().unwrap();
    let expected: Vec<String> =
        stays.iter().map(|name| (*name).to_owned()).chain(["out".to_owned()]).collect();
    assert_eq!(entries(folder.path()), expected);
    // Of a run that began before the folder was made.
    fs::create_dir(folder.path().join(".out.tmp-4294967295")).unwrap();
    drop(OutputDir::create(&folder.path().join("out")).unwrap());
    assert_eq!(entries(folder.path()), expected);
}

/// The same for single files; one that another container's process still writes stays.
#[test]
#[cfg(target_os = "linux")]
fn files_that_a_killed_run_left_are_removed() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let stays = [".x.npy.tmp-1", ".x.npy.tmp-4294967294", ".x.npy.tmp-x", ".y.npy.tmp-4294967295"];
    for name in stays.iter().chain(&[".x.npy.tmp-4294967295", ".x.npy.tmp-4294967295-1"]) {
        fs::write(path(name), "half").unwrap();
    }
    let other = fs::File::open(path(".x.npy.tmp-4294967294")).unwrap();
    other.lock().unwrap();
    write_bytes(&path("x.npy"), b"whole").unwrap();
    let expected: Vec<String> = stays.iter().chain(&["x.npy"]).map(|name| (*name).to_owned()).collect();
    assert_eq!(entries(folder.path()), expected);
    // What is written now is locked as long as it is.
    let file = OutputFile::create(&path("z.npy")).unwrap();
    let temporary = path(&format!(".z.npy.tmp-{}", std::process::id()));
    assert!(fs::File::open(&temporary).unwrap().try_lock().is_err());
    file.commit().unwrap();
    fs::File::open(path("z.npy")).unwrap().try_lock().unwrap();
}

#[test]
fn an_interrupt_leaves_nothing() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let mut file = OutputFile::create(&folder.path().join("x.npy")).unwrap();
    let output = OutputDir::create(&folder.path().join("out")).unwrap();
    fs::write(output.path().join("nodes.csv"), "0").unwrap();
    file.write_all(b"1").unwrap();
    std::thread::spawn(remove_unfinished).join().unwrap();
    assert_eq!(entries(folder.path()), Vec::<String>::new());
    let message = file.commit().unwrap_err().to_string();
    assert!(message.contains("x.npy: cannot be written"), "{message}");
    assert!(output.commit().is_err());
}

#[test]
fn errors_name_the_path() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    let message = write_bytes(&blocked.join("x.json"), b"").unwrap_err().to_string();
    assert!(message.contains("file/x.json: cannot be written"), "{message}");
    assert!(OutputFile::create(Path::new("/")).is_err());
}
