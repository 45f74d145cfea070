//! A key of a configuration, with a value from the command line, the environment or the file.

use std::{
    borrow::Cow,
    ffi::OsStr,
    fmt::{self, Display},
    ops::RangeInclusive,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use crate::{
    Environment, Secret,
    config::{ConfigReader, Section, Source},
    duration,
    yaml::{Node, Scalar},
};

/// A key of a configuration. An empty value counts as a missing one, unless a method says
/// otherwise.
#[derive(Clone)]
pub struct Value<'a> {
    reading: &'a ConfigReader<'a>,
    node: Option<&'a Node>,
    place: String,
    /// Value that takes precedence over the file.
    given: Option<Given<'a>>,
}

#[derive(Clone)]
enum Given<'a> {
    Flag(&'a OsStr),
    /// Name and value.
    Variable(String, &'a str),
}

/// A type of whole numbers.
pub trait Number: Copy + Display + FromStr + PartialOrd + TryFrom<i128> {
    /// The least number.
    const MIN: Self;
    /// The greatest number.
    const MAX: Self;
}

macro_rules! number {
    ($($number:ty)*) => { $(
        impl Number for $number {
            const MIN: Self = <$number>::MIN;
            const MAX: Self = <$number>::MAX;
        }
    )* };
}

number!(u16 u32 u64 usize i64);

/// Returns whether a variable says yes; everything except a few words for yes means no.
#[must_use]
pub(crate) fn is_set(text: &str) -> bool {
    let mut words = ["true", "1", "yes"].iter();
    words.any(|yes| text.eq_ignore_ascii_case(yes))
}

// === impl Value ===

impl<'a> Value<'a> {
    pub(super) fn new(
        reading: &'a ConfigReader<'a>,
        node: Option<&'a Node>,
        place: String,
    ) -> Self {
        let node = node.filter(|node| !node.is_null());
        if node.is_some() {
            reading.took(&place, Source::File);
        }
        Self {
            reading,
            node,
            place,
            given: None,
        }
    }

    /// Takes the value of a variable, if it is set, in place of earlier ones.
    #[must_use]
    pub fn var(mut self, name: &str) -> Self {
        let text = self.reading.variable(name);
        if text.is_some() {
            self.reading.took(&self.place, Source::Environment);
        }
        let given = text.map(|text| Given::Variable(name.to_owned(), text));
        self.given = given.or(self.given);
        self
    }

    /// Takes the value of a flag, if it was given, in place of earlier ones.
    #[must_use]
    pub fn flag(mut self, name: &str) -> Self {
        let value = self.reading.flags.value(name);
        if value.is_some() {
            self.reading.took(&self.place, Source::Flag);
        }
        self.given = value.map(Given::Flag).or(self.given);
        self
    }

    /// Returns whether the key has a value, which may be empty.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.given.is_some() || self.node.is_some()
    }

    /// Reads a text.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.written().filter(|text| !text.is_empty())
    }

    /// Reads a text, which may be empty.
    #[must_use]
    pub fn written(&self) -> Option<String> {
        if self.given.is_some() {
            return self.given();
        }
        match self.node? {
            Node::Scalar(_, text) if self.reading.expands => self.expanded(text),
            Node::Scalar(_, text) => Some(text.clone()),
            _ => self.must_be("a text"),
        }
    }

    /// Reads a password or a key.
    #[must_use]
    pub fn secret(&self) -> Option<Secret> {
        self.text().map(Secret::from)
    }

    /// Reads a path, with `~` replaced by the home folder of the user.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let path = match &self.given {
            Some(Given::Flag(value)) => (*value).into(),
            _ => self.text()?.into(),
        };
        self.reading.sources.path(Some(path))
    }

    /// Reads a path like [`path`](Self::path). A relative path in the file starts at the folder of
    /// the file; in a flag or variable it starts at the working directory.
    #[must_use]
    pub fn resolved_path(&self) -> Option<PathBuf> {
        let path = self.path()?;
        Some(match self.reading.folder {
            Some(folder) if self.given.is_none() => folder.join(path),
            _ => path,
        })
    }

    /// Reads a boolean.
    #[must_use]
    pub fn boolean(&self) -> Option<bool> {
        match (&self.given, self.node) {
            (Some(Given::Flag(value)), _) => Some(*value != "false"),
            (Some(Given::Variable(_, text)), _) => Some(is_set(text)),
            (None, Some(Node::Scalar(Scalar::Boolean(value), _))) if !self.reading.expands => {
                Some(*value)
            }
            (None, Some(_)) if !self.reading.expands => self.must_be("true or false"),
            _ => {
                let text = self.text()?;
                match text.to_ascii_lowercase().as_str() {
                    "true" | "yes" | "on" => Some(true),
                    "false" | "no" | "off" => Some(false),
                    _ => {
                        let problem = format!("invalid boolean {text:?}: write true or false");
                        self.unreadable(&problem)
                    }
                }
            }
        }
    }

    /// Reads a whole number in a range.
    #[must_use]
    pub fn whole<T: Number>(&self, range: RangeInclusive<T>) -> Option<T> {
        let number = match self.number() {
            Some(number) => number,
            None => self.written_whole(&range)?,
        };
        if range.contains(&number) {
            return Some(number);
        }
        self.problem(out_of(&range, number > *range.end()));
        None
    }

    fn written_whole<T: Number>(&self, range: &RangeInclusive<T>) -> Option<T> {
        let number = if self.reading.expands {
            let text = self.text()?;
            let Ok(number) = text.trim().parse::<i64>() else {
                return self.unreadable(&format!("invalid number {text:?}: not a whole number"));
            };
            number.into()
        } else {
            let Some(number) = self.node?.whole() else {
                return self.must_be(&kind::<T>());
            };
            number
        };
        match T::try_from(number) {
            Ok(number) => Some(number),
            Err(_) if self.reading.expands => {
                self.problem(out_of(range, number > 0));
                None
            }
            Err(_) => self.must_be(&kind::<T>()),
        }
    }

    /// Reads a decimal number in a range.
    #[must_use]
    pub fn decimal(&self, range: RangeInclusive<f64>) -> Option<f64> {
        use Scalar::{Decimal, Large, Whole};

        let number = match (self.number(), self.node) {
            (Some(number), _) => number,
            (None, None) => return None,
            (None, Some(_)) if self.reading.expands => {
                let text = self.text()?;
                let number = text.trim().parse::<f64>().ok();
                let Some(number) = number.filter(|number| number.is_finite()) else {
                    let problem = format!("invalid number {text:?}: not a decimal number");
                    return self.unreadable(&problem);
                };
                number
            }
            (None, Some(Node::Scalar(Whole(_) | Large(_) | Decimal(_), text))) => {
                // `parse` refuses notations of YAML such as `.nan` and `.inf`.
                text.parse().unwrap_or(f64::NAN)
            }
            (None, Some(_)) => return self.must_be("a number"),
        };
        if range.contains(&number) {
            return Some(number);
        }
        let (least, most) = range.into_inner();
        self.problem(if self.reading.expands {
            format!("must be between {least:?} and {most:?}")
        } else {
            format!("must be between {least} and {most}")
        });
        None
    }

    /// Reads a duration, which may be zero.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        let text = self.text()?;
        let error = match duration::parse(&text) {
            Ok(time) => return Some(time),
            Err(error) => error,
        };
        let positive = text.strip_prefix('-').map(duration::parse);
        if !self.reading.expands {
            self.problem(format!("'{text}' is {error}"));
        } else if positive.is_some_and(|positive| positive.is_ok()) {
            self.problem("must not be negative");
        } else {
            return self.unreadable(&format!("invalid duration {text:?}: {error}"));
        }
        None
    }

    /// Reads a duration that is longer than zero.
    #[must_use]
    pub fn some_time(&self) -> Option<Duration> {
        let time = self.time()?;
        self.check(!time.is_zero(), "must be longer than 0");
        Some(time).filter(|time| !time.is_zero())
    }

    /// Reads a text and parses it.
    pub fn parsed<T, E: Display>(&self, parse: impl FnOnce(&str) -> Result<T, E>) -> Option<T> {
        let parsed = parse(&self.text()?);
        parsed.map_err(|error| self.problem(error)).ok()
    }

    /// Reads a list, or the texts between the commas of a variable.
    #[must_use]
    pub fn list(&self) -> Option<Vec<Self>> {
        match self.node {
            None if self.reading.finds_keys => Some(vec![self.element(0, None)]),
            None => None,
            Some(Node::List(list)) => {
                let list = list.iter().enumerate();
                let list = list.map(|(index, node)| self.element(index, Some(node)));
                Some(list.collect())
            }
            Some(_) => self.must_be("a list"),
        }
    }

    /// Reads a list of texts, which may be empty, or the texts between the commas of a variable.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<String>> {
        if let Some(text) = self.given() {
            let items = text.split(',').map(str::trim);
            let items = items.filter(|item| !item.is_empty());
            return Some(items.map(str::to_owned).collect());
        }
        let list = self.list()?;
        Some(list.iter().filter_map(Self::written).collect())
    }

    /// Returns a section that a list of the file does not have, for values of other sources.
    #[must_use]
    pub fn absent(&self, index: usize) -> Section<'a> {
        self.element(index, None).into_section()
    }

    /// Returns the section that is the value.
    #[must_use]
    pub fn into_section(self) -> Section<'a> {
        Section::at(self.reading, self.node, self.place)
    }

    /// Converts the value, of any kind, with the variables of its texts expanded. It may have any
    /// keys.
    #[must_use]
    pub fn any(&self) -> Option<serde_yaml::Value> {
        use serde_yaml::Value;

        self.reading.findings.borrow_mut().keys.open(&self.place);
        Some(match self.node? {
            Node::Scalar(Scalar::Null, _) => Value::Null,
            Node::Scalar(Scalar::Boolean(value), _) => Value::Bool(*value),
            Node::Scalar(Scalar::Whole(number), _) => (*number).into(),
            Node::Scalar(Scalar::Large(number), _) => (*number).into(),
            Node::Scalar(Scalar::Decimal(number), _) => (*number).into(),
            Node::Scalar(Scalar::Text, _) => self.written().unwrap_or_default().into(),
            Node::List(_) => {
                let list = self.list()?.into_iter();
                list.map(|value| value.any().unwrap_or_default()).collect()
            }
            Node::Map(map) => {
                let values = map.iter().map(|(key, node)| {
                    let place = super::keys::join(&self.place, key);
                    let value = Self::new(self.reading, Some(node), place);
                    (Value::from(key), value.any().unwrap_or_default())
                });
                Value::Mapping(values.collect())
            }
        })
    }

    /// Returns the path of the key.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Adds a warning.
    pub(crate) fn warn(&self, warning: String) {
        self.reading.warn(warning);
    }

    /// Adds a problem with the value.
    pub fn problem(&self, problem: impl Display) {
        self.reading.problem(&self.place, problem.to_string());
    }

    /// Adds a problem unless the value is good.
    pub fn check(&self, is_good: bool, problem: &str) {
        if !is_good {
            self.problem(problem);
        }
    }

    /// Adds a problem unless there is a value, which is returned.
    pub fn required<T: Default>(&self, value: Option<T>) -> T {
        self.check(value.is_some(), "required");
        value.unwrap_or_default()
    }

    /// Adds a problem with a value that cannot be read at all, and returns `None`.
    #[expect(clippy::must_use_candidate, reason = "the problem is what counts")]
    pub fn unreadable<T>(&self, problem: &str) -> Option<T> {
        let sentence = format!("{problem} at {}", self.place);
        self.reading.wrong(&self.place, sentence);
        None
    }

    /// Adds a problem with an unknown key of a value that may have any keys.
    pub fn unknown_key(&self, below: &str) {
        let key = format!("{}{below}", self.place);
        let problems = &mut self.reading.findings.borrow_mut().problems;
        problems.push(format!("unknown key '{}'", key.escape_debug()));
    }

    fn must_be<T>(&self, kind: &str) -> Option<T> {
        let sentence = format!("{}: must be {kind}", self.place);
        self.reading.wrong(&self.place, sentence);
        None
    }

    fn element(&self, index: usize, node: Option<&'a Node>) -> Self {
        Self::new(self.reading, node, format!("{}[{index}]", self.place))
    }

    fn given(&self) -> Option<String> {
        match self.given.as_ref()? {
            Given::Variable(_, text) => Some((*text).to_owned()),
            Given::Flag(value) => value.to_str().map(str::to_owned),
        }
    }

    /// Reads a number of a flag or a variable. An invalid one is ignored with a warning.
    fn number<T: FromStr>(&self) -> Option<T> {
        let number = self.given()?.trim().parse().ok();
        if let (None, Some(Given::Variable(name, _))) = (&number, &self.given) {
            let warning = format!("{name} is not a valid number and is ignored");
            self.reading.warn(warning);
        }
        number
    }

    fn expanded(&self, text: &str) -> Option<String> {
        match expand(text, &self.reading.environment) {
            Ok(text) => Some(text.into_owned()),
            Err(variable) => {
                self.problem(format!("environment variable not set: {variable}"));
                let mut findings = self.reading.findings.borrow_mut();
                findings.settled.insert(self.place.clone());
                None
            }
        }
    }
}

impl Display for Value<'_> {
    /// Prints the place of the key, such as `http.tls.enabled`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl fmt::Debug for Value<'_> {
    /// Prints the place only, because the value may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Value").field(&self.place).finish()
    }
}

/// Completes `must be …` for numbers of a type.
fn kind<T: Number>() -> String {
    let (least, most) = (T::MIN, T::MAX);
    if most.to_string().len() <= u32::MAX.to_string().len() {
        return format!("a whole number from {least} to {most}");
    }
    format!("a whole number, {least} or more")
}

fn out_of<T: Number>(range: &RangeInclusive<T>, is_above: bool) -> String {
    let (least, most) = (*range.start(), *range.end());
    // People know the greatest port as a bound, but not the bounds of larger types.
    match most < T::MAX || most.to_string().len() <= 5 {
        true => format!("must be between {least} and {most}"),
        false if is_above => "is too large".to_owned(),
        false if least.to_string() == "0" => "must be non-negative".to_owned(),
        false => format!("must be at least {least}"),
    }
}

/// Replaces `${NAME}` by the value of the variable. `$${` stands for `${`; every other `$` stays
/// unchanged, because passwords may contain it.
///
/// # Errors
/// Names the first variable that is not set.
fn expand<'a>(text: &'a str, environment: &Environment) -> Result<Cow<'a, str>, &'a str> {
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
        expanded.push_str(environment.get(name).ok_or(name)?);
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
            let expanded = expanded.as_deref().map_err(|name| *name);
            assert_eq!(expanded, expected, "{text}");
        }
    }
}
