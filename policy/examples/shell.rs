//! Prints what the analysis makes of shell lines: one line per line of standard input, as a JSON string or as it is.
//!
//! For reviewing the analysis by eye. It runs nothing.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::io::BufRead as _;

use portcullis_policy::{
    AbsPath,
    shell::{FileTarget, Limits, ShellContext, Word, analyse},
};

fn main() -> std::io::Result<()> {
    let context = ShellContext {
        cwd: AbsPath::root().join("home/dev/proj"),
        home: Some(AbsPath::root().join("home/dev")),
    };
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let line = serde_json::from_str::<String>(&line).unwrap_or(line);
        let short: String = line.chars().take(160).collect();
        println!("── {short:?}");
        let analysis = analyse(&line, &context, Limits::default());
        for command in analysis.commands.iter().take(24) {
            let words: Vec<String> = command
                .words
                .iter()
                .take(16)
                .map(|word| match word {
                    Word::Literal(text) => format!("{text:?}"),
                    Word::Dynamic { source, pattern } => format!("{}<{source}>", if *pattern { "*" } else { "$" }),
                })
                .collect();
            let via: Vec<&str> = command.seen_through.iter().map(|context| context.label()).collect();
            let sets: Vec<&str> = command
                .assignments
                .iter()
                .map(|assignment| assignment.name.as_str())
                .collect();
            let files: Vec<String> = command
                .files
                .iter()
                .take(8)
                .map(|file| {
                    let target = match &file.target {
                        FileTarget::Path(path) => path.to_string(),
                        FileTarget::Pattern { pattern, .. } => format!("*{pattern}"),
                        FileTarget::Unknown(source) => format!("?{source}"),
                    };
                    format!("{:?} {target}", file.access)
                })
                .collect();
            println!(
                "   {:?} [{}] via {via:?} sets {sets:?} files {files:?} urls {:?} escape {:?}",
                command.class,
                words.join(" "),
                command.urls,
                command.escape_option()
            );
        }
        for opaque in &analysis.opaque {
            println!("   OPAQUE {:?} {:?}", opaque.reason, opaque.text);
        }
    }
    Ok(())
}
