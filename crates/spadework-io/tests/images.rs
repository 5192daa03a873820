//! Folders of images, against what Pillow reads (scripts/make_image_fixtures.py).

use std::fs;
use std::path::{Path, PathBuf};

use spadework::samples::Values;
use spadework_io::{Dataset, load, load_labels};

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).display().to_string()
}

/// Pixels as the bytes that they were.
fn bytes(dataset: &Dataset) -> Vec<u8> {
    let samples = dataset.samples().unwrap();
    match samples.values() {
        Values::U8(values) => values.to_vec(),
        // A small file of another format.
        values => values.all_doubles().iter().map(|value| (value * 255.0).round() as u8).collect(),
    }
}

fn message(argument: &str) -> String {
    load(argument).unwrap_err().to_string()
}

/// A copy of the color images, to be spoilt.
fn copy_of_color() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for class in ["cat", "dog"] {
        fs::create_dir(copy.path().join(class)).unwrap();
        for entry in fs::read_dir(fixture(&format!("images/color/{class}"))).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.path().join(class).join(entry.file_name())).unwrap();
        }
    }
    copy
}

#[test]
fn classes_and_pixels_are_those_of_pillow() {
    let argument = format!("images:{}", fixture("images/color"));
    let images = load(&argument).unwrap();
    let expected = load(&fixture("images/color.npy")).unwrap();
    assert_eq!(images.shape(), [6, 3, 9, 12]);
    assert!(matches!(images.samples().unwrap().values(), Values::U8(_)), "pixels stay bytes");
    assert_eq!(images.shape(), expected.shape());
    let (got, expected) = (bytes(&images), bytes(&expected));
    for (index, (got, expected)) in got.chunks(324).zip(expected.chunks(324)).enumerate() {
        // PNG is exact. Decoders of JPEG round the cosine transform and the colors as they like: a few levels.
        let tolerance = if matches!(index, 1 | 5) { 3 } else { 0 };
        let worst = got.iter().zip(expected).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert!(worst <= tolerance, "image {index} is off by {worst}");
    }
    let labels = images.labels().unwrap();
    assert_eq!((labels.ids(), labels.class_name(1)), (&[0, 0, 1, 1, 1, 1][..], Some("dog")));
    assert_eq!(labels, &load_labels(&argument).unwrap());
}

/// Pillow rounds after each of two passes, by half a level, and so do we at the end: they differ by one and a half at most. What a
/// decoder of JPEG was off by is averaged.
#[test]
fn sizes_are_those_of_pillow() {
    let images = load(&format!("images:{}?resize=6&crop=5", fixture("images/color"))).unwrap();
    let expected = load(&fixture("images/sized.npy")).unwrap();
    assert_eq!(images.shape(), [6, 3, 5, 5]);
    for (index, (got, expected)) in bytes(&images).chunks(75).zip(bytes(&expected).chunks(75)).enumerate() {
        let tolerance = if matches!(index, 1 | 5) { 4 } else { 1 };
        let worst = got.iter().zip(expected).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert!(worst <= tolerance, "image {index} is off by {worst}");
    }
    // Only what is brought to one size may differ in it.
    let larger = format!("images:{}?crop=10", fixture("images/color"));
    assert!(message(&larger).contains("too few to cut 10 × 10 from it"), "{}", message(&larger));
}

#[test]
fn images_alone_have_no_labels() {
    let argument = format!("images:{}", fixture("images/gray"));
    let images = load(&argument).unwrap();
    let expected = load(&fixture("images/gray.npy")).unwrap();
    assert_eq!((images.shape(), images.labels()), (expected.shape(), None));
    assert_eq!(bytes(&images), bytes(&expected));
    let error = load_labels(&argument).unwrap_err().to_string();
    assert!(error.ends_with("got images alone, which have no labels"), "{error}");
}

#[test]
fn a_broken_image_is_named() {
    let copy = copy_of_color();
    let argument = format!("images:{}", copy.path().display());
    for (file, content) in [
        ("cat/a.png", fs::read(fixture("images/color/cat/a.png")).unwrap()[..200].to_vec()),
        ("cat/a.png", b"GIF89a and more".to_vec()),
        ("cat/a.png", Vec::new()),
        ("dog/f.jpeg", fs::read(fixture("images/color/dog/f.jpeg")).unwrap()[..150].to_vec()),
        ("dog/f.jpeg", fs::read(fixture("images/color/dog/f.jpeg")).unwrap()[..390].to_vec()),
    ] {
        let whole = fs::read(copy.path().join(file)).unwrap();
        fs::write(copy.path().join(file), content).unwrap();
        let message = message(&argument);
        assert!(message.contains(file) && message.contains("image"), "{message}");
        fs::write(copy.path().join(file), whole).unwrap();
    }
    assert!(load(&argument).is_ok());
}

#[test]
fn sizes_must_agree() {
    let copy = copy_of_color();
    let wide = png(13, 9, &[0; 13 * 9]);
    fs::write(copy.path().join("dog/zebra.png"), wide).unwrap();
    let message = message(&format!("images:{}", copy.path().display()));
    assert!(message.contains("must have 12 × 9 pixels like the first"), "{message}");
    assert!(message.contains("a.png") && message.contains("got 13 × 9 in "), "{message}");
    assert!(message.ends_with("zebra.png"), "{message}");
}

#[test]
fn folders_that_are_not_what_they_should_be() {
    let folder = tempfile::tempdir().unwrap();
    let argument = format!("images:{}", folder.path().display());
    assert!(message(&argument).ends_with("got none"), "{}", message(&argument));
    assert!(message("images:nowhere").ends_with("got no such folder"));
    fs::create_dir(folder.path().join("cat")).unwrap();
    let text = message(&argument);
    assert!(text.contains("in the folder") && text.contains("cat, got none"), "{text}");
    fs::write(folder.path().join("dog.png"), png(1, 1, &[0])).unwrap();
    let text = message(&argument);
    assert!(text.contains("dog.png next to folders"), "{text}");
}

#[test]
fn an_image_cannot_unfold_into_more_than_its_file_can_hold() {
    // The largest size that is allowed, in a file of a few bytes: 50 of them would take 3 GiB.
    let folder = tempfile::tempdir().unwrap();
    for i in 0..50 {
        fs::write(folder.path().join(format!("{i}.png")), png(4096, 4096, &[])).unwrap();
    }
    let text = message(&format!("images:{}", folder.path().display()));
    assert!(text.contains("may unpack to at most 134217728 bytes"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("huge.png"), png(100_000, 100_000, &[])).unwrap();
    let text = message(&format!("images:{}", folder.path().display()));
    assert!(text.contains("huge.png: not a valid image"), "{text}");
}

#[test]
fn cinic_10_has_the_classes_of_cifar_10_by_split() {
    let folder = tempfile::tempdir().unwrap();
    let classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];
    for (split, ink) in [("train", 1), ("valid", 2), ("test", 3)] {
        for class in classes {
            let place: PathBuf = [folder.path(), Path::new(split), Path::new(class)].iter().collect();
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("x.png"), png(2, 1, &[ink, 0])).unwrap();
        }
    }
    let of = |split: &str| format!("cinic10:{}:{split}", folder.path().display());
    let valid = load(&of("valid")).unwrap();
    assert_eq!((valid.shape(), bytes(&valid)[0]), (&[10, 1, 2][..], 2));
    let all = load(&of("all")).unwrap();
    assert_eq!((all.shape()[0], bytes(&all)[20], bytes(&all)[40]), (30, 2, 3));
    let labels = load_labels(&of("all")).unwrap();
    assert_eq!((labels.ids()[13], labels.class_name(3)), (3, Some("cat")));
    assert_eq!(&labels, all.labels().unwrap());
    fs::remove_dir_all(folder.path().join("test/ship")).unwrap();
    let text = message(&of("test"));
    assert!(text.contains("ship, got none"), "{text}");
    assert!(load(&of("train")).is_ok());
}

#[test]
fn pickled_files_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let says = "pickled files are not read; for CIFAR-10 use the binary version (data_batch_1.bin), or save the array with numpy.save";
    for protocol in 2..=5 {
        let path = folder.path().join("x.pkl").display().to_string();
        fs::write(&path, [0x80, protocol, b'}', b'.']).unwrap();
        assert_eq!(message(&path), format!("{path}: {says}"));
        assert_eq!(load_labels(&path).unwrap_err().to_string(), format!("{path}: {says}"));
    }
    // By name too, in the folder itself and where the archive of the Python version leaves its files.
    for place in ["", "cifar-10-batches-py"] {
        let folder = tempfile::tempdir().unwrap();
        let batch = folder.path().join(place).join("test_batch");
        fs::create_dir_all(batch.parent().unwrap()).unwrap();
        fs::write(&batch, b"\x80\x02}q\x01.").unwrap();
        let text = message(&format!("cifar10:{}:test", folder.path().display()));
        assert_eq!(text, format!("{}: {says}", batch.display()));
    }
}

/// A gray PNG of 8 bits, stored without packing. Rows beyond the pixels given are not there.
fn png(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut rows: Vec<u8> = Vec::new();
    for row in pixels.chunks(width as usize) {
        rows.push(0);
        rows.extend(row);
    }
    let mut data = vec![0x78, 1, 1];
    data.extend((rows.len() as u16).to_le_bytes());
    data.extend((!(rows.len() as u16)).to_le_bytes());
    data.extend(&rows);
    let (a, b) = rows.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    data.extend(((b << 16) | a).to_be_bytes());
    let size: Vec<u8> = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let header = [size.as_slice(), &[8, 0, 0, 0, 0]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, content) in [(b"IHDR", header), (b"IDAT", data), (b"IEND", Vec::new())] {
        file.extend((content.len() as u32).to_be_bytes());
        let body = [kind.as_slice(), &content].concat();
        file.extend(&body);
        file.extend(crc32(&body).to_be_bytes());
    }
    file
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    })
}
