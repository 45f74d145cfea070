//! Parses a command line into the command, its flags and its arguments.
//!
//! Flags may stand anywhere before `--`. Messages are worded as in programs that are written in Go,
//! because scripts know them.

mod suggest;

use std::slice;

use crate::{
    duration,
    failure::Failure,
    help,
    output::quoted,
    tree::{self, Command, Flag, Kind, PROGRAM, ROOT},
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
    let Found {
        command,
        path,
        arguments,
    } = find(words)?;
    let mut matches = Matches {
        command,
        path,
        arguments,
        flags: Vec::new(),
    };
    matches.flags = flags(words, &matches)
        .map_err(|failure| failure.with_hint(format!("See '{} --help'.", matches.full_name())))?;
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

struct Found {
    command: &'static Command,
    path: Vec<&'static str>,
    arguments: Vec<String>,
}

/// Follows the words down the tree. Flags and their values are skipped.
fn find(words: &[String]) -> Result<Found, Failure> {
    let mut command: &'static Command = &ROOT;
    let mut path = Vec::new();
    let mut arguments = Vec::new();
    let mut words = words.iter();
    let mut only_arguments = false;
    while let Some(word) = words.next() {
        if !only_arguments && word == "--" {
            only_arguments = true;
        } else if !only_arguments && is_flag(word) {
            if takes_next(word, &path, command) {
                words.next();
            }
        } else if !command.is_group() {
            arguments.push(word.clone());
        } else if let Some(child) = command.child(word).filter(|_| !only_arguments) {
            command = child;
            path.push(child.name);
        } else {
            return Err(unknown_command(word, &path, command));
        }
    }
    Ok(Found {
        command,
        path,
        arguments,
    })
}

fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Returns whether the next word is the value of this flag. The command may come later on the line,
/// so flags of subcommands count, too.
fn takes_next(word: &str, path: &[&str], command: &'static Command) -> bool {
    if let Some(name) = word.strip_prefix("--") {
        return !name.contains('=')
            && (flag_of(path, command, |flag| flag.name == name)
                .or_else(|| below(command, &|flag| flag.name == name))
                .is_some_and(Flag::takes_next));
    }
    let mut letters = word[1..].chars();
    while let Some(letter) = letters.next() {
        let flag = flag_of(path, command, |flag| flag.short == Some(letter))
            .or_else(|| below(command, &|flag| flag.short == Some(letter)));
        match flag {
            Some(flag) if flag.takes_next() => return letters.as_str().is_empty(),
            Some(_) if !letters.as_str().starts_with('=') => {}
            _ => return false,
        }
    }
    false
}

fn flag_of(
    path: &[&str],
    command: &'static Command,
    is_meant: impl Fn(&Flag) -> bool,
) -> Option<&'static Flag> {
    command
        .flags
        .iter()
        .chain(tree::inherited(path))
        .find(|flag| is_meant(flag))
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

/// Parses the flags of the command.
fn flags(words: &[String], matches: &Matches) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if let Some(body) = word.strip_prefix("--") {
            found.push(long(body, word, &mut words, matches)?);
        } else if is_flag(word) {
            cluster(&word[1..], &mut words, matches, &mut found)?;
        }
    }
    Ok(found)
}

fn long(
    body: &str,
    word: &str,
    words: &mut slice::Iter<'_, String>,
    matches: &Matches,
) -> Result<(&'static str, String), Failure> {
    let (name, value) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (body, None),
    };
    if name.is_empty() || name.starts_with('-') {
        return Err(Failure::usage(format!("bad flag syntax: {word}")));
    }
    let flag = flag_of(&matches.path, matches.command, |flag| flag.name == name)
        .ok_or_else(|| Failure::usage(format!("unknown flag: --{name}")))?;
    let value = match (value, bare(flag)) {
        (Some(value), _) => value,
        (None, Some(bare)) => bare.to_owned(),
        (None, None) => words
            .next()
            .cloned()
            .ok_or_else(|| Failure::usage(format!("flag needs an argument: --{name}")))?,
    };
    check(flag, &value)?;
    Ok((flag.name, value))
}

/// Reads `-v`, `-vo json`, `-ojson` or `-o=json`.
fn cluster(
    letters: &str,
    words: &mut slice::Iter<'_, String>,
    matches: &Matches,
    found: &mut Vec<(&'static str, String)>,
) -> Result<(), Failure> {
    let mut rest = letters;
    while let Some(letter) = rest.chars().next() {
        let from_here = rest;
        rest = &rest[letter.len_utf8()..];
        let flag = flag_of(&matches.path, matches.command, |flag| {
            flag.short == Some(letter)
        })
        .ok_or_else(|| {
            Failure::usage(format!(
                "unknown shorthand flag: '{letter}' in -{from_here}"
            ))
        })?;
        let value = match (rest.strip_prefix('='), bare(flag)) {
            (Some(value), _) => Some(value.to_owned()),
            (None, Some(bare)) => {
                found.push((flag.name, bare.to_owned()));
                continue;
            }
            (None, None) if !rest.is_empty() => Some(rest.to_owned()),
            (None, None) => words.next().cloned(),
        };
        let value = value.ok_or_else(|| {
            Failure::usage(format!(
                "flag needs an argument: '{letter}' in -{from_here}"
            ))
        })?;
        check(flag, &value)?;
        found.push((flag.name, value));
        return Ok(());
    }
    Ok(())
}

/// Returns the value of a flag that is given without one.
fn bare(flag: &Flag) -> Option<&'static str> {
    match flag.value {
        Kind::Switch => Some("true"),
        Kind::Optional(bare) => Some(bare),
        Kind::Text(_) | Kind::Integer(_) | Kind::Duration => None,
    }
}

fn check(flag: &Flag, value: &str) -> Result<(), Failure> {
    let reason = match flag.value {
        Kind::Text(_) | Kind::Optional(_) => None,
        Kind::Switch => {
            (!matches!(value, "true" | "false")).then(|| "want true or false".to_owned())
        }
        Kind::Integer(_) => value
            .parse::<i64>()
            .err()
            .map(|_| "want a whole number".to_owned()),
        Kind::Duration => duration::parse(value).err(),
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
