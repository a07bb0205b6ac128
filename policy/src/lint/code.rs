//! The codes of findings: stable, so that a finding can be looked up and talked about.

use std::fmt;

/// What kind of finding it is. The page on each is in `docs/lint.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// L0101: no command can be what the rule names.
    NeverMatches,
    /// L0102: the condition of the rule holds in no mode that is permitted.
    NeverHolds,
    /// L0103: an allow for a path whose change always needs a person.
    Protected,
    /// L0104: an allow that a lock of the team drops.
    Locked,
    /// L0105: a mode of sessions that the team does not permit.
    ModeNotPermitted,
    /// L0106: a rule with characters that nobody sees, or that look like others.
    Hidden,
    /// L0201: another rule with the same effect covers all that it covers.
    Covered,
    /// L0202: a stricter rule of the same or a lower layer covers all that it covers.
    Outranked,
    /// L0301: an allow for every command, file or call.
    Everything,
    /// L0302: an allow with a wildcard before the subcommand.
    WildcardBeforeSubcommand,
    /// L0303: an allow with a wildcard in the name of the program.
    WildcardInProgram,
    /// L0304: an allow for whatever an interpreter runs.
    Interpreter,
    /// L0305: an allow for a program that runs others.
    Wrapper,
    /// L0306: an allow for every subcommand.
    EverySubcommand,
    /// L0307: an allow for a program that sends what it is told anywhere.
    Network,
    /// L0308: an allow with an option that runs or writes what it names.
    ExecutingOption,
    /// L0309: an allow for all files of the project.
    WholeProject,
    /// L0310: an allow for the whole home folder.
    WholeHome,
    /// L0311: an allow for a place where keys and passwords are kept.
    Secrets,
    /// L0401: a stricter rule of a higher layer covers all that it covers.
    Contradicts,
    /// L0501: an allow that makes a deny hollow.
    Evaded,
    /// L0502: a deny by words that a command need not use.
    OtherWords,
}

impl Code {
    /// All codes, in their order.
    pub const ALL: [Self; 22] = [
        Self::NeverMatches,
        Self::NeverHolds,
        Self::Protected,
        Self::Locked,
        Self::ModeNotPermitted,
        Self::Hidden,
        Self::Covered,
        Self::Outranked,
        Self::Everything,
        Self::WildcardBeforeSubcommand,
        Self::WildcardInProgram,
        Self::Interpreter,
        Self::Wrapper,
        Self::EverySubcommand,
        Self::Network,
        Self::ExecutingOption,
        Self::WholeProject,
        Self::WholeHome,
        Self::Secrets,
        Self::Contradicts,
        Self::Evaded,
        Self::OtherWords,
    ];
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverMatches => "L0101",
            Self::NeverHolds => "L0102",
            Self::Protected => "L0103",
            Self::Locked => "L0104",
            Self::ModeNotPermitted => "L0105",
            Self::Hidden => "L0106",
            Self::Covered => "L0201",
            Self::Outranked => "L0202",
            Self::Everything => "L0301",
            Self::WildcardBeforeSubcommand => "L0302",
            Self::WildcardInProgram => "L0303",
            Self::Interpreter => "L0304",
            Self::Wrapper => "L0305",
            Self::EverySubcommand => "L0306",
            Self::Network => "L0307",
            Self::ExecutingOption => "L0308",
            Self::WholeProject => "L0309",
            Self::WholeHome => "L0310",
            Self::Secrets => "L0311",
            Self::Contradicts => "L0401",
            Self::Evaded => "L0501",
            Self::OtherWords => "L0502",
        })
    }
}
