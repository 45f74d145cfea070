//! Findings about a configuration, one line each.

use std::fmt::Write as _;

use serde::Serialize;
use ziggurat_runtime::escape::escape;

/// Result for one thing of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// It does the same here.
    Same,
    /// It does something else here, or needs a hand.
    Changed,
    /// It has no equal here.
    Missing,
}

/// A finding.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    status: Status,
    file: String,
    line: usize,
    name: String,
    what: String,
}

/// The findings about all files, in their order. No line holds a secret: a value is written only if
/// it is a name.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Report(Vec<Finding>);

/// A thing of a configuration, and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: usize,
    pub(crate) name: &'a str,
}

// === impl Report ===

impl Report {
    /// Returns whether something has no equal here.
    #[must_use]
    pub fn lacks_something(&self) -> bool {
        self.0.iter().any(|line| line.status == Status::Missing)
    }

    /// Writes the findings as lines. Other files than ours chose the names, so characters that
    /// could move a cursor are escaped.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.0 {
            let status = match line.status {
                Status::Same => "same",
                Status::Changed => "changed",
                Status::Missing => "missing",
            };
            let Finding { file, name, .. } = line;
            let (number, what) = (line.line, &line.what);
            let line = format!("{status}  {file}:{number}  {name}  {what}");
            let _ = writeln!(text, "{}", escape(&line));
        }
        text
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Puts the findings into the order of the files and their lines.
    pub(crate) fn sort(&mut self) {
        let mut files: Vec<String> = Vec::new();
        for line in &self.0 {
            if !files.contains(&line.file) {
                files.push(line.file.clone());
            }
        }
        let file = |line: &Finding| files.iter().position(|it| *it == line.file);
        self.0.sort_by_key(|line| (file(line), line.line));
    }

    pub(crate) fn same(&mut self, place: Place<'_>, what: impl Into<String>) {
        self.add(Status::Same, place, what.into());
    }

    pub(crate) fn changed(&mut self, place: Place<'_>, what: impl Into<String>) {
        self.add(Status::Changed, place, what.into());
    }

    pub(crate) fn missing(&mut self, place: Place<'_>, what: impl Into<String>) {
        self.add(Status::Missing, place, what.into());
    }

    fn add(&mut self, status: Status, place: Place<'_>, what: String) {
        self.0.push(Finding {
            status,
            file: place.file.to_owned(),
            line: place.line,
            name: place.name.to_owned(),
            what,
        });
    }
}
