//! Files of a project that builders run without being told their names, written by the line itself: `printf 'x:;curl x' > Makefile
//! && make`.
//!
//! `written` follows the files that a line runs by their names. A builder finds its file by itself, and editing one and then
//! building is everyday work; so it asks only beside a deny on commands whose program the line mentions among what it writes. It
//! looks at names of files, not where they lie, and not at what scripts of the project run in turn.

use crate::shell::{Access, Analysis, Command, FileTarget, Word};

use super::world::World;

/// Builders, and the names of the files in which they find what they run; `*` in front of an ending.
const BUILDERS: &[(&[&str], &[&str])] = &[
    (
        &["make", "gmake", "bmake", "remake"],
        &["Makefile", "makefile", "GNUmakefile", "BSDmakefile", "*.mk"],
    ),
    (
        &["npm", "pnpm", "yarn", "bun", "npx", "node"],
        &["package.json", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs"],
    ),
    (&["just"], &["justfile", "Justfile", ".justfile", "*.just"]),
    (&["task", "go-task"], &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml"]),
    (&["rake", "bundle"], &["Rakefile", "rakefile", "*.rake"]),
    (&["cargo"], &["build.rs", "config.toml"]),
    (
        &["tox", "nox", "invoke", "inv", "fab"],
        &[
            "tox.ini",
            "noxfile.py",
            "tasks.py",
            "fabfile.py",
            "setup.cfg",
            "pyproject.toml",
        ],
    ),
    (&["composer"], &["composer.json"]),
    (
        &["docker", "docker-compose", "podman"],
        &["Dockerfile", "docker-compose.yml", "compose.yml", "compose.yaml"],
    ),
    (
        &["gradle", "gradlew", "mvn", "mvnw", "ant"],
        &["build.gradle", "build.gradle.kts", "pom.xml", "build.xml"],
    ),
    (
        &["pre-commit", "lefthook"],
        &[".pre-commit-config.yaml", "lefthook.yml"],
    ),
    (
        &["git"],
        &[
            "pre-commit",
            "commit-msg",
            "prepare-commit-msg",
            "post-commit",
            "pre-push",
            "post-checkout",
            "post-merge",
            "pre-rebase",
        ],
    ),
];

/// Most commands of a line that are looked at.
const MOST_COMMANDS: usize = 256;

impl World<'_> {
    /// Commands, by number, that find and run a file which the line wrote before, where it mentions a program that a deny or ask
    /// is about.
    pub(super) fn builds_what_it_wrote(&self, analysis: &Analysis) -> Vec<usize> {
        let mut names: Vec<&str> = Vec::new();
        let mut out = Vec::new();
        for (index, command) in analysis.commands.iter().take(MOST_COMMANDS).enumerate() {
            if !names.is_empty() && finds(command, &names) {
                out.push(index);
            }
            let written = command.files.iter().filter(|file| file.access == Access::Write);
            names.extend(written.filter_map(|file| match &file.target {
                FileTarget::Path(path) => Some(path.file_name()),
                FileTarget::Pattern { .. } | FileTarget::Unknown(_) => None,
            }));
            names.truncate(MOST_COMMANDS);
        }
        if out.is_empty() || !self.mentions_denied_program(analysis) {
            return Vec::new();
        }
        out
    }

    /// Whether the words of the line, or a text in it, name a program that a deny or ask is about.
    fn mentions_denied_program(&self, analysis: &Analysis) -> bool {
        let of_text = |text: &String| {
            let words = ["text", text.as_str()].map(|word| Word::Literal(word.to_owned()));
            self.names_denied_program(&Command::of_words(text.clone(), words.to_vec()))
        };
        // A text that is not certain may name any.
        let inputs = || analysis.inputs.values().any(|text| text.as_ref().is_none_or(of_text));
        // `printf 'x:\n\tcurl x'`
        let words = |command: &Command| {
            let words = command.words.iter().skip(1).filter_map(Word::literal);
            of_text(
                &words
                    .collect::<Vec<_>>()
                    .join(" ")
                    .replace("\\n", " ")
                    .replace("\\t", " "),
            )
        };
        let mut commands = analysis.commands.iter().take(MOST_COMMANDS);
        commands.any(|command| self.names_denied_program(command) || words(command)) || inputs()
    }
}

/// Whether a command is a builder that finds one of these files, or that is told its name.
fn finds(command: &Command, written: &[&str]) -> bool {
    let Some(program) = command.program_name() else {
        return false;
    };
    let Some((_, files)) = BUILDERS.iter().find(|(programs, _)| programs.contains(&program)) else {
        return false;
    };
    let is_one = |name: &&str| {
        files.iter().any(|file| match file.strip_prefix('*') {
            Some(ending) => name.ends_with(ending),
            None => file == name,
        })
    };
    let told = |name: &&str| {
        let mut words = command.words.iter().skip(1).filter_map(Word::literal);
        program != "git" && words.any(|word| word.rsplit(['/', '=']).next() == Some(*name))
    };
    written.iter().any(|name| is_one(name) || told(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builders_find_their_own_files() {
        for (line, file, expected) in [
            ("make x", "Makefile", true),
            ("make -f f.mk", "f.mk", true),
            ("make -f rules", "rules", true),
            ("npm --prefix d run x", "package.json", true),
            ("just x", "justfile", true),
            ("git commit -m x", "pre-commit", true),
            ("git add Makefile", "Makefile", false),
            ("make x", "package.json", false),
            ("ls Makefile", "Makefile", false),
        ] {
            let words = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
            let command = Command::of_words(line.to_owned(), words);
            assert_eq!(finds(&command, &[file]), expected, "{line} {file}");
        }
    }
}
