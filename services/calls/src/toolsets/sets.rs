//! The toolsets of a configuration.

use std::{collections::BTreeSet, sync::Arc};

use ziggurat_runtime::config::Section;
use ziggurat_tokens::{CallerId, CallerNames};

use crate::toolsets::{Narrowing, View, patterns::Patterns, toolset::Toolset};

/// The toolsets of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolsets {
    pub(crate) sets: Vec<Toolset>,
}

/// Names that a server offers, those that are switched off included.
#[derive(Clone, Debug, Default)]
pub struct Offered<'a> {
    /// The tools.
    pub tools: Vec<&'a str>,
    /// The URIs of the resources.
    pub resources: Vec<&'a str>,
    /// The URI templates of the resource templates.
    pub templates: Vec<&'a str>,
    /// The prompts.
    pub prompts: Vec<&'a str>,
}

/// Findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Reasons not to use the toolsets.
    pub problems: Vec<String>,
    /// Warnings for the operator.
    pub warnings: Vec<String>,
}

// === impl Toolsets ===

impl Toolsets {
    /// Reads the list `toolsets`. Without a list there are no toolsets, and callers see everything.
    ///
    /// `prompt_keys` are other names of prompts, each with the name in the protocol.
    #[must_use]
    pub fn read(file: &Section<'_>, prompt_keys: &[(&str, &str)]) -> Option<Self> {
        let key = file.key("toolsets");
        let list = key.list()?;
        key.check(
            !list.is_empty(),
            "names no toolset; without the key all callers have everything",
        );
        let sets = list
            .into_iter()
            .map(|entry| Toolset::read(&entry.into_section(), prompt_keys));
        let sets: Vec<_> = sets.collect();
        let mut names = BTreeSet::new();
        for Toolset { name, .. } in &sets {
            if !names.insert(name) {
                file.complain(format_args!("duplicate toolset: {name}"));
            }
        }
        Some(Self { sets })
    }

    /// Adds a toolset that the file does not list, such as one for a section with tools of its own.
    #[must_use]
    pub fn with_set(
        mut self,
        file: &Section<'_>,
        name: &str,
        tools: impl IntoIterator<Item = String>,
        callers: CallerNames,
    ) -> Self {
        if self.sets.iter().any(|set| set.name == name) {
            file.complain(format_args!("duplicate toolset: {name}"));
        }
        self.sets.push(Toolset {
            name: name.to_owned(),
            tools: tools.into_iter().collect(),
            resources: Patterns::default(),
            prompts: Patterns::default(),
            rest: Vec::new(),
            callers,
        });
        self
    }

    /// Returns the names of the toolsets.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.sets.iter().map(|set| &*set.name).collect()
    }

    /// Checks the names against those that the server offers.
    #[must_use]
    pub fn check(&self, offered: &Offered<'_>) -> Found {
        let mut found = Found::default();
        for set in &self.sets {
            found.check(set, "tool", &set.tools, &offered.tools);
            found.check(set, "prompt", &set.prompts, &offered.prompts);
            for (entry, pattern) in set.resources.each() {
                let has_resource = offered.resources.iter().any(|uri| pattern.fit(uri));
                let mut templates = offered.templates.iter();
                if !has_resource && !templates.any(|template| pattern.fit_template(template)) {
                    // A table may be made later.
                    found.warn(set, format_args!("no resource fits {entry}"));
                }
            }
        }
        found
    }

    /// Returns a warning for each API token and each user that does not exist.
    #[must_use]
    pub fn check_callers(
        &self,
        has_token: impl Fn(&str) -> bool,
        has_user: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let mut found = Found::default();
        for set in &self.sets {
            for token in set.callers.tokens().iter().filter(|id| !has_token(id)) {
                found.warn(set, format_args!("no API token has the id {token}"));
            }
            for user in set.callers.users().iter().filter(|name| !has_user(name)) {
                found.warn(set, format_args!("no user is named {user}"));
            }
        }
        found.warnings
    }

    /// Returns what a caller sees.
    #[must_use]
    pub fn view(self: &Arc<Self>, caller: &CallerId<'_>, narrowing: Option<&Narrowing>) -> View {
        let only = narrowing.and_then(Narrowing::toolset);
        let sets = self
            .sets
            .iter()
            .enumerate()
            .filter(|(_, set)| only.is_none_or(|only| *only == *set.name) && set.is_of(caller));
        View {
            sets: sets.map(|(index, _)| index).collect(),
            toolsets: Arc::clone(self),
            tools: narrowing.and_then(Narrowing::tools).cloned(),
        }
    }

    /// Returns whether a caller has the toolset of this name.
    #[must_use]
    pub fn are_open_to(&self, caller: &CallerId<'_>, name: &str) -> bool {
        let mut sets = self.sets.iter();
        sets.any(|set| set.name == name && set.is_of(caller))
    }
}

// === impl Offered ===

impl Offered<'_> {
    /// Returns whether there is a resource at a URI, or a template for it.
    #[must_use]
    pub fn has_resource(&self, uri: &str) -> bool {
        self.resources.contains(&uri) || {
            let pattern = Patterns::from_iter([uri.to_owned()]);
            let mut templates = self.templates.iter();
            templates.any(|template| pattern.fit_template(template))
        }
    }
}

// === impl Found ===

impl Found {
    fn check(&mut self, set: &Toolset, kind: &str, patterns: &Patterns, offered: &[&str]) {
        for (entry, pattern) in patterns.each() {
            if offered.iter().any(|name| pattern.fit(name)) {
                continue;
            }
            if pattern.full_names().next().is_some() {
                let problem = format!("toolsets: '{}': unknown {kind}: {entry}", set.name);
                self.problems.push(problem);
            } else {
                self.warn(set, format_args!("no {kind} fits {entry}"));
            }
        }
    }

    fn warn(&mut self, set: &Toolset, warning: std::fmt::Arguments<'_>) {
        self.warnings
            .push(format!("toolsets: '{}': {warning}", set.name));
    }
}
