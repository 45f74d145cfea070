//! Flags with one dash or two. A value follows `=` or is the next word.
//!
//! A program lists its flags in a table, from which its command line is parsed and its help is
//! written. This is not clap, which needs an adapter for flags with one dash and for the texts of
//! errors: with it the three servers had no fewer lines, and a program gets 200 kB larger.
//!
//! ```
//! use ziggurat_runtime::flags::{self, Flag, Words};
//!
//! const FLAGS: &[Flag] = &[
//!     Flag::text("addr", "HOST:PORT", "where to listen"),
//!     Flag::switch("help", "print this"),
//! ];
//!
//! let line = ["-addr=127.0.0.1:80", "--help"].map(Into::into);
//! let (flags, rest) = flags::parse(line, &[FLAGS], Words::Last).unwrap();
//! assert_eq!(flags.text("addr"), Some("127.0.0.1:80"));
//! assert!(flags.has("help") && rest.is_empty());
//! let refusal = flags::parse(["-adr".into()], &[FLAGS], Words::Last).unwrap_err();
//! assert_eq!(refusal.to_string(), "flag provided but not defined: -adr");
//! ```

mod reference;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt::{self, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
};

use strsim::osa_distance;
use thiserror::Error;

use crate::spelling::is_near;

pub use self::reference::{COMPLETION, Described, MAN, Reference, Shell, roff};

/// Maximum number of columns of a line of help.
const WIDTH: usize = 100;

/// A flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Name without dashes.
    pub name: &'static str,
    /// Value that it takes.
    pub takes: Takes,
    /// Text of the help.
    pub help: &'static str,
}

/// Value that a flag takes, with the placeholder of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None, or a boolean after `=`.
    Switch,
    /// None, or a boolean or this word after `=`.
    SwitchOr(&'static str),
    /// A text.
    Text(&'static str),
    /// A path, which may be invalid UTF-8.
    Path(&'static str),
}

/// Place of the words that are not flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// The first of them ends the flags, as a flag for help does.
    Last,
    /// Between the flags.
    Anywhere,
}

/// The flags of a command line, with their values.
#[derive(Clone, Default)]
pub struct Flags(BTreeMap<&'static str, Vec<OsString>>);

/// Reason to refuse a command line.
#[derive(Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The flag is not in the table.
    #[error("flag provided but not defined: -{0}")]
    Unknown(String),
    /// The word is not written like a flag.
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    /// The value is missing.
    #[error("flag needs an argument: -{}", .0.name)]
    NoValue(&'static Flag),
    /// The value of a switch is not a boolean.
    #[error("invalid boolean value \"{value}\" for -{}", flag.name)]
    NoBoolean {
        /// The switch.
        flag: &'static Flag,
        /// Its value.
        value: String,
    },
    /// A text is not UTF-8.
    #[error("not text: {0}")]
    NotText(String),
    /// A word is not a flag.
    #[error("unexpected argument: {0}")]
    Leftover(String),
    /// The value of `-completion` is not a shell.
    #[error("invalid value \"{0}\" for -completion: expected bash, zsh or fish")]
    NoShell(String),
}

/// Parses the words after the name of a program, and returns those that are not flags.
///
/// # Errors
/// Fails on unknown flags, and on missing and invalid values.
pub fn parse(
    words: impl IntoIterator<Item = OsString>,
    known: &[&'static [Flag]],
    place: Words,
) -> Result<(Flags, Vec<OsString>), Refusal> {
    let (mut flags, mut others) = (Flags::default(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let Some(flag) = without_dashes(&word) else {
            others.push(word);
            if place == Words::Anywhere {
                continue;
            }
            break;
        };
        if flag.is_empty() {
            // The word `--` ends the flags.
            break;
        }
        let (name, value) = split(flag);
        if name.is_empty() || name.starts_with(b"-") {
            return Err(Refusal::Syntax(word.display().to_string()));
        }
        let mut all = known.iter().flat_map(|flags| flags.iter());
        let flag = all.find(|flag| flag.name.as_bytes() == name);
        let unknown = || Refusal::Unknown(OsStr::from_bytes(name).display().to_string());
        let flag = flag.ok_or_else(unknown)?;
        let value = value.map(|value| OsStr::from_bytes(value).to_owned());
        let value = flag.value(value, || words.next())?;
        flags.0.entry(flag.name).or_default().push(value);
        if place == Words::Last && (flags.has("help") || flags.has("h")) {
            // The rest is ignored, so that help is printed despite other errors.
            return Ok((flags, others));
        }
    }
    others.extend(words);
    Ok((flags, others))
}

/// Returns the known flag that is most similar to an unknown one.
#[must_use]
pub fn nearest(name: &str, known: &[&'static [Flag]]) -> Option<&'static str> {
    let all = known.iter().flat_map(|flags| flags.iter());
    nearest_name(name, all.map(|flag| flag.name))
}

/// Returns the known name that is most similar to an unknown one.
#[must_use]
pub fn nearest_name(
    name: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    let all = known
        .into_iter()
        .map(|known| (osa_distance(name, known), known));
    let nearest = all.min_by_key(|&(distance, _)| distance);
    let nearest = nearest.filter(|&(distance, _)| is_near(distance, name));
    nearest.map(|(_, known)| known)
}

/// Writes a flag or another word, and from a column on its help, wrapped.
pub fn explain(text: &mut String, word: &str, help: &str, column: usize) {
    let mut line = format!("{word:<width$} ", width = column - 1);
    for (index, word) in help.split_whitespace().enumerate() {
        if index > 0 && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(column);
        } else if index > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

/// Strips one or two dashes from a flag; returns an empty name for `--`, and `None` for other
/// words.
fn without_dashes(word: &OsStr) -> Option<&[u8]> {
    let word = word.as_bytes();
    let flag = word.strip_prefix(b"-").filter(|flag| !flag.is_empty())?;
    Some(flag.strip_prefix(b"-").unwrap_or(flag))
}

/// Splits a flag into its name and the value after `=`.
fn split(flag: &[u8]) -> (&[u8], Option<&[u8]>) {
    match flag.iter().position(|&byte| byte == b'=') {
        Some(at) => (&flag[..at], Some(&flag[at + 1..])),
        None => (flag, None),
    }
}

// === impl Flag ===

impl Flag {
    /// Returns a flag without a value.
    #[must_use]
    pub const fn switch(name: &'static str, help: &'static str) -> Self {
        let takes = Takes::Switch;
        Self { name, takes, help }
    }

    /// Returns a flag with a text.
    #[must_use]
    pub const fn text(name: &'static str, value: &'static str, help: &'static str) -> Self {
        let takes = Takes::Text(value);
        Self { name, takes, help }
    }

    /// Returns a flag with a path.
    #[must_use]
    pub const fn path(name: &'static str, value: &'static str, help: &'static str) -> Self {
        let takes = Takes::Path(value);
        Self { name, takes, help }
    }

    /// Returns the placeholder of the value.
    #[must_use]
    pub fn placeholder(&self) -> Option<&'static str> {
        match self.takes {
            Takes::Switch | Takes::SwitchOr(_) => None,
            Takes::Text(value) | Takes::Path(value) => Some(value),
        }
    }

    fn value(
        &'static self,
        value: Option<OsString>,
        next: impl FnOnce() -> Option<OsString>,
    ) -> Result<OsString, Refusal> {
        let or = match self.takes {
            Takes::Path(_) => return value.or_else(next).ok_or(Refusal::NoValue(self)),
            Takes::Text(_) => {
                let value = value.or_else(next).ok_or(Refusal::NoValue(self))?;
                return text(value).map(OsString::from);
            }
            Takes::Switch => None,
            Takes::SwitchOr(word) => Some(word),
        };
        let value = value.unwrap_or_else(|| "true".into());
        match value.to_str() {
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok("true".into()),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok("false".into()),
            word if word.is_some() && word == or => Ok(value),
            _ => Err(Refusal::NoBoolean {
                flag: self,
                value: value.display().to_string(),
            }),
        }
    }
}

/// Returns a word as a text.
///
/// # Errors
/// Fails if it is not UTF-8.
pub fn text(word: OsString) -> Result<String, Refusal> {
    let text = word.into_string();
    text.map_err(|word| Refusal::NotText(word.display().to_string()))
}

// === impl Flags ===

impl Flags {
    /// Returns the value of a flag; of a repeated one, the last.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        Some(self.0.get(name)?.last()?)
    }

    /// Returns all values of a repeated flag as paths.
    pub fn paths(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let values = self.0.get(name).into_iter().flatten();
        values.map(PathBuf::from)
    }

    /// Returns all values of a repeated flag as texts.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.get(name).into_iter().flatten();
        values.filter_map(|value| value.to_str())
    }

    /// Returns the text of a flag.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.value(name)?.to_str()
    }

    /// Returns the shell for which [`COMPLETION`] asks.
    ///
    /// # Errors
    /// Fails if the value is not a shell.
    pub fn shell(&self) -> Result<Option<Shell>, Refusal> {
        self.text(COMPLETION.name).map(str::parse).transpose()
    }

    /// Returns the text of a flag as an owned one.
    #[must_use]
    pub fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// Returns the path in a flag.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from)
    }

    /// Returns whether a flag was given.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns whether a switch was given, and not with `=false`.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value != "false")
    }

    /// Returns the names of the given flags, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

impl fmt::Debug for Flags {
    /// Prints names only, because values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
