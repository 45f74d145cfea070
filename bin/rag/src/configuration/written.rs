//! Raw values and their parsing.
//!
//! Every value is read as text, whatever type YAML gives it, because `${NAME}` may also stand for a
//! number. It is parsed when it is checked, so that an invalid value is reported with its place and
//! together with all other problems.

use std::{borrow::Cow, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Deserializer};
use ziggurat_runtime::{Environment, Secret, duration};

use super::{
    ConfigSources,
    findings::{Findings, Place},
};

/// A raw text, number or boolean, which may be secret.
#[derive(Clone, Default)]
pub(super) struct Written(String);

/// Parses values, and collects the problems of invalid ones.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) around: &'a ConfigSources,
    pub(super) findings: Findings,
}

// === impl Written ===

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

impl From<String> for Written {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Written(…)")
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    pub(super) fn new(around: &'a ConfigSources) -> Self {
        Self {
            around,
            findings: Findings::default(),
        }
    }

    /// Adds a problem with a value, with the message of an error.
    pub(super) fn problem(&mut self, place: &Place, error: &dyn fmt::Display) {
        self.findings.problem(place, error.to_string());
    }

    /// Returns a text; `None` if it is empty.
    pub(super) fn text(&mut self, place: &Place, written: Option<Written>) -> Option<String> {
        let text = self.expanded(place, written?);
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns a text, which may be empty and is empty if one of its variables is not set.
    pub(super) fn expanded(&mut self, place: &Place, Written(text): Written) -> String {
        match expand(&text, &self.around.environment) {
            Ok(Cow::Borrowed(_)) => text,
            Ok(Cow::Owned(expanded)) => expanded,
            Err(variable) => {
                self.findings.unset(place, &variable);
                String::new()
            }
        }
    }

    /// Returns a text that debug output hides.
    pub(super) fn secret(&mut self, place: &Place, written: Option<Written>) -> Option<Secret> {
        self.text(place, written)
            .map(|text| Secret::from(text.as_str()))
    }

    /// Returns a path, with `~` replaced by the home folder of the user.
    pub(super) fn path(&mut self, place: &Place, written: Option<Written>) -> Option<PathBuf> {
        let path = PathBuf::from(self.text(place, written)?);
        Some(self.around.at_home(path))
    }

    /// Returns a boolean.
    pub(super) fn boolean(&mut self, place: &Place, written: Option<Written>) -> Option<bool> {
        let text = self.text(place, written)?;
        let value = match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        };
        if value.is_none() {
            let message = format!("invalid boolean {text:?}: write true or false");
            self.findings.unreadable(place, &message);
        }
        value
    }

    /// Returns a whole number.
    pub(super) fn integer(&mut self, place: &Place, written: Option<Written>) -> Option<i64> {
        let text = self.text(place, written)?;
        let value = text.trim().parse().ok();
        if value.is_none() {
            let message = format!("invalid number {text:?}: not a whole number");
            self.findings.unreadable(place, &message);
        }
        value
    }

    /// Returns a decimal number.
    pub(super) fn decimal(&mut self, place: &Place, written: Option<Written>) -> Option<f64> {
        let text = self.text(place, written)?;
        let value = text
            .trim()
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite());
        if value.is_none() {
            let message = format!("invalid number {text:?}: not a decimal number");
            self.findings.unreadable(place, &message);
        }
        value
    }

    /// Returns a duration.
    pub(super) fn time(&mut self, place: &Place, written: Option<Written>) -> Option<Duration> {
        let text = self.text(place, written)?;
        match duration::parse(&text) {
            Ok(time) => Some(time),
            Err(_) if is_negative(&text) => {
                self.findings.problem(place, "must not be negative");
                None
            }
            Err(error) => {
                let message = format!("invalid duration {text:?}: {error}");
                self.findings.unreadable(place, &message);
                None
            }
        }
    }

    /// Returns a duration that must be longer than zero.
    pub(super) fn some_time(
        &mut self,
        place: &Place,
        written: Option<Written>,
    ) -> Option<Duration> {
        let time = self.time(place, written)?;
        self.findings
            .check(!time.is_zero(), place, "must be longer than nothing");
        Some(time).filter(|time| !time.is_zero())
    }

    /// Returns a number that is not negative and fits `usize`.
    pub(super) fn count(&mut self, place: &Place, written: Option<Written>) -> Option<usize> {
        let number = self.integer(place, written)?;
        let count = usize::try_from(number).ok();
        self.findings
            .check(count.is_some(), place, "must be non-negative");
        count
    }

    /// Returns a port.
    pub(super) fn port(&mut self, place: &Place, written: Option<Written>) -> Option<u16> {
        let number = self.integer(place, written)?;
        let port = u16::try_from(number).ok().filter(|port| *port > 0);
        self.findings
            .check(port.is_some(), place, "must be between 1 and 65535");
        port
    }
}

fn is_negative(text: &str) -> bool {
    let rest = text.strip_prefix('-');
    rest.is_some_and(|rest| duration::parse(rest).is_ok())
}

/// Replaces `${NAME}` by the value of the variable. `$${` stands for `${`; every other `$` stays
/// unchanged, because passwords may contain it.
///
/// # Errors
/// Names the first variable that is not set.
fn expand<'a>(text: &'a str, environment: &Environment) -> Result<Cow<'a, str>, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = after;
            continue;
        }
        expanded.push_str(before);
        let end = after.find('}').filter(|end| is_name(&after[..*end]));
        let Some(end) = end else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        let name = &after[..end];
        expanded.push_str(environment.get(name).ok_or_else(|| name.to_owned())?);
        rest = &after[end + 1..];
    }
    if rest.len() == text.len() {
        return Ok(Cow::Borrowed(text));
    }
    expanded.push_str(rest);
    Ok(Cow::Owned(expanded))
}

fn is_name(text: &str) -> bool {
    let mut letters = text.bytes();
    let first = letters.next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_expanded_and_other_dollar_signs_are_kept() {
        let environment = Environment::new([("A", "one"), ("B_2", "two ${A} $${A}")]);
        for (text, expected) in [
            ("", Ok("")),
            ("plain", Ok("plain")),
            ("${A}", Ok("one")),
            ("<${A}|${A}>", Ok("<one|one>")),
            ("$${A}", Ok("${A}")),
            ("$$${A}", Ok("$${A}")),
            ("a$b$$c$", Ok("a$b$$c$")),
            ("$A", Ok("$A")),
            ("${", Ok("${")),
            ("${}", Ok("${}")),
            ("${1}", Ok("${1}")),
            ("${a b}${A}", Ok("${a b}one")),
            // Values of variables are not expanded again.
            ("${B_2}", Ok("two ${A} $${A}")),
            ("${C}", Err("C")),
            ("${A}${D}${C}", Err("D")),
        ] {
            let expanded = expand(text, &environment);
            let expanded = expanded.as_deref().map_err(String::as_str);
            assert_eq!(expanded, expected, "{text}");
        }
    }

    #[test]
    fn debug_output_hides_the_value() {
        assert_eq!(format!("{:?}", Written("swordfish".into())), "Written(…)");
    }
}
