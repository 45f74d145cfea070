//! A section of a configuration.

use std::{
    collections::BTreeSet,
    fmt::{self, Display},
};

use strsim::osa_distance;

use crate::{
    ConfigSources, Environment,
    config::{ConfigReader, Source, Value, keys::join},
    flags::Flags,
    logs::RawLog,
    spelling::is_near,
    yaml::Node,
};

/// A section of a configuration with keys that are read one after the other.
#[derive(Clone)]
pub struct Section<'a> {
    reading: &'a ConfigReader<'a>,
    node: Option<&'a Node>,
    place: String,
}

// === impl Section ===

impl<'a> Section<'a> {
    pub(super) fn root(reading: &'a ConfigReader<'a>, node: Option<&'a Node>) -> Self {
        Self::at(reading, node, String::new())
    }

    /// Returns the section at a place; a value of another kind is a problem.
    pub(super) fn at(reading: &'a ConfigReader<'a>, node: Option<&'a Node>, place: String) -> Self {
        if node.is_some_and(|node| !node.is_null() && !matches!(node, Node::Map(_))) {
            let key = if place.is_empty() { "the file" } else { &place };
            let sentence = format!("{key}: must be a section with keys");
            reading.wrong(&place, sentence);
        }
        Self {
            reading,
            node,
            place,
        }
    }

    /// Returns a key of this section.
    #[must_use]
    pub fn key(&self, name: &str) -> Value<'a> {
        let place = join(&self.place, name);
        self.reading.findings.borrow_mut().keys.add(&place);
        Value::new(self.reading, self.find(name), place)
    }

    /// Returns a section of this one.
    #[must_use]
    pub fn section(&self, name: &str) -> Self {
        self.key(name).into_section()
    }

    /// Returns whether the file has this section.
    #[must_use]
    pub fn is_present(&self) -> bool {
        matches!(self.node, Some(Node::Map(_)))
    }

    /// Returns whether the file has this key, also without a value: a guard that was begun and not
    /// written must not count as none.
    #[must_use]
    pub fn names_key(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&'a Node> {
        match self.node? {
            Node::Map(map) => map.find(name),
            _ => None,
        }
    }

    /// Returns all keys of a section in which any key is allowed, with their texts.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<(String, String)> {
        let section = self.section(name);
        let findings = &self.reading.findings;
        findings.borrow_mut().keys.open(&section.place);
        let Some(Node::Map(map)) = section.node else {
            return Vec::new();
        };
        let texts = map.iter().filter_map(|(key, node)| {
            let value = Value::new(self.reading, Some(node), join(&section.place, key));
            Some((key.to_owned(), value.text()?))
        });
        texts.collect()
    }

    /// Reads the section `log`.
    #[must_use]
    pub fn log(&self) -> RawLog {
        let section = self.section("log");
        let log = RawLog {
            level: section.key("level").text(),
            format: section.key("format").text(),
        };
        for (key, problem) in log.problems() {
            self.reading.problem(key, problem);
        }
        log
    }

    /// Adds a problem with the whole section.
    pub fn problem(&self, problem: impl Display) {
        self.reading.problem(&self.place, problem.to_string());
    }

    /// Adds a problem that names its settings itself.
    pub fn complain(&self, sentence: impl Display) {
        let mut findings = self.reading.findings.borrow_mut();
        findings.problems.push(sentence.to_string());
    }

    /// Adds a warning for the operator.
    pub fn warn(&self, warning: impl Into<String>) {
        self.reading.warn(warning.into());
    }

    /// Returns the flags of the command line.
    #[must_use]
    pub fn flags(&self) -> &'a Flags {
        self.reading.flags
    }

    /// Returns the environment. For variables that are no settings; see [`variable`](Self::variable).
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.reading.environment
    }

    /// Returns the folders of the program.
    #[must_use]
    pub fn sources(&self) -> &'a ConfigSources {
        self.reading.sources
    }

    /// Returns a variable that overrides no key of this section.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.reading.variable(name)
    }

    /// Records that the value of a key comes from another source than [`key`](Self::key) reads.
    pub fn took(&self, name: &str, source: Source) {
        self.reading.took(&join(&self.place, name), source);
    }

    /// Returns the numbers `n` for which there is a variable `<prefix><n>_…`.
    #[must_use]
    pub fn numbers(&self, prefix: &str) -> BTreeSet<u32> {
        let names = self.reading.environment.names();
        names
            .filter_map(|name| {
                let (number, rest) = name.strip_prefix(prefix)?.split_once('_')?;
                // Other spellings of the number would not match when the variable is read.
                let is_plain = !number.starts_with(['0', '+']) && !rest.is_empty();
                number.parse().ok().filter(|_| is_plain)
            })
            .collect()
    }

    /// Ignores variables with this prefix.
    pub fn pass_over(&self, prefix: &str) {
        let names = self.reading.environment.names();
        let names = names.filter(|name| name.starts_with(prefix));
        let names = names.map(str::to_owned);
        self.reading.findings.borrow_mut().variables.extend(names);
    }

    /// Warns of variables with this prefix that are similar to those that were read. Other
    /// programs have variables too, so no more can be said.
    pub fn warn_of_variables(&self, prefix: &str) {
        let names = self.reading.environment.names();
        let asked = self.reading.variables().clone();
        for name in names.filter(|name| !asked.contains(*name)) {
            let Some(suffix) = name.strip_prefix(prefix) else {
                continue;
            };
            let meant = asked.iter().find(|asked| {
                asked.strip_prefix(prefix).is_some_and(|asked| {
                    let distance = osa_distance(suffix, asked);
                    distance <= 2 && is_near(distance, suffix)
                })
            });
            if let Some(meant) = meant {
                self.warn(format!("unknown variable {name} (did you mean {meant}?)"));
            }
        }
    }

    /// Warns of variables with one of these prefixes that are not valid Unicode.
    pub fn warn_of_unreadable(&self, prefixes: &[&str]) {
        for name in self.reading.environment.unreadable() {
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                self.warn(format!("{name} is not valid UTF-8 and is ignored"));
            }
        }
    }
}

impl fmt::Debug for Section<'_> {
    /// Prints the place only, because values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Section").field(&self.place).finish()
    }
}
