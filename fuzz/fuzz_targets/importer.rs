//! See `portcullis_fuzz::importer`, which says what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| portcullis_fuzz::importer(data));
