//! The tree of commands.
//!
//! The parser, help, the manual pages, completion, the reference for language models and the list
//! for scripts all read it, so they always agree.

mod account;
pub(crate) mod completion;
mod flags;
pub(crate) mod help;
pub(crate) mod parser;
mod platform;
pub(crate) mod reference;
mod root;

pub(crate) use self::{
    flags::{CONNECTION, DRY_RUN, GLOBAL},
    root::ROOT,
};

/// A command or a group of commands.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// Other names, which are not listed.
    pub(crate) aliases: &'static [&'static str],
    /// One line.
    pub(crate) summary: &'static str,
    /// A paragraph.
    pub(crate) about: &'static str,
    /// Effect of each example, and its line.
    pub(crate) examples: &'static [(&'static str, &'static str)],
    pub(crate) arguments: &'static [Argument],
    /// Flags of only this command.
    pub(crate) flags: &'static [Flag],
    /// Flags of this command and all below it.
    pub(crate) shared: &'static [Flag],
    pub(crate) children: &'static [Command],
    /// Its action; `None` for a group, which only prints help.
    pub(crate) action: Option<Action>,
    pub(crate) output: Output,
    /// Set if it is not listed anywhere.
    pub(crate) is_hidden: bool,
}

/// A positional argument.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) takes: Takes,
}

/// Number of words that an argument takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Takes {
    One,
    AtMostOne,
    Any,
}

/// A flag.
#[derive(Debug)]
pub(crate) struct Flag {
    /// The long name, without dashes.
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) value: ValueKind,
    /// Default value, as text for the help.
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) is_required: bool,
    pub(crate) is_repeatable: bool,
}

/// Type of a flag's value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ValueKind {
    /// No value, or `=true` and `=false`.
    Switch,
    /// Text, with its name in the help.
    Text(&'static str),
    /// A whole number.
    Integer(&'static str),
    /// A duration.
    Duration,
    /// No value, or one after `=`; this is the value without `=`.
    Optional(&'static str),
}

/// Output of a command on standard output. The names of members are separated by spaces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Output {
    /// No output.
    None,
    /// Text without members.
    Text,
    /// One object with these members.
    Record(&'static str),
    /// A list of objects with these members.
    List(&'static str),
    /// The response of the platform, unchanged.
    Free,
}

/// Action of a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    Api,
    AuthLogin,
    AuthLogout,
    AuthStatus,
    AuthWhoami,
    ClientCreate,
    ClientDelete,
    ClientGet,
    ClientList,
    ClientUpdate,
    Commands,
    CompleteWords,
    CompletionInstall,
    CompletionScript(Shell),
    CompletionUninstall,
    Doctor,
    Help,
    InviteAccept,
    InviteCreate,
    InviteDelete,
    InviteGet,
    InviteList,
    Llms,
    Man,
    MembershipDelete,
    MembershipList,
    PlatformDoctor,
    ProfileDelete,
    ProfileList,
    ProfileShow,
    ProfileUse,
    TenantGet,
    TenantList,
    TenantUpdate,
    Version,
}

/// A shell with completion.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shell {
    Bash,
    Fish,
    Power,
    Zsh,
}

/// Defaults of a command.
const BLANK: Command = Command {
    name: "",
    aliases: &[],
    summary: "",
    about: "",
    examples: &[],
    arguments: &[],
    flags: &[],
    shared: &[],
    children: &[],
    action: None,
    output: Output::None,
    is_hidden: false,
};

/// The program's name.
pub(crate) const PROGRAM: &str = "ziggurat";

/// The program's version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

// === impl Command ===

impl Command {
    /// Returns the subcommand with this name or alias.
    pub(crate) fn child(&self, name: &str) -> Option<&'static Command> {
        self.children
            .iter()
            .find(|child| child.name == name || child.aliases.contains(&name))
    }

    /// Returns the listed subcommands.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &'static Command> {
        self.children.iter().filter(|child| !child.is_hidden)
    }

    /// Returns whether it has subcommands.
    pub(crate) fn is_group(&self) -> bool {
        !self.children.is_empty()
    }

    /// Returns its own flags, and those it shares with the commands below it.
    pub(crate) fn own_flags(&self) -> Vec<&'static Flag> {
        self.flags.iter().chain(self.shared).collect()
    }

    /// Returns whether it changes data on the platform: these commands have a dry run.
    pub(crate) fn writes(&self) -> bool {
        self.flags.iter().any(|flag| flag.name == DRY_RUN.name)
    }

    /// Returns the minimum and the maximum number of arguments.
    pub(crate) fn argument_range(&self) -> (usize, Option<usize>) {
        let fewest = self
            .arguments
            .iter()
            .filter(|argument| argument.takes == Takes::One)
            .count();
        let is_open = self.arguments.iter().any(|a| a.takes == Takes::Any);
        (fewest, (!is_open).then_some(self.arguments.len()))
    }
}

// === impl Argument ===

impl Argument {
    const fn one(name: &'static str, meaning: &'static str) -> Self {
        let takes = Takes::One;
        Self {
            name,
            meaning,
            takes,
        }
    }

    const fn any(name: &'static str, meaning: &'static str) -> Self {
        let takes = Takes::Any;
        Self {
            name,
            meaning,
            takes,
        }
    }
}

// === impl Flag ===

impl Flag {
    /// Creates a flag without a value.
    const fn switch(name: &'static str, meaning: &'static str) -> Self {
        Self::new(name, ValueKind::Switch, meaning)
    }

    /// Creates a flag with text.
    const fn text(name: &'static str, value: &'static str, meaning: &'static str) -> Self {
        Self::new(name, ValueKind::Text(value), meaning)
    }

    const fn new(name: &'static str, value: ValueKind, meaning: &'static str) -> Self {
        Self {
            name,
            short: None,
            value,
            default: "",
            meaning,
            is_required: false,
            is_repeatable: false,
        }
    }

    const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    const fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Returns whether the next word is its value.
    pub(crate) fn takes_next(&self) -> bool {
        matches!(
            self.value,
            ValueKind::Text(_) | ValueKind::Integer(_) | ValueKind::Duration
        )
    }
}

// === impl ValueKind ===

impl ValueKind {
    /// Returns the name of the type, for scripts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Switch => "bool",
            Self::Text(_) | Self::Optional(_) => "string",
            Self::Integer(_) => "int",
            Self::Duration => "duration",
        }
    }
}

// === impl Output ===

impl Output {
    /// Returns the names of the members.
    pub(crate) fn members(self) -> Vec<&'static str> {
        match self {
            Self::Record(members) | Self::List(members) => members.split(' ').collect(),
            Self::None | Self::Text | Self::Free => Vec::new(),
        }
    }
}

// === impl Shell ===

impl Shell {
    /// Every shell.
    pub(crate) const ALL: [Self; 4] = [Self::Bash, Self::Fish, Self::Power, Self::Zsh];

    /// Returns the name of the shell's program.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Fish => "fish",
            Self::Power => "powershell",
            Self::Zsh => "zsh",
        }
    }
}

/// Returns every command with an action, and its words, in the order of the tree.
pub(crate) fn leaves() -> Vec<(Vec<&'static str>, &'static Command)> {
    commands()
        .into_iter()
        .filter(|(_, command)| command.action.is_some())
        .collect()
}

/// Returns every listed command and group, the root first.
pub(crate) fn commands() -> Vec<(Vec<&'static str>, &'static Command)> {
    fn walk(
        path: &[&'static str],
        command: &'static Command,
        found: &mut Vec<(Vec<&'static str>, &'static Command)>,
    ) {
        found.push((path.to_vec(), command));
        for child in command.listed() {
            let mut below = path.to_vec();
            below.push(child.name);
            walk(&below, child, found);
        }
    }
    let mut found = Vec::new();
    walk(&[], &ROOT, &mut found);
    found
}

/// Returns the flags that a command inherits from its parent groups, nearest last.
pub(crate) fn above(path: &[&str]) -> Vec<&'static Flag> {
    let above = path.split_last().map(|(_, above)| inherited(above));
    above.unwrap_or_default()
}

/// Returns the flags that are shared by the command with these words and its parent groups, nearest
/// last.
pub(crate) fn inherited(path: &[&str]) -> Vec<&'static Flag> {
    let mut flags: Vec<&Flag> = Vec::new();
    let mut command: &Command = &ROOT;
    flags.extend(command.shared);
    for name in path {
        let Some(child) = command.child(name) else {
            break;
        };
        command = child;
        flags.extend(command.shared);
    }
    flags
}
