//! The command line.
//!
//! Flags have one dash or two and may stand anywhere; a value follows `=` or is the next word. All
//! other words are a command and its argument.

mod commands;

use std::ffi::OsString;

use thiserror::Error;
use ziggurat_doctor::{
    Options,
    flags::{DOCTOR, HEALTHCHECK, InvalidTimeout, JSON, STRICT, TIMEOUT},
};
use ziggurat_runtime::flags::{
    self, Described, Flag, Flags, Reference, Refusal as FlagRefusal, Words,
};

pub(crate) use self::commands::Task;
use self::commands::{COMMANDS, Command, GLOBAL};

/// A parsed command line.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) task: Task,
    /// Words of the command.
    pub(crate) command: &'static str,
    /// Argument of the command, if it takes one.
    pub(crate) about: Option<String>,
    pub(crate) flags: Flags,
}

/// Reasons to refuse a command line. The message is followed by a pointer to the help.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("-{} takes no value", .0.name)]
    Switch(&'static Flag),
    #[error(transparent)]
    Flags(FlagRefusal),
    #[error("-{flag} is not for {command}")]
    NotHere {
        flag: &'static str,
        command: &'static str,
    },
    #[error("{command} needs {what}")]
    Missing { command: &'static str, what: String },
    #[error(transparent)]
    Timeout(#[from] InvalidTimeout),
    #[error("unknown command: {0}")]
    NoCommand(String),
}

// === impl Arguments ===

impl Arguments {
    /// Parses the words after the name of the program.
    ///
    /// # Errors
    /// Fails on unknown flags and commands, and on a command with a missing argument or flag.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Refusal> {
        let own = COMMANDS.iter().map(|command| command.flags);
        let known: Vec<_> = [GLOBAL].into_iter().chain(own).collect();
        let (flags, words) = flags::parse(words, &known, Words::Anywhere)?;
        let words: Result<Vec<_>, _> = words.into_iter().map(flags::text).collect();
        let words = words?;
        if let Some(task) = task_of_flags(&flags)? {
            // A request for help is answered even if the rest is invalid.
            return Ok(Self {
                task,
                command: "",
                about: None,
                flags,
            });
        }
        let details = [JSON, STRICT, TIMEOUT];
        if let Some(detail) = details.iter().find(|flag| flags.is_given(flag.name)) {
            return Err(Refusal::NotHere {
                flag: detail.name,
                command: "a command other than -doctor",
            });
        }
        let (command, rest) = Command::of(&words)?;
        let (name, about) = command.parts();
        let here = GLOBAL.iter().chain(command.flags);
        let stray = flags
            .names()
            .find(|name| !here.clone().any(|flag| flag.name == *name));
        if let Some(flag) = stray {
            return Err(Refusal::NotHere {
                flag,
                command: name,
            });
        }
        let missing = |what| Refusal::Missing {
            command: name,
            what,
        };
        if let Some(flag) = command.needs().iter().find(|flag| !flags.is_given(flag)) {
            return Err(missing(format!("-{flag}")));
        }
        let about = match (about, rest) {
            (None, []) => None,
            (Some(_), [about]) => Some(about.clone()),
            (Some(about), []) => return Err(missing(about.to_owned())),
            (None, [word, ..]) | (Some(_), [_, word, ..]) => {
                return Err(FlagRefusal::Leftover(word.clone()).into());
            }
        };
        Ok(Self {
            task: command.task,
            command: name,
            about,
            flags,
        })
    }
}

/// Returns the task of a flag that stands for a command.
fn task_of_flags(flags: &Flags) -> Result<Option<Task>, Refusal> {
    let is_ready = flags.text(HEALTHCHECK.name) == Some("ready");
    let path = if is_ready { "/ready" } else { "/health" };
    let tasks = [
        ("help", Task::Help),
        ("h", Task::Help),
        ("version", Task::Version),
        ("man", Task::Manual),
        ("openapi", Task::Describe),
        ("check-config", Task::Check),
        (HEALTHCHECK.name, Task::AskHealth(path)),
    ];
    let task = tasks.into_iter().find(|(name, _)| flags.has(name));
    if let Some((_, task)) = task {
        return Ok(Some(task));
    }
    if flags.has(DOCTOR.name) {
        return Ok(Some(Task::Examine(Options::of_flags(flags)?)));
    }
    Ok(flags.shell()?.map(Task::Completion))
}

// === impl Refusal ===

impl From<FlagRefusal> for Refusal {
    fn from(refusal: FlagRefusal) -> Self {
        match refusal {
            FlagRefusal::NoBoolean { flag, .. } => Self::Switch(flag),
            other => Self::Flags(other),
        }
    }
}

/// Beginning of the text of `-help`.
const HEAD: &str = "\
Usage: ziggurat-platform [flags] [command]

The account service: tenants, their members, and the API clients of each tenant. Without a
command it serves. The other commands change the stored data directly, also while a server
runs, and print their result as JSON.

";

/// Describes the command line for the manual page and the completions.
pub(crate) fn reference() -> Reference {
    let program = Described {
        words: String::new(),
        about: HEAD.to_owned(),
        groups: vec![("Flags of every command", GLOBAL.to_vec())],
    };
    let commands = COMMANDS.iter().map(|command| {
        let is_word = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
        let words: Vec<_> = command.usage.split(' ').take_while(is_word).collect();
        Described {
            words: words.join(" "),
            about: format!(
                "Usage: ziggurat-platform {} [flags]\n{}\n",
                command.usage, command.help
            ),
            groups: vec![("", command.flags.to_vec())],
        }
    });
    Reference {
        program: "ziggurat-platform",
        version: env!("CARGO_PKG_VERSION"),
        summary: "an account service of tenants, members and API clients",
        commands: [program].into_iter().chain(commands).collect(),
        more: "",
    }
}

/// Returns the text that `-help` prints.
pub(crate) fn usage() -> String {
    let mut text = format!("{HEAD}Commands:\n");
    let describe = |text: &mut String, flag: &Flag, indent: &str| {
        let value = flag.placeholder().map(|value| format!(" {value}"));
        let word = format!("{indent}-{}{}", flag.name, value.unwrap_or_default());
        flags::explain(text, &word, flag.help, indent.len() + 25);
    };
    for command in COMMANDS {
        flags::explain(&mut text, &format!("  {}", command.usage), command.help, 27);
        for flag in command.flags {
            describe(&mut text, flag, "      ");
        }
    }
    text.push_str("\nFlags of every command:\n");
    for flag in GLOBAL {
        describe(&mut text, flag, "  ");
    }
    text
}

#[cfg(test)]
mod tests {
    use ziggurat_runtime::committed;

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
            assert_eq!(arguments.flags.text("config"), Some("a.yaml"), "{line}");
            assert_eq!(arguments.flags.text("tenant"), Some("t"), "{line}");
        }
    }

    #[test]
    fn without_a_command_it_serves() {
        assert_eq!(parse("").expect("good").task, Task::Serve);
        assert_eq!(parse("serve").expect("good").task, Task::Serve);
        assert_eq!(
            parse("client -h -x=1").err(),
            Some(Refusal::Flags(FlagRefusal::Unknown("x".into())))
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
            assert!(usage.contains(&format!("\n  {}", command.usage)), "{usage}");
            for flag in command.flags.iter().chain(GLOBAL) {
                assert!(usage.contains(&format!(" -{}", flag.name)), "{usage}");
            }
        }
        assert!(
            usage.lines().all(|line| line.chars().count() <= 100),
            "{usage}"
        );
    }

    #[test]
    fn the_reference_of_the_manual_shows_every_flag() {
        // A program that is built for users has no flags for tests.
        let usage = usage();
        let lines = usage.lines().filter(|line| !line.ends_with("; for tests"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/FLAGS.txt");
        committed::assert_current(path, &text);
    }
}
