//! Parses a command line into the command, its flags and its arguments.
//!
//! Flags may stand anywhere before `--`, even before the command that has them. Messages are worded
//! as in programs that are written in Go, because scripts know them.
//!
//! The parser of the servers, [`ziggurat_runtime::flags`], cannot be shared: a word with one dash is
//! one flag there and several letters here, the servers have no command below a command, and of this
//! file they share the loop over the words only. `clap` takes flags of a command only after its
//! words, and its errors lack the letters that a message here quotes (`'z' in -vz`).

mod suggest;

use std::slice;

use crate::{
    duration,
    failure::Failure,
    output::quoted,
    tree::{self, Command, Flag, PROGRAM, ROOT, ValueKind, help},
};

/// A parsed command line.
#[derive(Clone, Debug)]
pub(crate) struct Matches {
    pub(crate) command: &'static Command,
    /// The words of the command.
    pub(crate) path: Vec<&'static str>,
    /// The words that are not flags.
    pub(crate) arguments: Vec<String>,
    flags: Vec<(&'static str, String)>,
}

// === impl Matches ===

impl Matches {
    /// Returns the value of a flag; the last one if it is repeated.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        self.values(flag).last()
    }

    /// Returns all values of a flag, in the given order.
    pub(crate) fn values<'a>(&'a self, flag: &str) -> impl Iterator<Item = &'a str> {
        self.flags
            .iter()
            .filter(move |(name, _)| *name == flag)
            .map(|(_, value)| value.as_str())
    }

    /// Returns whether a flag without a value is on.
    pub(crate) fn is_on(&self, flag: &str) -> bool {
        self.value(flag) == Some("true")
    }

    /// Returns an argument that the count of arguments guarantees.
    pub(crate) fn argument(&self, at: usize) -> &str {
        self.arguments.get(at).map_or("", String::as_str)
    }

    /// Returns the command as it is typed, with the program's name.
    pub(crate) fn full_name(&self) -> String {
        full_name(&self.path)
    }
}

/// Finds the command and parses its flags. Arguments are not counted and required flags not checked
/// yet, because help takes precedence.
///
/// # Errors
///
/// Fails if a word is not a command, or a flag is unknown or invalid: exit 2.
pub(crate) fn parse(words: &[String]) -> Result<Matches, Failure> {
    let mut matches = Matches {
        command: &ROOT,
        path: Vec::new(),
        arguments: Vec::new(),
        flags: Vec::new(),
    };
    let mut given = Vec::new();
    let mut words = words.iter();
    let mut only_arguments = false;
    while let Some(word) = words.next() {
        if !only_arguments && word == "--" {
            only_arguments = true;
        } else if !only_arguments && is_flag(word) {
            read(word, &mut words, &matches, &mut given);
        } else if !matches.command.is_group() {
            matches.arguments.push(word.clone());
        } else if let Some(child) = matches.command.child(word).filter(|_| !only_arguments) {
            matches.command = child;
            matches.path.push(child.name);
        } else {
            return Err(unknown_command(word, &matches.path, matches.command));
        }
    }
    for flag in given {
        let flag = flag.of(&matches).map_err(|failure| {
            failure.with_hint(format!("See '{} --help'.", matches.full_name()))
        })?;
        matches.flags.push(flag);
    }
    Ok(matches)
}

/// Checks the number of arguments.
///
/// # Errors
///
/// Fails if there are too few or too many: exit 2.
pub(crate) fn count(matches: &Matches) -> Result<(), Failure> {
    let (fewest, most) = matches.command.argument_range();
    let received = matches.arguments.len();
    if received >= fewest && most.is_none_or(|most| received <= most) {
        return Ok(());
    }
    let accepted = match most {
        Some(most) if most == fewest => format!("accepts {most} arg(s)"),
        Some(most) if fewest == 0 => format!("accepts at most {most} arg(s)"),
        Some(most) => format!("accepts between {fewest} and {most} arg(s)"),
        None => format!("requires at least {fewest} arg(s)"),
    };
    let failure = Failure::usage(format!("{accepted}, received {received}"));
    Err(failure.with_hint(usage(matches)))
}

/// Checks that required flags are given.
///
/// # Errors
///
/// Fails with the names of all that are missing: exit 2.
pub(crate) fn require(matches: &Matches) -> Result<(), Failure> {
    let mut missing: Vec<String> = matches
        .command
        .flags
        .iter()
        .filter(|flag| flag.is_required && matches.value(flag.name).is_none())
        .map(|flag| quoted(flag.name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort();
    let failure = Failure::usage(format!("required flag(s) {} not set", missing.join(", ")));
    Err(failure.with_hint(usage(matches)))
}

/// Returns one line about the usage of a command.
fn usage(matches: &Matches) -> String {
    let line = help::usage(&matches.path, matches.command);
    format!("Usage: {line} (see --help)")
}

/// Returns the command with these words, for help.
pub(crate) fn command_of(words: &[String]) -> Option<(Vec<&'static str>, &'static Command)> {
    let mut command: &Command = &ROOT;
    let mut path = Vec::new();
    for word in words {
        command = command.child(word)?;
        path.push(command.name);
    }
    Some((path, command))
}

/// Returns the words of a command with the program's name.
pub(crate) fn full_name(path: &[&str]) -> String {
    let mut name = PROGRAM.to_owned();
    for word in path {
        name.push(' ');
        name.push_str(word);
    }
    name
}

/// Returns whether a word is a flag, or several letters of flags.
pub(crate) fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Returns the flags that a command takes.
pub(crate) fn known(
    path: &[&str],
    command: &'static Command,
) -> impl Iterator<Item = &'static Flag> + use<> {
    command.flags.iter().chain(tree::inherited(path))
}

fn below(command: &'static Command, is_meant: &dyn Fn(&Flag) -> bool) -> Option<&'static Flag> {
    command.children.iter().find_map(|child| {
        let mut own = child.flags.iter().chain(child.shared);
        own.find(|flag| is_meant(flag))
            .or_else(|| below(child, is_meant))
    })
}

fn unknown_command(word: &str, path: &[&str], command: &'static Command) -> Failure {
    let name = full_name(path);
    if path == ["platform"] && matches!(word, "byoc" | "managed") {
        return Failure::usage(format!(
            "unknown command {} for {}: this program manages accounts and has no commands for \
             infrastructure; \"{name} api\" calls any path of a platform that serves them",
            quoted(word),
            quoted(&name)
        ));
    }
    Failure::usage(format!(
        "unknown command {} for {}{}",
        quoted(word),
        quoted(&name),
        suggest::candidates(word, command)
    ))
}

/// A flag on the command line, before the command is known.
struct Given {
    /// Its name, if any command has it.
    name: Option<&'static str>,
    /// Its form in messages: `--name`, or `'v' in -vo`.
    shown: String,
    /// Its value; `None` if the line ends before it.
    value: Option<String>,
}

// === impl Given ===

impl Given {
    /// Returns the name and the value, if the command takes the flag.
    fn of(self, matches: &Matches) -> Result<(&'static str, String), Failure> {
        let Self { name, shown, value } = self;
        let mut known = known(&matches.path, matches.command);
        let Some(flag) = known.find(|flag| Some(flag.name) == name) else {
            return Err(Failure::usage(match shown.strip_prefix("--") {
                Some(name) if name.starts_with(['-', '=']) => format!("bad flag syntax: {shown}"),
                Some(_) => format!("unknown flag: {shown}"),
                None => format!("unknown shorthand flag: {shown}"),
            }));
        };
        let missing = || Failure::usage(format!("flag needs an argument: {shown}"));
        let value = value.ok_or_else(missing)?;
        check(flag, &value)?;
        Ok((flag.name, value))
    }
}

/// Reads `--name`, `--name=value`, or letters: `-v`, `-vo json`, `-ojson` or `-o=json`.
///
/// The command may come later on the line, so flags of subcommands count, too.
fn read(
    word: &str,
    words: &mut slice::Iter<'_, String>,
    matches: &Matches,
    given: &mut Vec<Given>,
) {
    let found = |is_meant: &dyn Fn(&Flag) -> bool| {
        let mut known = known(&matches.path, matches.command);
        let own = known.find(|flag| is_meant(flag));
        own.or_else(|| below(matches.command, is_meant))
    };
    let mut push = |flag: Option<&Flag>, shown, value: Option<&str>| {
        let next = |flag: &Flag| match flag.value {
            ValueKind::Switch => Some("true".to_owned()),
            ValueKind::Optional(bare) => Some(bare.to_owned()),
            ValueKind::Text(_) | ValueKind::Integer(_) | ValueKind::Duration => {
                words.next().cloned()
            }
        };
        let value = value.map(str::to_owned);
        given.push(Given {
            name: flag.map(|flag| flag.name),
            shown,
            value: value.or_else(|| flag.and_then(next)),
        });
    };
    if let Some(body) = word.strip_prefix("--") {
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        let shown = if name.is_empty() || name.starts_with('-') {
            word.to_owned()
        } else {
            format!("--{name}")
        };
        push(found(&|flag| flag.name == name), shown, value);
        return;
    }
    let mut rest = &word[1..];
    while let Some(letter) = rest.chars().next() {
        let shown = format!("'{letter}' in -{rest}");
        rest = &rest[letter.len_utf8()..];
        let flag = found(&|flag| flag.short == Some(letter));
        let attached = Some(rest).filter(|it| !it.is_empty() && flag.is_some_and(Flag::takes_next));
        let value = rest.strip_prefix('=').or(attached);
        push(flag, shown, value);
        if value.is_some() || flag.is_none_or(Flag::takes_next) {
            return;
        }
    }
}

fn check(flag: &Flag, value: &str) -> Result<(), Failure> {
    let reason = match flag.value {
        ValueKind::Text(_) | ValueKind::Optional(_) => None,
        ValueKind::Switch => {
            (!matches!(value, "true" | "false")).then(|| "want true or false".to_owned())
        }
        ValueKind::Integer(_) => value
            .parse::<i64>()
            .err()
            .map(|_| "want a whole number".to_owned()),
        ValueKind::Duration => duration::parse(value).err(),
    };
    let Some(reason) = reason else {
        return Ok(());
    };
    let name = match flag.short {
        Some(short) => format!("-{short}, --{}", flag.name),
        None => format!("--{}", flag.name),
    };
    Err(Failure::usage(format!(
        "invalid argument {} for {} flag: {reason}",
        quoted(value),
        quoted(&name)
    )))
}

#[cfg(test)]
mod tests;
