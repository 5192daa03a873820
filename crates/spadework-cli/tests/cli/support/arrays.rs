//! Array files written byte by byte, and numbers to put into them.

/// A NumPy file of any element type and order.
pub(crate) fn npy(descr: &str, fortran: bool, shape: &[usize], values: &[u8]) -> Vec<u8> {
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({extents}), }}");
    // Magic, version, length and header fill a multiple of 64 bytes, and a newline ends it.
    let width = (10 + header.len() + 1).next_multiple_of(64) - 10 - 1;
    let header = format!("{header:<width$}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values);
    bytes
}

/// Single precision, little endian, in rows.
pub(crate) fn floats(columns: usize, values: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f4", false, &[values.len() / columns, columns], &bytes)
}

/// 64-bit integers, one per sample.
pub(crate) fn integers(values: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<i8", false, &[values.len()], &bytes)
}

/// A NumPy archive: a ZIP file whose members are stored as they are.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (key, array) in arrays {
        let name = format!("{key}.npy");
        let offset = file.len() as u32;
        let facts = member_facts(&name, array);
        file.extend(b"PK\x03\x04");
        file.extend(&facts);
        file.extend(name.as_bytes());
        file.extend(array);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&facts);
        // No comment, first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (count, start) = (arrays.len() as u16, file.len() as u32);
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// What both headers of a member say: version, flags, method, date, checksum, sizes, length of the name, no extras.
fn member_facts(name: &str, array: &[u8]) -> Vec<u8> {
    let mut facts = vec![0x14, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
    facts.extend(crc32(array).to_le_bytes());
    facts.extend((array.len() as u32).to_le_bytes());
    facts.extend((array.len() as u32).to_le_bytes());
    facts.extend((name.len() as u16).to_le_bytes());
    facts.extend([0, 0]);
    facts
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    })
}

/// A table as text, without a header.
pub(crate) fn csv(columns: usize, values: &[f32]) -> String {
    let line = |row: &[f32]| row.iter().map(f32::to_string).collect::<Vec<_>>().join(",") + "\n";
    values.chunks(columns).map(line).collect()
}

/// A linear congruential generator (Knuth's constants): the same numbers everywhere, for ever.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, 1), on a grid of 2⁻²⁴.
    pub(crate) fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 16_777_216.0
    }

    pub(crate) fn points(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.unit()).collect()
    }

    /// Whole numbers below `bound`.
    pub(crate) fn whole(&mut self, count: usize, bound: u8) -> Vec<u8> {
        (0..count).map(|_| (self.unit() * f32::from(bound)) as u8).collect()
    }
}
