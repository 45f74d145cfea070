//! Conversion of flags with one dash to the form that clap expects.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
};

use ziggurat_runtime::flags::{split, without_dashes};

use super::flags;

/// Parts of a command line.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The name of the program, then `--flag` or `--flag=value`.
    pub(super) flags: Vec<OsString>,
    /// True if help was requested, which ends the flags.
    pub(super) help: bool,
    /// Words after the flags.
    pub(super) leftover: Vec<OsString>,
}

// === impl Words ===

impl Words {
    /// Sorts the words after the name of the program.
    ///
    /// A value is joined to its flag, so that clap does not take a value with a leading dash for a
    /// flag.
    ///
    /// # Errors
    /// Fails on a word such as `-=x` or `---x`.
    pub(super) fn new(
        clap: &clap::Command,
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, String> {
        let mut sorted = Self {
            flags: vec![clap.get_name().into()],
            ..Self::default()
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(flag) = without_dashes(&word) else {
                sorted.leftover = [word].into_iter().chain(words).collect();
                break;
            };
            if flag.is_empty() {
                // The word `--` ends the flags and is not a flag itself.
                sorted.leftover = words.collect();
                break;
            }
            let (name, value) = split(flag);
            if name.is_empty() || name.starts_with(b"-") {
                return Err(format!("bad flag syntax: {}", word.display()));
            }
            if name == b"h" || name == b"help" {
                sorted.help = true;
                break;
            }
            let known = clap
                .get_arguments()
                .find(|arg| arg.get_long().is_some_and(|long| long.as_bytes() == name));
            let value = match (value, known) {
                (None, Some(arg)) if !flags::is_switch(arg) => words.next(),
                (value, _) => value.map(|value| OsStr::from_bytes(value).to_owned()),
            };
            sorted.flags.push(join(name, value));
            if known.is_none() {
                // The error has to name this word, and not a later one.
                break;
            }
        }
        Ok(sorted)
    }
}

fn join(name: &[u8], value: Option<OsString>) -> OsString {
    let mut word = [b"--", name].concat();
    if let Some(value) = value {
        word.push(b'=');
        word.extend(value.into_vec());
    }
    OsString::from_vec(word)
}
