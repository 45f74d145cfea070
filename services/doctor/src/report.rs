//! Findings, as text and as JSON.

use std::{fmt::Write as _, process::ExitCode, time::Duration};

use serde::Serialize;
use ziggurat_runtime::console;

/// Default time limit of a check.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Options of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// True if the report is JSON.
    pub as_json: bool,
    /// True if a warning counts like a failure.
    pub is_strict: bool,
    /// Time limit of a check.
    pub timeout: Duration,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All is well.
    Ok,
    /// It works, and should be changed.
    Warn,
    /// It does not work, or is not safe.
    Fail,
}

/// Finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Id of the check.
    pub id: &'static str,
    /// Its result.
    pub status: Status,
    /// Name of the database, if the check is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The finding, in a sentence.
    pub finding: String,
    /// Advice: a sentence, SQL or YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Findings of all checks, in their order.
#[derive(Clone, Debug, Default)]
pub struct Report(Vec<Finding>);

#[derive(Serialize)]
struct Document<'a> {
    checks: &'a [Finding],
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    ok: usize,
    warn: usize,
    fail: usize,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            as_json: false,
            is_strict: false,
            timeout: TIMEOUT,
        }
    }
}

// === impl Status ===

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

// === impl Finding ===

impl Finding {
    /// Returns a finding that needs no change.
    #[must_use]
    pub fn ok(id: &'static str, finding: impl Into<String>) -> Self {
        Self {
            id,
            status: Status::Ok,
            database: None,
            finding: finding.into(),
            fix: None,
        }
    }

    /// Returns a finding that should be changed.
    #[must_use]
    pub fn warn(id: &'static str, finding: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            status: Status::Warn,
            fix: Some(fix.into()),
            ..Self::ok(id, finding)
        }
    }

    /// Returns a finding that must be changed.
    #[must_use]
    pub fn fail(id: &'static str, finding: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            status: Status::Fail,
            ..Self::warn(id, finding, fix)
        }
    }

    /// Sets the database.
    #[must_use]
    pub fn of(self, database: &str) -> Self {
        let database = Some(database.to_owned());
        Self { database, ..self }
    }
}

// === impl Report ===

impl Report {
    /// Prints the report, and returns the exit code: 0, or 1 if something must be changed.
    #[must_use]
    pub fn print(&self, options: &Options) -> ExitCode {
        let text = if options.as_json {
            self.json()
        } else {
            self.text()
        };
        match console::print(&text) {
            Ok(()) if self.is_good(options.is_strict) => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }

    /// Returns whether nothing must be changed; if it is strict, nothing should be either.
    #[must_use]
    pub fn is_good(&self, is_strict: bool) -> bool {
        let is_bad = |it: &Finding| match it.status {
            Status::Ok => false,
            Status::Warn => is_strict,
            Status::Fail => true,
        };
        !self.0.iter().any(is_bad)
    }

    /// Writes a line for each finding, and below it what to do.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for it in &self.0 {
            let (word, id, finding) = (it.status.word(), it.id, &it.finding);
            // Writing to a text cannot fail.
            let _ = match &it.database {
                Some(name) => writeln!(text, "{word}  {id}  database '{name}': {finding}"),
                None => writeln!(text, "{word}  {id}  {finding}"),
            };
            for (at, line) in it.fix.iter().flat_map(|fix| fix.lines()).enumerate() {
                let lead = if at == 0 { "fix: " } else { "     " };
                let _ = writeln!(text, "  {lead}{line}");
            }
        }
        text
    }

    /// Writes the findings as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        let count = |status| self.0.iter().filter(|it| it.status == status).count();
        let document = Document {
            checks: &self.0,
            summary: Summary {
                ok: count(Status::Ok),
                warn: count(Status::Warn),
                fail: count(Status::Fail),
            },
        };
        let text = serde_json::to_string_pretty(&document);
        text.unwrap_or_default() + "\n"
    }
}

impl Extend<Finding> for Report {
    fn extend<T: IntoIterator<Item = Finding>>(&mut self, findings: T) {
        self.0.extend(findings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_as_json_counts_what_it_lists() {
        let mut report = Report::default();
        report.extend([
            Finding::fail("db.connect", "connection refused", "start PostgreSQL").of("shop"),
            Finding::ok("config.read", "read"),
        ]);
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        let expected = serde_json::json!({
            "checks": [
                {"id": "db.connect", "status": "fail", "database": "shop",
                    "finding": "connection refused", "fix": "start PostgreSQL"},
                {"id": "config.read", "status": "ok", "finding": "read"},
            ],
            "summary": {"ok": 1, "warn": 0, "fail": 1},
        });
        assert_eq!(json, expected);
        assert!(!report.is_good(false));
    }
}
