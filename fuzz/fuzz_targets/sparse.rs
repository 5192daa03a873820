#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| spadework_io::fuzzing::sparse(bytes));
