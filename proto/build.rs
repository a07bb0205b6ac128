//! Generates the wire types from `portcullis/v1/*.proto`. protox compiles them, so no `protoc` is needed.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=portcullis");
    let files: Vec<PathBuf> = fs::read_dir("portcullis/v1")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    let mut compiler = protox::Compiler::new(["."])?;
    compiler.include_source_info(true).include_imports(true);
    compiler.open_files(&files)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure()
        // The raw input of a tool call and tokens must not reach a log by way of `{:?}`.
        .skip_debug([
            ".portcullis.v1.ToolCall",
            ".portcullis.v1.HostDocument",
            ".portcullis.v1.Execution",
            ".portcullis.v1.McpServerFact",
            ".portcullis.v1.McpCommand",
            ".portcullis.v1.RunStart",
            ".portcullis.v1.RunRequest",
        ])
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
