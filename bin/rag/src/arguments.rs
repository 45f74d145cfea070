//! The command line.
//!
//! Flags have one dash or two, and a value follows `=` or is the next word. The first word that is
//! not a flag ends them; there are no positional arguments.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
};

use thiserror::Error;
use ziggurat_runtime::flags::{split, without_dashes};

/// The usage, as printed by `-help`.
pub(crate) const USAGE: &str = "\
Usage: ziggurat-rag [flags]

Answers questions from the tables of PostgreSQL, over HTTP. Without flags it serves the
pipelines of the configuration file it finds in /etc/ziggurat or next to itself.

  -config PATH    the configuration file
  -check-config   say everything that is wrong with the configuration, and end
  -openapi        print the OpenAPI document, and end
  -version        print the version, and end
  -help, -h       print this, and end
";

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) command: Command,
    pub(crate) config: Option<PathBuf>,
}

/// The command. If several are given, the first in this order is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Command {
    Help,
    Version,
    Describe,
    Check,
    Serve,
}

/// The error for an invalid command line. It is printed with the usage.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("flag provided but not defined: -{0}")]
    Unknown(String),
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    #[error("flag needs an argument: -{0}")]
    NoValue(&'static str),
    #[error("invalid boolean value \"{value}\" for -{flag}")]
    NoBoolean { flag: &'static str, value: String },
    #[error("unexpected argument: {0}")]
    Leftover(String),
}

// === impl Arguments ===

impl Arguments {
    /// Parses the words after the name of the program.
    ///
    /// # Errors
    /// Fails on a word that is not a flag, and on an invalid value.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Refusal> {
        let mut arguments = Self {
            command: Command::Serve,
            config: None,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(flag) = without_dashes(&word) else {
                return Err(Refusal::Leftover(word.display().to_string()));
            };
            if flag.is_empty() {
                // The word `--` ends the flags.
                return match words.next() {
                    Some(word) => Err(Refusal::Leftover(word.display().to_string())),
                    None => Ok(arguments),
                };
            }
            let (name, value) = split(flag);
            let (name, command) = match name {
                b"config" => {
                    let value = value.map(|value| OsString::from_vec(value.to_owned()));
                    let value = value.or_else(|| words.next());
                    arguments.config = Some(value.ok_or(Refusal::NoValue("config"))?.into());
                    continue;
                }
                b"help" => ("help", Command::Help),
                b"h" => ("h", Command::Help),
                b"version" => ("version", Command::Version),
                b"openapi" => ("openapi", Command::Describe),
                b"check-config" => ("check-config", Command::Check),
                b"" | [b'-', ..] => return Err(Refusal::Syntax(word.display().to_string())),
                _ => {
                    let name = OsStr::from_bytes(name).display().to_string();
                    return Err(Refusal::Unknown(name));
                }
            };
            if is_set(name, value)? {
                arguments.command = arguments.command.min(command);
            }
            if arguments.command == Command::Help {
                // The rest is ignored, so that help is printed despite other errors.
                break;
            }
        }
        Ok(arguments)
    }
}

fn is_set(flag: &'static str, value: Option<&[u8]>) -> Result<bool, Refusal> {
    match value {
        None | Some(b"1" | b"t" | b"T" | b"true" | b"TRUE" | b"True") => Ok(true),
        Some(b"0" | b"f" | b"F" | b"false" | b"FALSE" | b"False") => Ok(false),
        Some(value) => Err(Refusal::NoBoolean {
            flag,
            value: OsStr::from_bytes(value).display().to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, Refusal> {
        Arguments::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn flags_have_one_or_two_dashes_and_values_follow_an_equals_sign_or_a_space() {
        for line in [
            "-config a.yaml",
            "--config a.yaml",
            "-config=a.yaml",
            "--config=a.yaml",
            "-config b.yaml -config a.yaml",
        ] {
            let arguments = parse(line).expect(line);
            assert_eq!(arguments.config.as_deref(), Some("a.yaml".as_ref()));
            assert_eq!(arguments.command, Command::Serve);
        }
    }

    #[test]
    fn help_wins_over_the_version_and_that_over_the_document() {
        for (line, command) in [
            ("", Command::Serve),
            ("-openapi", Command::Describe),
            ("-openapi -version", Command::Version),
            ("-version --openapi -help", Command::Help),
            ("-h -version -nonsense", Command::Help),
            ("-check-config -openapi", Command::Describe),
            ("-check-config -config x", Command::Check),
            ("-version=false", Command::Serve),
            ("-version=true --", Command::Version),
        ] {
            assert_eq!(parse(line).expect(line).command, command, "{line}");
        }
    }

    #[test]
    fn unknown_flags_and_other_words_are_refused() {
        for (line, reason) in [
            ("-nonsense", "flag provided but not defined: -nonsense"),
            (
                "--nonsense=1 -help",
                "flag provided but not defined: -nonsense",
            ),
            ("---help", "bad flag syntax: ---help"),
            ("-=x", "bad flag syntax: -=x"),
            ("-config", "flag needs an argument: -config"),
            (
                "-version=maybe",
                "invalid boolean value \"maybe\" for -version",
            ),
            ("serve", "unexpected argument: serve"),
            ("- -version", "unexpected argument: -"),
            ("-- serve", "unexpected argument: serve"),
        ] {
            let refusal = parse(line).expect_err(line);
            assert_eq!(refusal.to_string(), reason, "{line}");
        }
    }

    #[test]
    fn the_usage_names_every_flag() {
        for flag in ["config", "check-config", "openapi", "version", "help"] {
            assert!(USAGE.contains(&format!("\n  -{flag}")), "{flag}");
        }
    }
}
