//! See `portcullis_fuzz::shell`, which says what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| portcullis_fuzz::shell(data));
