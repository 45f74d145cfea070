//! Log levels and format.

use serde::{Deserialize, Deserializer};
use tracing::metadata::LevelFilter;

/// The levels by name.
const LEVELS: [(&str, LevelFilter); 6] = [
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
    ("off", LevelFilter::OFF),
];

/// The formats by name, and whether each is JSON.
const FORMS: [(&str, bool); 2] = [("text", false), ("json", true)];

/// The section `log` of a configuration file, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RawLog {
    /// Level or filter.
    #[serde(default, deserialize_with = "filled")]
    pub level: Option<String>,
    /// `text` or `json`.
    #[serde(default, deserialize_with = "filled")]
    pub format: Option<String>,
}

/// Log levels and format.
///
/// `ZIGGURAT_LOG` and `ZIGGURAT_LOG_FORMAT` come first, then the variables of each program, then
/// `RUST_LOG`, then the configuration file. A filter is a list such as
/// `info,ziggurat::database=debug`: a default level, and levels for targets with the given
/// prefixes. Later sources decide for targets that a filter does not mention.
///
/// ```
/// use tracing::metadata::LevelFilter;
/// use ziggurat_runtime::{Environment, logs::{Options, RawLog}};
///
/// let environment = Environment::new([("ZIGGURAT_LOG", "warn,hyper=debug")]);
/// let (file, mut warnings) = (RawLog::default(), Vec::new());
/// let options = Options::read(|name| environment.get(name), None, &file, &mut warnings);
/// let level = |target| options.level(target, None, LevelFilter::INFO, |all| all);
/// assert_eq!(level("ziggurat_mcp"), LevelFilter::WARN);
/// assert_eq!(level("hyper::proto"), LevelFilter::DEBUG);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Filter of `ZIGGURAT_LOG`.
    first: Filter,
    /// Filters of `RUST_LOG` and of the file.
    last: [Filter; 2],
    is_json: bool,
}

/// A default level, and levels by target prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Filter {
    all: Option<LevelFilter>,
    named: Vec<(String, LevelFilter)>,
}

// === impl RawLog ===

impl RawLog {
    /// Returns the invalid keys, each with its error.
    pub fn problems(&self) -> impl Iterator<Item = (&'static str, String)> {
        let level = self.level.as_deref().map(Filter::parse);
        let level = level.and_then(Result::err);
        let format = self.format.as_deref().map(|text| one_of(&FORMS, text));
        let format = format.and_then(Result::err);
        let level = level.map(|problem| ("log.level", problem));
        level
            .into_iter()
            .chain(format.map(|problem| ("log.format", problem)))
    }
}

// === impl Options ===

impl Options {
    /// Reads the variables and the configuration file. `old_format` is an older variable of the
    /// program for the format.
    ///
    /// An invalid variable is ignored with a warning.
    pub fn read<'a>(
        mut get: impl FnMut(&'static str) -> Option<&'a str>,
        old_format: Option<&'static str>,
        file: &RawLog,
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut options = Self::default();
        let [of_rust, of_file] = &mut options.last;
        for (name, filter) in [("ZIGGURAT_LOG", &mut options.first), ("RUST_LOG", of_rust)] {
            if let Some(text) = get(name) {
                *filter = Filter::parse(text).unwrap_or_else(|problem| {
                    warnings.push(format!("{name} is ignored: it {problem}"));
                    Filter::default()
                });
            }
        }
        let level = file.level.as_deref().unwrap_or_default();
        *of_file = Filter::parse(level).unwrap_or_default();
        let variables = [Some("ZIGGURAT_LOG_FORMAT"), old_format];
        let form = variables.into_iter().flatten().find_map(|name| {
            let form = one_of(&FORMS, get(name)?);
            form.map_err(|problem| warnings.push(format!("{name} is ignored: it {problem}")))
                .ok()
        });
        let in_file = || one_of(&FORMS, file.format.as_deref()?).ok();
        options.is_json = form.or_else(in_file).unwrap_or(false);
        options
    }

    /// Parses the name of a level, for a program's own variables.
    ///
    /// # Errors
    /// Fails on other texts and lists the valid names.
    pub fn named_level(text: &str) -> Result<LevelFilter, String> {
        one_of(&LEVELS, text)
    }

    /// Returns the maximum level of events of a target. `old` is the level of a program's own
    /// variable; `of` derives the level for this target from a default level.
    ///
    /// Events of sqlx are never written: they repeat notices of PostgreSQL, which quote text of
    /// callers.
    pub fn level(
        &self,
        target: &str,
        old: Option<LevelFilter>,
        default: LevelFilter,
        of: impl Fn(LevelFilter) -> LevelFilter,
    ) -> LevelFilter {
        if target.starts_with("sqlx") {
            return LevelFilter::OFF;
        }
        let last = || {
            self.last
                .iter()
                .find_map(|filter| filter.level(target, &of))
        };
        self.first
            .level(target, &of)
            .or_else(|| old.map(&of))
            .or_else(last)
            .unwrap_or_else(|| of(default))
    }

    /// Returns a level that no event of these options exceeds.
    #[must_use]
    pub fn most(&self) -> LevelFilter {
        let filters = self.last.iter().chain([&self.first]);
        let levels = filters.flat_map(|filter| {
            let named = filter.named.iter().map(|(_, level)| *level);
            named.chain(filter.all)
        });
        levels.max().unwrap_or(LevelFilter::OFF)
    }

    /// Returns whether lines are JSON objects.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.is_json
    }
}

// === impl Filter ===

impl Filter {
    /// Parses `level`, or a comma-separated list of `level` and `target=level`.
    fn parse(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        let items = text.split(',').map(str::trim);
        for item in items.filter(|item| !item.is_empty()) {
            match item.split_once('=') {
                None => filter.all = Some(one_of(&LEVELS, item)?),
                Some((target, level)) => {
                    let level = one_of(&LEVELS, level.trim())?;
                    filter.named.push((target.trim().to_owned(), level));
                }
            }
        }
        Ok(filter)
    }

    fn level(&self, target: &str, of: impl Fn(LevelFilter) -> LevelFilter) -> Option<LevelFilter> {
        let named = self.named.iter();
        let named = named.filter(|(name, _)| target.starts_with(name.as_str()));
        let nearest = named.max_by_key(|(name, _)| name.len());
        nearest.map(|(_, level)| *level).or(self.all.map(of))
    }
}

/// Reads a text, with an empty one as `None`.
fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// Finds a value by its name, ignoring case.
fn one_of<T: Copy>(choices: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = choices
        .iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        format!("is none of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    const OURS: &str = "ziggurat_mcp";

    fn read(variables: &[(&str, &str)], level: &str) -> (Options, Vec<String>) {
        let environment = Environment::new(variables.iter().copied());
        let file = RawLog {
            level: Some(level.to_owned()),
            format: None,
        };
        let mut warnings = Vec::new();
        let get = |name| environment.get(name);
        let options = Options::read(get, Some("LOG_FORMAT"), &file, &mut warnings);
        (options, warnings)
    }

    #[test]
    fn the_level_is_that_of_the_first_source_that_has_one() {
        let old = Some(LevelFilter::ERROR);
        for (variables, old, expected) in [
            (
                &[("ZIGGURAT_LOG", "trace"), ("RUST_LOG", "off")][..],
                old,
                LevelFilter::TRACE,
            ),
            (&[("RUST_LOG", "debug")], old, LevelFilter::ERROR),
            (&[("RUST_LOG", "debug")], None, LevelFilter::DEBUG),
            (&[], None, LevelFilter::WARN),
        ] {
            let (options, warnings) = read(variables, "warn");
            let level = options.level(OURS, old, LevelFilter::INFO, |all| all);
            assert_eq!((level, warnings), (expected, vec![]), "{variables:?}");
        }
        let (options, _) = read(&[], "");
        let level = options.level(OURS, None, LevelFilter::INFO, |all| all);
        assert_eq!(level, LevelFilter::INFO);
    }

    #[test]
    fn a_filter_holds_for_the_targets_it_names_and_the_longest_name_wins() {
        let (options, _) = read(
            &[(
                "ZIGGURAT_LOG",
                " ziggurat=debug, ziggurat::database = off ,hyper=TRACE",
            )],
            "warn",
        );
        for (target, expected) in [
            (OURS, LevelFilter::DEBUG),
            ("ziggurat::database", LevelFilter::OFF),
            ("hyper::proto", LevelFilter::TRACE),
            ("sqlx::query", LevelFilter::OFF),
            // Not in the filter, so the file decides.
            ("notify", LevelFilter::WARN),
        ] {
            let level = options.level(target, None, LevelFilter::INFO, |all| all);
            assert_eq!(level, expected, "{target}");
        }
        assert_eq!(options.most(), LevelFilter::TRACE);
    }

    #[test]
    fn an_invalid_value_is_ignored_with_a_warning_or_is_a_problem_of_the_file() {
        let (options, warnings) = read(
            &[
                ("ZIGGURAT_LOG", "loud"),
                ("RUST_LOG", "a=b=c"),
                ("ZIGGURAT_LOG_FORMAT", "xml"),
                ("LOG_FORMAT", "JSON"),
            ],
            "",
        );
        let levels = "error, warn, info, debug, trace, off";
        assert_eq!(
            warnings,
            [
                format!("ZIGGURAT_LOG is ignored: it is none of {levels}"),
                format!("RUST_LOG is ignored: it is none of {levels}"),
                "ZIGGURAT_LOG_FORMAT is ignored: it is none of text, json".to_owned(),
            ]
        );
        assert!(options.is_json());
        let file = RawLog {
            level: Some("loud".to_owned()),
            format: Some("xml".to_owned()),
        };
        let problems: Vec<_> = file.problems().collect();
        assert_eq!(
            problems,
            [
                ("log.level", format!("is none of {levels}")),
                ("log.format", "is none of text, json".to_owned()),
            ]
        );
    }
}
