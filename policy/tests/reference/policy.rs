//! What documents say beside rules, put together in the plainest code; and what decides instead of a person.

use portcullis_policy::{
    Action, DecidedBy, Effect, Layer, Mode, Verdict,
    facts::SandboxOffer,
    mode::{ActionClass, ClassifierReport, ClassifierVerdict, Guard},
    shell::{Analysis, Context, Word},
};

use super::{
    documents::Document,
    judge::{Judge, Part},
    rules::{Rule, Spelling},
};

/// The documents of all layers, as they count for one call.
#[derive(Clone, Copy)]
pub(crate) struct Policy<'a> {
    pub(crate) documents: &'a [Document],
    /// Whether the person trusts the project.
    pub(crate) trusted: bool,
}

fn in_project(layer: Layer) -> bool {
    matches!(layer, Layer::Project | Layer::Local)
}

impl<'a> Policy<'a> {
    /// Whether what widens counts in a document: not in a project that nobody trusts, and below the team not where it locks.
    fn widens(&self, document: &Document) -> bool {
        let of_the_team = document.layer >= Layer::Team;
        let locked = self.documents.iter().any(|document| document.says.managed_rules_only);
        (self.trusted || !in_project(document.layer)) && (of_the_team || !locked)
    }

    fn any(&self, says: impl Fn(&Document) -> bool) -> bool {
        self.documents.iter().any(says)
    }

    /// Documents whose controls count; they all do.
    pub(crate) fn controls(&self) -> impl Iterator<Item = &'a Document> {
        self.documents.iter()
    }

    /// Whether the session approved every configured MCP server.
    pub(crate) fn approves_every_server(&self) -> bool {
        self.any(|document| document.says.approve_mcp_servers && self.widens(document))
    }

    /// Off only if the team says so and nowhere the opposite.
    pub(crate) fn agent_directories_off(&self) -> bool {
        self.any(|document| document.says.agent_directories == Some(false))
            && !self.any(|document| document.says.agent_directories == Some(true))
    }

    pub(crate) fn lists_origins(&self) -> bool {
        self.any(|document| document.says.origins.is_some())
    }

    /// Auto exists only if user or team say so and nobody the opposite.
    fn auto_exists(&self) -> bool {
        self.any(|document| document.says.auto == Some(true) && !in_project(document.layer) && self.widens(document))
            && !self.any(|document| document.says.auto == Some(false))
    }

    fn protects(&self, guard: Guard, mode: Mode) -> bool {
        let number = Guard::ALL.iter().position(|own| *own == guard).unwrap();
        let on = self.any(|document| document.says.protections[number] == Some(true));
        let off = self.any(|document| {
            document.says.protections[number] == Some(false) && !in_project(document.layer) && self.widens(document)
        });
        let cursors = [
            Mode::AutoReview,
            Mode::Allowlist,
            Mode::AllowlistSandbox,
            Mode::RunEverything,
        ];
        on || (cursors.contains(&mode) && !off)
    }

    /// Whether a command in the sandbox can connect to somebody outside: the team's lists, if there are any, say so alone.
    fn reaches_sockets(&self) -> bool {
        let lists_one = |document: &Document| document.says.sockets == Some(true);
        if self.any(|document| document.layer >= Layer::Team && document.says.sockets.is_some()) {
            self.any(|document| document.layer >= Layer::Team && lists_one(document))
        } else {
            self.any(|document| lists_one(document) && self.widens(document))
        }
    }

    fn allows_if_sandboxed(&self) -> bool {
        self.any(|document| document.says.allow_if_sandboxed == Some(true) && self.widens(document))
            && !self.any(|document| document.says.allow_if_sandboxed == Some(false))
    }

    /// The mode that counts. Auto that does not exist is the default mode; a session is in bypass or run-everything only if
    /// it started in it.
    pub(crate) fn mode_in_force(&self, stated: Mode, started_in: Option<Mode>) -> Mode {
        match stated {
            Mode::Auto if !self.auto_exists() => Mode::Default,
            Mode::Bypass if started_in.is_some_and(|start| start != Mode::Bypass) => Mode::Default,
            Mode::RunEverything if started_in.is_some_and(|start| start != Mode::RunEverything) => Mode::Allowlist,
            other => other,
        }
    }

    /// The rules that hold for a call in a mode.
    pub(crate) fn rules_that_hold(&self, mode: Mode) -> Vec<Rule> {
        let classifier = matches!(mode, Mode::Auto | Mode::AutoReview);
        let of_the_team =
            |says: fn(&Document) -> bool| self.any(|document| document.layer >= Layer::Team && says(document));
        let (terminal, mcp) = (
            of_the_team(|document| document.says.terminal_list),
            of_the_team(|document| document.says.mcp_list),
        );
        let mut out = Vec::new();
        for document in self.documents {
            for rule in &document.rules {
                let allow = rule.effect == Effect::Allow;
                // Where the team has a list, the lists of others add nothing.
                let replaced = match rule.spelling {
                    Spelling::Terminal => terminal && document.layer < Layer::Team,
                    Spelling::McpList => mcp && document.layer < Layer::Team,
                    _ => false,
                };
                let elsewhere = rule.modes.as_ref().is_some_and(|modes| !modes.contains(&mode));
                let suspended = classifier && allow && rule.is_broad();
                if !((allow && !self.widens(document)) || replaced || elsewhere || suspended) {
                    out.push(rule.clone());
                }
            }
        }
        out
    }
}

impl Judge<'_> {
    /// Whether the team does not permit the mode that the agent says, or the one in force.
    pub(crate) fn refuses_mode(&self, stated: Mode) -> bool {
        let permitted = |mode: Mode| {
            let mut said = self
                .policy
                .documents
                .iter()
                .filter_map(|document| document.says.permitted.as_ref());
            said.all(|permitted| permitted.contains(&mode))
        };
        !permitted(stated) || !permitted(self.request.mode)
    }

    /// What the classifier says counts where the mode leaves a question to it.
    pub(crate) fn ask_classifier(&self, part: &mut Part) {
        let left_to_it = part
            .class
            .is_some_and(|class| self.request.mode.answer(class).asks_classifier());
        if part.by != DecidedBy::Mode || part.verdict != Verdict::Ask || !left_to_it {
            return;
        }
        (part.verdict, part.by) = match &self.request.session.classifier {
            ClassifierReport::Off | ClassifierReport::NotAsked => (Verdict::Ask, DecidedBy::Mode),
            ClassifierReport::Verdict(ClassifierVerdict::Allow) => (Verdict::Allow, DecidedBy::Classifier),
            ClassifierReport::Verdict(ClassifierVerdict::Deny { .. }) => (Verdict::Deny, DecidedBy::Classifier),
            ClassifierReport::Verdict(ClassifierVerdict::Ask { .. })
            | ClassifierReport::BlockedBefore
            | ClassifierReport::Paused(_) => (Verdict::Ask, DecidedBy::Classifier),
            ClassifierReport::Failed { .. } => (Verdict::Ask, DecidedBy::Failure),
        };
    }

    /// A protection turns an allow of the mode, the sandbox or the classifier into a question; never one of a rule.
    pub(crate) fn guard(&self, part: &mut Part) {
        let unruled = [DecidedBy::Mode, DecidedBy::Sandbox, DecidedBy::Classifier].contains(&part.by);
        let on = part
            .guard
            .is_some_and(|guard| self.policy.protects(guard, self.request.mode));
        if unruled && on && part.verdict == Verdict::Allow {
            part.verdict = Verdict::Ask;
            part.by = DecidedBy::Protection;
        }
    }

    fn sandbox_is_offered(&self) -> bool {
        self.request.facts.vouched && self.request.facts.sandbox == SandboxOffer::Full
    }

    /// Whether a line can run in the sandbox as far as its words tell: all of it is understood, and nothing in it needs other
    /// rights or the network. The generator has `sudo`, addresses, and `git push`.
    fn fits_sandbox(analysis: &Analysis) -> bool {
        let sudo = |context: &Context| matches!(context, Context::Changing(_));
        let misfit = analysis.commands.iter().any(|command| {
            let name = command.program_name();
            let mut words = command.words.iter().skip(1).filter_map(Word::literal);
            let push =
                words.clone().next() == Some("push") || (words.next() == Some("-C") && words.nth(1) == Some("push"));
            command.seen_through.iter().any(sudo)
                || matches!(name, Some("sudo" | "shutdown" | "portcullis"))
                || !command.urls.is_empty()
                || (name == Some("git") && push)
        });
        analysis.opaque.is_empty() && !misfit
    }

    /// Where mode or policy say so, what would be asked for because no rule allows it is allowed inside the sandbox: all of a
    /// line or nothing. Answers whether it was.
    pub(crate) fn sandbox_first(&self, analysis: &Analysis, parts: &mut [Part]) -> bool {
        let mode = self.request.mode;
        let by_mode = matches!(mode, Mode::AutoReview | Mode::AllowlistSandbox);
        let by_policy = matches!(mode, Mode::Default | Mode::AcceptEdits | Mode::Auto | Mode::Allowlist)
            && self.policy.allows_if_sandboxed();
        let lifted = |part: &Part| {
            let class = matches!(
                part.class,
                Some(
                    ActionClass::OtherCommand
                        | ActionClass::FileCommand
                        | ActionClass::ReadOnlyCommand
                        | ActionClass::EditInside
                )
            );
            part.verdict == Verdict::Ask && part.by == DecidedBy::Mode && class
        };
        let answered = |part: &Part| part.verdict == Verdict::Allow || lifted(part);
        let sandboxed = (by_mode || by_policy)
            && Self::fits_sandbox(analysis)
            && !self.policy.reaches_sockets()
            && self.sandbox_is_offered()
            && parts.iter().all(answered)
            && parts.iter().any(lifted);
        for part in parts.iter_mut().filter(|part| sandboxed && lifted(part)) {
            part.verdict = Verdict::Allow;
            part.by = DecidedBy::Sandbox;
        }
        sandboxed
    }

    /// Where policy wants every command in the sandbox, an allow holds there only, and where none is offered not at all.
    pub(crate) fn sandbox_always(&self, parts: &mut [Part], in_sandbox: &mut bool) {
        let wanted = self.policy.any(|document| document.says.sandbox_always);
        let shell = matches!(self.request.call.action, Action::Shell { .. });
        if !wanted || !shell || self.request.sandboxed_execution {
            return;
        }
        if self.sandbox_is_offered() {
            *in_sandbox = true;
            return;
        }
        for part in parts.iter_mut().filter(|part| part.verdict == Verdict::Allow) {
            part.verdict = Verdict::Ask;
            part.by = DecidedBy::Control;
        }
    }
}
