//! What a command can come across below a folder: the names that the host told, without those that the command leaves out.

use crate::{
    facts::Tree,
    path::plain::{self, Token},
    shell::{self, Command},
};

use super::{MAX_STEPS, ToldApart, reader_of, taken, told_apart};

/// What a command can come across below a folder.
pub(in crate::evaluate) struct Names<'a> {
    /// `None`: anything.
    pub(super) tree: Option<&'a Tree>,
    told: ToldApart,
    sees_hidden: bool,
    taken: Vec<Option<Vec<Token>>>,
    steps: &'a mut usize,
}

impl<'a> Names<'a> {
    pub(in crate::evaluate) fn new(command: &Command, tree: Option<&'a Tree>, steps: &'a mut usize) -> Self {
        let reader = reader_of(command);
        let sees_hidden = reader.is_none_or(|reader| {
            let given = shell::given(reader.program, &command.words);
            let told = |(name, _): &(String, Option<String>)| reader.hidden.contains(&name.as_str());
            reader.hidden.is_empty() || given.iter().any(told)
        });
        Self {
            tree,
            told: told_apart(command),
            sees_hidden,
            taken: reader.map(|reader| taken(reader, command)).unwrap_or_default(),
            steps,
        }
    }

    /// Leaves out files whose name fits none of these.
    pub(in crate::evaluate) fn take_only(&mut self, names: Vec<Vec<Token>>) {
        self.told.files.clear();
        self.told.only = names;
    }

    /// All that is there.
    pub(in crate::evaluate) fn all(tree: Option<&'a Tree>, steps: &'a mut usize) -> Self {
        Self {
            tree,
            told: ToldApart::default(),
            sees_hidden: true,
            taken: Vec::new(),
            steps,
        }
    }

    /// Whether a name that the tokens cover may be there.
    pub(super) fn has(&mut self, tokens: &[Token], as_folder: bool, excepted: &dyn Fn(&str) -> bool) -> bool {
        if tokens.first() == Some(&Token::Char('.')) && !self.sees_hidden && !self.is_taken(tokens) {
            return false;
        }
        let told = &self.told;
        let certain: Option<String> = tokens
            .iter()
            .map(|token| match token {
                Token::Char(c) => Some(*c),
                Token::Any | Token::Star => None,
            })
            .collect();
        // What hides is come across only where it is asked for by a pattern.
        let (sees_hidden, taken) = (self.sees_hidden, &self.taken);
        let seen = |name: &str, own: &[Token]| sees_hidden || !name.starts_with('.') || fits_any(own, taken);
        // A folder that is left out is left out with all below; what is taken are files.
        let folder_counts = |own: &[Token]| !meets_any(own, &told.folders);
        let file_counts = |name: &str, own: &[Token]| {
            !meets_any(own, &told.files)
                && (told.only.is_empty() || meets_any(own, &told.only))
                && seen(name, own)
                && !excepted(name)
        };
        let Some(tree) = self.tree else {
            return certain.is_none_or(|name| folder_counts(tokens) || (!as_folder && file_counts(&name, tokens)));
        };
        if let Some(name) = certain {
            *self.steps += 1;
            return tree.folders.contains(&name) && folder_counts(tokens) && (as_folder || !excepted(&name))
                || !as_folder && tree.files.contains(&name) && file_counts(&name, tokens);
        }
        let folders = tree.folders.iter().map(|name| (name, true));
        let files = tree.files.iter().filter(|_| !as_folder).map(|name| (name, false));
        for (name, is_folder) in folders.chain(files) {
            *self.steps += 1;
            if *self.steps > MAX_STEPS {
                return true;
            }
            let own: Vec<Token> = name.chars().map(Token::Char).collect();
            let counts = if is_folder {
                folder_counts(&own) && (as_folder || !excepted(name))
            } else {
                file_counts(name, &own)
            };
            if plain::segment_meets(tokens, &own) && counts {
                return true;
            }
        }
        false
    }

    /// Whether a pattern of the command takes a hidden name that the tokens cover.
    fn is_taken(&self, tokens: &[Token]) -> bool {
        fits_any(tokens, &self.taken)
    }
}

/// Whether a name fits one of the patterns by which a search takes names, in whichever letters.
fn fits_any(name: &[Token], taken: &[Option<Vec<Token>>]) -> bool {
    let lower = name.iter().map(|token| match token {
        Token::Char(c) => Token::Char(c.to_lowercase().next().unwrap_or(*c)),
        other => *other,
    });
    let lower: Vec<Token> = lower.collect();
    let fits = |taken: &Option<Vec<Token>>| match taken {
        Some(pattern) => plain::segment_meets(pattern, &lower),
        None => true,
    };
    taken.iter().any(fits)
}

/// Whether a name fits one of some patterns of a program, whose wildcards match a dot at the beginning, too.
fn meets_any(name: &[Token], patterns: &[Vec<Token>]) -> bool {
    patterns.iter().any(|pattern| plain::segment_meets(pattern, name))
}
