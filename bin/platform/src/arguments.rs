//! The command line.
//!
//! Flags have one dash or two and may stand anywhere; a value follows `=` or is the next word. All
//! other words are a command and its argument.

mod commands;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
};

use thiserror::Error;
use ziggurat_runtime::flags::{split, without_dashes};

pub(crate) use self::commands::Task;
use self::commands::{COMMANDS, Command, Flag, GLOBAL};

/// A parsed command line.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) task: Task,
    /// Argument of the command, if it takes one.
    pub(crate) about: Option<String>,
    flags: Flags,
}

/// The given flags; of a repeated flag, the last one counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags(BTreeMap<&'static str, String>);

/// Reasons to refuse a command line. The message is followed by a pointer to the help.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("flag provided but not defined: -{0}")]
    Unknown(String),
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    #[error("flag needs an argument: -{0}")]
    NoValue(&'static str),
    #[error("-{0} takes no value")]
    Switch(&'static str),
    #[error("-{flag} is not for {command}")]
    NotHere { flag: &'static str, command: String },
    #[error("{command} needs -{flag}")]
    Missing { command: String, flag: &'static str },
    #[error("{command} needs {about}")]
    NoAbout {
        command: String,
        about: &'static str,
    },
    #[error("unknown command: {0}")]
    NoCommand(String),
    #[error("unexpected argument: {0}")]
    Leftover(String),
    #[error("not text: {0}")]
    NotText(String),
}

// === impl Arguments ===

impl Arguments {
    /// Parses the words after the name of the program.
    ///
    /// # Errors
    /// Fails on unknown flags and commands, and on a command with a missing argument or flag.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Refusal> {
        let (words, flags) = sorted(words)?;
        for (name, task) in [
            ("help", Task::Help),
            ("h", Task::Help),
            ("version", Task::Version),
            ("openapi", Task::Describe),
            ("check-config", Task::Check),
        ] {
            if flags.has(name) {
                // A request for help is answered even if the rest is invalid.
                return Ok(Self {
                    task,
                    about: None,
                    flags,
                });
            }
        }
        let (command, rest) = Command::of(&words)?;
        for flag in flags.0.keys().copied() {
            let is_here = GLOBAL.iter().chain(command.flags).any(|f| f.name == flag);
            if !is_here {
                let command = command.words.to_owned();
                return Err(Refusal::NotHere { flag, command });
            }
        }
        for flag in command.needs {
            if !flags.has(flag) {
                let command = command.words.to_owned();
                return Err(Refusal::Missing { command, flag });
            }
        }
        let about = match (command.about, rest) {
            (None, []) => None,
            (Some(_), [about]) => Some(about.clone()),
            (Some(about), []) => {
                let command = command.words.to_owned();
                return Err(Refusal::NoAbout { command, about });
            }
            (None, [word, ..]) | (Some(_), [_, word, ..]) => {
                return Err(Refusal::Leftover(word.clone()));
            }
        };
        Ok(Self {
            task: command.task,
            about,
            flags,
        })
    }

    /// Returns the flags.
    pub(crate) fn flags(&self) -> &Flags {
        &self.flags
    }
}

// === impl Flags ===

impl Flags {
    /// Returns the value of a flag.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the value of a flag as an owned text.
    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// Returns the path in a flag.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// Returns whether a flag was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Returns the text that `-help` prints.
pub(crate) fn usage() -> String {
    let mut text = String::from(
        "\
Usage: ziggurat-platform [flags] [command]

The account service: tenants, their members, and the clients that act for them. Without a
command it serves. The other commands work on what is kept, beside a server or without one,
and print what came of it as JSON.

Commands:
",
    );
    for command in COMMANDS {
        let about = command.about.map(|about| format!(" {about}"));
        let words = format!("{}{}", command.words, about.unwrap_or_default());
        let _ = writeln!(text, "  {words:<24} {}", command.help);
        for flag in command.flags {
            flag.describe(&mut text, "      ");
        }
    }
    text.push_str("\nFlags of every command:\n");
    for flag in GLOBAL {
        flag.describe(&mut text, "  ");
    }
    text
}

/// Separates flags from other words.
fn sorted(words: impl IntoIterator<Item = OsString>) -> Result<(Vec<String>, Flags), Refusal> {
    let (mut others, mut flags) = (Vec::new(), Flags::default());
    let mut words = words.into_iter();
    let mut are_over = false;
    while let Some(word) = words.next() {
        let flag = without_dashes(&word).filter(|_| !are_over);
        let Some(flag) = flag else {
            others.push(text(word)?);
            continue;
        };
        if flag.is_empty() {
            are_over = true;
            continue;
        }
        let (name, value) = split(flag);
        if name.is_empty() || name.starts_with(b"-") {
            return Err(Refusal::Syntax(word.display().to_string()));
        }
        let known = Flag::named(name);
        let known = known.ok_or_else(|| {
            let name = OsStr::from_bytes(name);
            Refusal::Unknown(name.display().to_string())
        })?;
        let value = value.map(|value| OsStr::from_bytes(value).to_owned());
        let value = match (known.value, value) {
            (None, None) => String::new(),
            (None, Some(_)) => return Err(Refusal::Switch(known.name)),
            (Some(_), Some(value)) => text(value)?,
            (Some(_), None) => text(words.next().ok_or(Refusal::NoValue(known.name))?)?,
        };
        flags.0.insert(known.name, value);
    }
    Ok((others, flags))
}

fn text(word: OsString) -> Result<String, Refusal> {
    let text = word.into_string();
    text.map_err(|word| Refusal::NotText(word.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, Refusal> {
        Arguments::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn flags_stand_anywhere_with_one_dash_or_two() {
        for line in [
            "-config a.yaml client delete -tenant t id",
            "client -config=a.yaml delete id --tenant=t",
            "client delete id -config b.yaml --config a.yaml -tenant t",
            "-config a.yaml -tenant t client delete -- id",
        ] {
            let arguments = parse(line).expect(line);
            assert_eq!(arguments.task, Task::DeleteClient, "{line}");
            assert_eq!(arguments.about.as_deref(), Some("id"), "{line}");
            assert_eq!(arguments.flags().text("config"), Some("a.yaml"), "{line}");
            assert_eq!(arguments.flags().text("tenant"), Some("t"), "{line}");
        }
    }

    #[test]
    fn without_a_command_it_serves() {
        assert_eq!(parse("").expect("good").task, Task::Serve);
        assert_eq!(parse("serve").expect("good").task, Task::Serve);
        assert_eq!(
            parse("client -h -x=1").err(),
            Some(Refusal::Unknown("x".into()))
        );
        assert_eq!(parse("client -h").expect("good").task, Task::Help);
    }

    #[test]
    fn an_invalid_command_line_is_refused() {
        for (line, complaint) in [
            ("-nonsense", "flag provided but not defined: -nonsense"),
            ("---config a", "bad flag syntax: ---config"),
            ("-config", "flag needs an argument: -config"),
            ("-help=yes", "-help takes no value"),
            ("-name x tenant list", "-name is not for tenant list"),
            ("tenant create -name x", "tenant create needs -email"),
            ("client delete", "client delete needs CLIENT_ID"),
            ("client", "unknown command: client"),
            ("client drop", "unknown command: client drop"),
            ("tenant list all", "unexpected argument: all"),
            ("client delete a b", "unexpected argument: b"),
        ] {
            let refusal = parse(line).expect_err(line);
            assert_eq!(refusal.to_string(), complaint, "{line}");
        }
    }

    #[test]
    fn the_usage_names_every_command_and_flag() {
        let usage = usage();
        for command in COMMANDS {
            assert!(usage.contains(&format!("\n  {}", command.words)), "{usage}");
            for flag in command.flags.iter().chain(GLOBAL) {
                assert!(usage.contains(&format!(" -{}", flag.name)), "{usage}");
            }
        }
        assert!(
            usage.lines().all(|line| line.chars().count() <= 100),
            "{usage}"
        );
    }
}
