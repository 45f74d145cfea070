//! Reads a configuration from a file, the environment and the command line.
//!
//! A program reads each key once, in a function from a [`Section`] to its checked struct: the call
//! has the name of the key, its variable, its flag and its range. The calls are also the list of
//! known keys. All problems are collected, and reported with their keys.
//!
//! ```
//! use ziggurat_runtime::{ConfigSources, config::{self, Section}, flags::Flags};
//!
//! struct Paint {
//!     colour: String,
//!     coats: u32,
//! }
//!
//! fn paint(file: &Section<'_>) -> Paint {
//!     Paint {
//!         colour: file.key("colour").var("PAINT_COLOUR").text().unwrap_or_default(),
//!         coats: file.key("coats").whole(1..=9).unwrap_or(2),
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("paint.yaml");
//! let (sources, flags) = (ConfigSources::of_process(), Flags::default());
//! let input = config::Input::new(&sources, &flags);
//! std::fs::write(&path, "colour: red")?;
//! let loaded = input.load(Some(&path), paint)?;
//! assert_eq!((&*loaded.value.colour, loaded.value.coats), ("red", 2));
//! std::fs::write(&path, "color: blue\ncoats: 10")?;
//! let error = input.load(Some(&path), paint).err().unwrap().to_string();
//! assert!(error.contains("(did you mean 'colour'?); coats: must be between 1 and 9"));
//! # Ok(())
//! # }
//! ```

mod keys;
pub(crate) mod places;
mod section;
mod sources;
mod value;

use std::{
    borrow::Cow,
    cell::{Ref, RefCell},
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use thiserror::Error;

use self::keys::Keys;
pub use self::{
    section::Section,
    sources::{Source, Sources},
    value::{Number, Value},
};
use crate::{
    ConfigSources, Environment,
    files::{
        file::{self, FileError},
        watch::Stamp,
    },
    flags::Flags,
    yaml::{Node, Rules},
};

/// Maximum size of a file.
const MAX_BYTES: u64 = 1 << 20;

/// Files without aliases are always within the budget.
const RULES: Rules = Rules {
    budget: 2 << 20,
    cost: 1,
    exceeded: "its aliases expand to more than the maximum size of a configuration",
    expected: "a value without a tag",
    has_wide_numbers: true,
    has_infinite_numbers: true,
    name: None,
    repeated: Some(|name| format!("duplicate key `{name}`")),
};

/// Limit on the unknown keys, and on the values of a wrong kind, that are reported.
const MAX_NAMED: usize = 20;

/// Inputs of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    sources: &'a ConfigSources,
    flags: &'a Flags,
    foreign: &'a [&'a str],
    expands: bool,
}

/// A configuration, and warnings for the operator.
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    /// The configuration.
    pub value: T,
    /// The file that was read, or an empty path.
    pub path: PathBuf,
    /// The state of the file just before it was read.
    pub stamp: Option<Stamp>,
    /// Warnings; each becomes a line of the log.
    pub warnings: Vec<String>,
    /// Places that the values come from.
    pub sources: Sources,
}

/// Reason why a configuration cannot be loaded. Print it with its sources, as `{:#}` of anyhow
/// does.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file cannot be used.
    #[error("failed to load config file {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        source: FileError,
    },
    /// Settings are invalid; has all messages.
    #[error("invalid configuration: {}", .0.join("; "))]
    Invalid(Vec<String>),
}

/// A configuration that is being read, and the problems found so far.
struct ConfigReader<'a> {
    environment: Cow<'a, Environment>,
    sources: &'a ConfigSources,
    flags: &'a Flags,
    /// Folder of the file, if there is a file.
    folder: Option<&'a Path>,
    expands: bool,
    /// True for a run that finds the keys: every list has an element.
    finds_keys: bool,
    findings: RefCell<ReadState>,
}

#[derive(Debug, Default)]
struct ReadState {
    keys: Keys,
    variables: BTreeSet<String>,
    problems: Vec<String>,
    /// Values of another kind than their keys accept.
    wrong: Vec<String>,
    /// Keys with a problem from which others would only follow.
    settled: BTreeSet<String>,
    warnings: Vec<String>,
    sources: Sources,
}

// === impl Input ===

impl<'a> Input<'a> {
    /// Returns the inputs besides a file.
    #[must_use]
    pub fn new(sources: &'a ConfigSources, flags: &'a Flags) -> Self {
        Self {
            sources,
            flags,
            foreign: &[],
            expands: false,
        }
    }

    /// Accepts keys that only the older implementation has, with a warning. They are written
    /// as `databases[].name`.
    #[must_use]
    pub fn with_ignored(self, foreign: &'a [&'a str]) -> Self {
        Self { foreign, ..self }
    }

    /// Reads every value of the file as a text in which `${NAME}` stands for a variable.
    #[must_use]
    pub fn with_expansion(self) -> Self {
        let expands = true;
        Self { expands, ..self }
    }

    /// Finds the named file, or else the first of the usual files that exists.
    #[must_use]
    pub fn find(&self, named: Option<&Path>, name: &str) -> Option<PathBuf> {
        let usual = || self.sources.usual_files(name).into_iter();
        let exists = |path: &PathBuf| path.try_exists().unwrap_or(true);
        let named = named.map(Path::to_owned);
        named.or_else(|| usual().find(exists))
    }

    /// Reads the file, if there is one, and the other inputs. To reload, call this again.
    ///
    /// # Errors
    /// Fails on a file that cannot be parsed, and on invalid settings, all of which are named.
    pub fn load<T>(
        &self,
        path: Option<&Path>,
        read: impl Fn(&Section<'_>) -> T,
    ) -> Result<Loaded<T>, LoadError> {
        let stamp = path.and_then(Stamp::of);
        let node = path.map(node).transpose()?;
        let loaded = self.read_node(node, path, read)?;
        Ok(Loaded { stamp, ..loaded })
    }

    /// Reads a file that is not on disk, and the other inputs.
    ///
    /// # Errors
    /// Fails on a text that cannot be parsed, and on invalid settings, all of which are named.
    pub fn load_text<T>(
        &self,
        yaml: &str,
        read: impl Fn(&Section<'_>) -> T,
    ) -> Result<Loaded<T>, LoadError> {
        let node = RULES
            .read_as_written(yaml)
            .map_err(FileError::NotUnderstood);
        let node = node.map_err(|error| LoadError::about(Path::new(""), error))?;
        self.read_node(Some(node), None, read)
    }

    fn read_node<T>(
        &self,
        node: Option<Node>,
        path: Option<&Path>,
        read: impl Fn(&Section<'_>) -> T,
    ) -> Result<Loaded<T>, LoadError> {
        // Also finds the keys of lists that are empty in the file.
        let known = keys(self.sources, &read);
        let reading = ConfigReader {
            environment: Cow::Borrowed(&self.sources.environment),
            sources: self.sources,
            flags: self.flags,
            folder: path.and_then(Path::parent),
            expands: self.expands,
            finds_keys: false,
            findings: RefCell::default(),
        };
        let value = read(&Section::root(&reading, node.as_ref()));
        let ReadState {
            mut keys,
            problems,
            wrong,
            warnings: mut found,
            sources,
            ..
        } = reading.findings.into_inner();
        if let (Some(path), false) = (path, wrong.is_empty()) {
            let source = FileError::WrongKind(wrong);
            return Err(LoadError::about(path, source));
        }
        keys.extend(known);
        let shown = path.unwrap_or(Path::new(""));
        let (mut all, mut warnings) = keys.unknown(&node.unwrap_or_default(), self.foreign, shown);
        all.extend(problems);
        if !all.is_empty() {
            return Err(LoadError::Invalid(all));
        }
        warnings.append(&mut found);
        Ok(Loaded {
            value,
            path: path.map(Path::to_owned).unwrap_or_default(),
            stamp: None,
            warnings,
            sources,
        })
    }
}

/// Returns the keys that a function reads, as paths with dots: `http.tls.enabled`,
/// `databases[].name`.
pub fn keys_of<T>(read: impl Fn(&Section<'_>) -> T) -> Vec<String> {
    keys(&ConfigSources::default(), &read).into_paths()
}

/// Runs a function on nothing, to find the keys that it reads.
fn keys<T>(sources: &ConfigSources, read: &impl Fn(&Section<'_>) -> T) -> Keys {
    let flags = Flags::default();
    let reading = ConfigReader {
        environment: Cow::Owned(Environment::default()),
        sources,
        flags: &flags,
        folder: None,
        expands: false,
        finds_keys: true,
        findings: RefCell::default(),
    };
    read(&Section::root(&reading, None));
    reading.findings.into_inner().keys
}

fn node(path: &Path) -> Result<Node, LoadError> {
    let text = file::text(path, MAX_BYTES);
    let read = |text: String| RULES.read_as_written(&text);
    let node = text.and_then(|text| read(text).map_err(FileError::NotUnderstood));
    node.map_err(|error| LoadError::about(path, error))
}

// === impl LoadError ===

impl LoadError {
    fn about(path: &Path, source: FileError) -> Self {
        let path = path.to_owned();
        Self::File { path, source }
    }
}

// === impl ConfigReader ===

impl ConfigReader<'_> {
    fn variable(&self, name: &str) -> Option<&str> {
        let mut findings = self.findings.borrow_mut();
        findings.variables.insert(name.to_owned());
        self.environment.get(name)
    }

    fn problem(&self, place: &str, problem: impl AsRef<str>) {
        let mut findings = self.findings.borrow_mut();
        if !findings.settled.contains(place) {
            let problem = problem.as_ref();
            findings.problems.push(format!("{place}: {problem}"));
        }
    }

    /// Records a value of another kind than its key accepts.
    fn wrong(&self, place: &str, sentence: String) {
        let mut findings = self.findings.borrow_mut();
        findings.settled.insert(place.to_owned());
        if findings.wrong.len() < MAX_NAMED && !findings.wrong.contains(&sentence) {
            findings.wrong.push(sentence);
        }
    }

    /// Records the place that a value comes from.
    fn took(&self, place: &str, source: Source) {
        self.findings.borrow_mut().sources.add(place, source);
    }

    fn warn(&self, warning: String) {
        let warnings = &mut self.findings.borrow_mut().warnings;
        // Several databases may give the same warning about the environment.
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    fn variables(&self) -> Ref<'_, BTreeSet<String>> {
        Ref::map(self.findings.borrow(), |findings| &findings.variables)
    }
}

#[cfg(test)]
mod tests;
