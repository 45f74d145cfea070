//! Manual pages and completions, made from the tables of flags.

mod completion;
mod manual;
#[cfg(test)]
mod tests;

use crate::flags::Flag;

pub use self::{completion::Shell, manual::roff};

/// Flag that prints the manual page.
pub const MAN: Flag = Flag::switch("man", "print the manual page, for man(1), and exit");

/// Flag that prints completions.
pub const COMPLETION: Flag = Flag::text(
    "completion",
    "SHELL",
    "print a script that completes command lines in bash, zsh or fish, and exit",
);

/// A command line, as its manual page and its completions describe it.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Name of the program.
    pub program: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// The program in one line.
    pub summary: &'static str,
    /// The program without a command, then its commands.
    pub commands: Vec<Described>,
    /// Text after the flags; the paragraphs after `Examples:` are examples.
    pub more: &'static str,
}

/// A command of a program.
#[derive(Clone, Debug)]
pub struct Described {
    /// Words of the command; empty for the program without one.
    pub words: String,
    /// Text before the flags. A line that begins with `Usage:` is the synopsis.
    pub about: String,
    /// Groups of flags, with their headings.
    pub groups: Vec<(&'static str, Vec<Flag>)>,
}

// === impl Reference ===

impl Reference {
    /// Returns the manual page, for man(1).
    #[must_use]
    pub fn manual(&self) -> String {
        manual::page(self)
    }

    /// Returns the script that completes command lines in a shell.
    #[must_use]
    pub fn completion(&self, shell: Shell) -> String {
        completion::script(self, shell)
    }
}

// === impl Described ===

impl Described {
    fn flags(&self) -> impl Iterator<Item = &Flag> {
        self.groups.iter().flat_map(|(_, flags)| flags)
    }
}
