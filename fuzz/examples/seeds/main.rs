#![forbid(unsafe_code)]
//! Writes the fuzzer's seeds: one file each under `fuzz/corpus/<target>/`. `cargo xtask fuzz` calls it.

mod collect;

use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (number, (target, seed)) in collect::seeds().into_iter().enumerate() {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}
