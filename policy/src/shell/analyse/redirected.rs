//! Redirections: the files that they open, the connections, and the input that they give.

use super::{Socket, Stdin, Walk};
use crate::shell::{
    Access, Command, FileAccess, class, constant,
    expand::{self, State},
    reader::Read,
    syntax::{Piece, RawWord, Redirect, RedirectOperator},
    targets::Files,
};

impl Walk<'_> {
    /// Redirections of a compound command: a command without words holds their files, and this is its number.
    pub(super) fn compound_redirects(&mut self, redirects: &[Redirect], state: &State) -> Read<Option<usize>> {
        let (files, sockets, _) = self.redirections(redirects, state)?;
        let index = self.analysis.commands.len();
        let opens = !files.is_empty() || !sockets.is_empty();
        if opens {
            self.record(Command {
                text: String::new(),
                assignments: Vec::new(),
                words: Vec::new(),
                seen_through: self.seen.clone(),
                files,
                urls: sockets.iter().map(|socket| socket.url.clone()).collect(),
                sockets,
                class: class::classify(&[]),
                remote: state.remote,
                told: String::new(),
                named: Vec::new(),
                globs: Vec::new(),
                spelled_out: false,
            })?;
        }
        for redirect in redirects {
            self.redirect_pieces(redirect, state)?;
        }
        Ok(opens.then_some(index))
    }

    /// What the line says of an input that it gives, with each text that its variables may have.
    fn said(&mut self, redirect: &Redirect, state: &State) -> Read<String> {
        let mut said = constant::said(redirect);
        let pieces = match redirect {
            Redirect::Here { body, .. } => body.get().map(Vec::as_slice).unwrap_or_default(),
            Redirect::HereString { word, .. } => word.pieces.as_slice(),
            Redirect::File { .. } => return Ok(said),
        };
        let known = |piece: &Piece| matches!(piece, Piece::Plain(_) | Piece::Quoted(_));
        if pieces.iter().all(known) {
            return Ok(said);
        }
        let word = RawWord {
            pieces: pieces.to_vec(),
            ..RawWord::default()
        };
        let (_, value) = expand::assigned(&word, state, self.context, &mut self.budget)?;
        for choice in &value.choices {
            self.budget.spend_text(choice.text.len())?;
            said.push('\n');
            said.push_str(&choice.text);
        }
        Ok(said)
    }

    /// The files of redirections, the connections that they open, and the input they give.
    pub(super) fn redirections(
        &mut self,
        redirects: &[Redirect],
        state: &State,
    ) -> Read<(Vec<FileAccess>, Vec<Socket>, Option<Stdin>)> {
        let mut files = Files::new(state);
        files.redirection = true;
        let mut sockets = Vec::new();
        let mut stdin = None;
        for redirect in redirects {
            self.budget.spend(1)?;
            let (operator, target) = match redirect {
                Redirect::Here { stdin: false, .. } | Redirect::HereString { stdin: false, .. } => continue,
                Redirect::Here { .. } | Redirect::HereString { .. } => {
                    stdin = Some(Stdin::Given {
                        text: constant::script(redirect),
                        said: self.said(redirect, state)?,
                    });
                    continue;
                }
                Redirect::File {
                    operator,
                    target,
                    stdin: input,
                } => {
                    if *input {
                        stdin = Some(match target.flat().as_deref() {
                            Some("/dev/null") => Stdin::Nothing,
                            _ => Stdin::Unknown,
                        });
                    }
                    (operator, target)
                }
            };
            let accesses: &[Access] = match operator {
                RedirectOperator::Read => &[Access::Read],
                RedirectOperator::Write | RedirectOperator::Duplicate => &[Access::Write],
                RedirectOperator::ReadWrite => &[Access::Read, Access::Write],
            };
            for field in expand::expand(target, state, self.context, &mut self.budget)? {
                let text = field.text().unwrap_or_default();
                let descriptor = !text.is_empty() && text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit());
                if *operator == RedirectOperator::Duplicate && descriptor {
                    continue;
                }
                let (opened, only) = Socket::of_field(&field);
                // On another machine it is another one's connection, and still an address.
                sockets.extend(opened);
                if only {
                    continue;
                }
                for access in accesses {
                    files.field(&field, *access);
                }
            }
        }
        Ok((files.found, sockets, stdin))
    }
}
