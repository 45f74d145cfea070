//! Log levels and format.

use thiserror::Error;
use tracing_subscriber::filter::{LevelFilter, Targets};

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
const FORMATS: [(&str, bool); 2] = [("text", false), ("json", true)];

/// Prefix of the targets of all our crates.
const TARGET_PREFIX: &str = "ziggurat";

/// The section `log` of a configuration file, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawLog {
    /// Level or filter.
    pub level: Option<String>,
    /// `text` or `json`.
    pub format: Option<String>,
}

/// Log levels and format.
///
/// `ZIGGURAT_LOG` and `ZIGGURAT_LOG_FORMAT` come first, then the [`OlderVariables`] variables, then
/// `RUST_LOG`, then the configuration file. A filter is a list such as
/// `info,ziggurat::database=debug`: a default level, and levels for events and spans of targets
/// with the given prefixes. Later sources decide for targets that a filter does not mention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Filters of `ZIGGURAT_LOG`, `RUST_LOG` and the file.
    filters: [Filter; 3],
    /// Level in the older variable.
    older: Option<LevelFilter>,
    is_json: bool,
}

/// Variables of a program that are older than the variables that all programs share.
#[derive(Clone, Copy, Debug, Default)]
pub struct OlderVariables {
    /// Name of the variable for the level.
    pub level: Option<&'static str>,
    /// Name of the variable for the format.
    pub format: Option<&'static str>,
}

/// Targets with rules of their own.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Prefix of the targets.
    pub target: &'static str,
    /// Level that overrides all sources.
    pub fixed: Option<LevelFilter>,
    /// Level in the older variable for these targets.
    pub older: Option<LevelFilter>,
    /// Level if no source has one.
    pub default: LevelFilter,
    /// Derives the level of these targets from a level for all targets.
    pub of: fn(LevelFilter) -> LevelFilter,
}

/// A default level, and levels by target prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Filter {
    all: Option<LevelFilter>,
    named: Vec<(String, LevelFilter)>,
}

/// A text that is not one of these words.
#[derive(Debug, Error)]
#[error("is none of {}", .0.join(", "))]
struct UnknownWord(Vec<&'static str>);

/// Variables, and a warning for each invalid one.
struct Variables<G> {
    get: G,
    warnings: Vec<String>,
}

// === impl RawLog ===

impl RawLog {
    /// Returns the invalid keys, each with its error.
    pub fn problems(&self) -> impl Iterator<Item = (&'static str, String)> {
        let level = self.level.as_deref().map(Filter::parse);
        let format = self.format.as_deref().map(|text| one_of(&FORMATS, text));
        let level = level.and_then(Result::err).map(|it| ("log.level", it));
        let format = format.and_then(Result::err).map(|it| ("log.format", it));
        let found = level.into_iter().chain(format);
        found.map(|(key, problem)| (key, problem.to_string()))
    }
}

// === impl Options ===

impl Options {
    /// Reads the variables and the configuration file. Invalid variables are ignored; returns a
    /// warning for each.
    pub fn read<'a>(
        get: impl FnMut(&'static str) -> Option<&'a str>,
        older: OlderVariables,
        file: &RawLog,
    ) -> (Self, Vec<String>) {
        let mut variables = Variables {
            get,
            warnings: Vec::new(),
        };
        let format = |text: &str| one_of(&FORMATS, text);
        let in_file = file.level.as_deref().map(Filter::parse);
        let filters = [
            variables.read("ZIGGURAT_LOG", Filter::parse),
            variables.read("RUST_LOG", Filter::parse),
            in_file.and_then(Result::ok),
        ];
        let is_json = variables
            .read("ZIGGURAT_LOG_FORMAT", format)
            .or_else(|| variables.read(older.format?, format))
            .or_else(|| format(file.format.as_deref()?).ok());
        let level = |text: &str| one_of(&LEVELS, text);
        let options = Self {
            filters: filters.map(Option::unwrap_or_default),
            older: older.level.and_then(|name| variables.read(name, level)),
            is_json: is_json.unwrap_or(false),
        };
        (options, variables.warnings)
    }

    /// Returns the filter for events and spans. Where two parts have the same target, the second
    /// one holds.
    ///
    /// Libraries log only warnings unless a filter names them. Events of sqlx are never written:
    /// they repeat notices of PostgreSQL, which quote text of callers.
    pub(super) fn targets(&self, parts: &[Part]) -> Targets {
        let mut all = vec![
            Part {
                of: |all| all.min(LevelFilter::WARN),
                ..Part::new("")
            },
            Part {
                fixed: Some(LevelFilter::OFF),
                ..Part::new("sqlx")
            },
            Part::new(TARGET_PREFIX),
        ];
        all.extend(parts);
        let named = self.filters.iter().flat_map(|filter| &filter.named);
        let prefixes = named.map(|(prefix, _)| prefix.as_str());
        // Targets take the level of their longest prefix, so each prefix gets the level that the
        // sources give to a target of this name.
        let prefixes = prefixes.chain(all.iter().map(|part| part.target));
        let levels = prefixes.filter_map(|prefix| {
            let parts = all.iter().filter(|part| prefix.starts_with(part.target));
            let part = parts.max_by_key(|part| part.target.len())?;
            Some((prefix, self.level(prefix, part)))
        });
        levels.collect()
    }

    fn level(&self, target: &str, part: &Part) -> LevelFilter {
        let [first, of_rust, of_file] = &self.filters;
        let older = part.older.or(self.older).map(part.of);
        part.fixed
            .or_else(|| first.level(target, part.of))
            .or(older)
            .or_else(|| of_rust.level(target, part.of))
            .or_else(|| of_file.level(target, part.of))
            .unwrap_or_else(|| (part.of)(part.default))
    }

    /// Returns whether lines are JSON objects.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.is_json
    }
}

// === impl Part ===

impl Part {
    /// Gives targets the level for all targets, by default `info`.
    #[must_use]
    pub const fn new(target: &'static str) -> Self {
        Self {
            target,
            fixed: None,
            older: None,
            default: LevelFilter::INFO,
            of: |all| all,
        }
    }
}

// === impl Filter ===

impl Filter {
    /// Parses `level`, or a comma-separated list of `level` and `target=level`.
    fn parse(text: &str) -> Result<Self, UnknownWord> {
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

// === impl Variables ===

impl<'a, G: FnMut(&'static str) -> Option<&'a str>> Variables<G> {
    fn read<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Result<T, UnknownWord>,
    ) -> Option<T> {
        let value = parse((self.get)(name)?);
        let warned = value.map_err(|problem| format!("{name} is ignored: it {problem}"));
        warned.map_err(|warning| self.warnings.push(warning)).ok()
    }
}

/// Finds a value by its name, ignoring case.
fn one_of<T: Copy>(choices: &[(&'static str, T)], text: &str) -> Result<T, UnknownWord> {
    let found = choices
        .iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    let unknown = || UnknownWord(choices.iter().map(|(name, _)| *name).collect());
    found.map(|(_, value)| *value).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;
    use crate::Environment;

    const TARGET: &str = "ziggurat_mcp";

    fn read(variables: &[(&str, &str)], level: &str) -> (Options, Vec<String>) {
        let environment = Environment::new(variables.iter().copied());
        let file = RawLog {
            level: Some(level.to_owned()),
            format: None,
        };
        let older = OlderVariables {
            level: Some("LOG_LEVEL"),
            format: Some("LOG_FORMAT"),
        };
        Options::read(|name| environment.get(name), older, &file)
    }

    /// Returns the level of the most detailed events that pass.
    fn level(filter: &Targets, target: &str) -> LevelFilter {
        let levels = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN];
        let levels = levels.into_iter().chain([Level::ERROR]);
        let mut passing = levels.filter(|level| filter.would_enable(target, level));
        passing.next().map_or(LevelFilter::OFF, LevelFilter::from)
    }

    #[test]
    fn the_level_is_that_of_the_first_source_that_has_one() {
        let part = Part {
            older: Some(LevelFilter::ERROR),
            ..Part::new(TARGET_PREFIX)
        };
        let flag = Part {
            fixed: Some(LevelFilter::DEBUG),
            ..part
        };
        let (all, of_rust) = (("ZIGGURAT_LOG", "trace"), ("RUST_LOG", "debug"));
        for (variables, parts, expected) in [
            (&[all, of_rust][..], &[part, flag][..], LevelFilter::DEBUG),
            (&[all, ("RUST_LOG", "off")], &[part], LevelFilter::TRACE),
            (&[of_rust], &[part], LevelFilter::ERROR),
            (&[("LOG_LEVEL", "ERROR"), of_rust], &[], LevelFilter::ERROR),
            (&[of_rust], &[], LevelFilter::DEBUG),
            (&[], &[], LevelFilter::WARN),
        ] {
            let (options, warnings) = read(variables, "warn");
            let level = level(&options.targets(parts), TARGET);
            assert_eq!((level, warnings), (expected, vec![]), "{variables:?}");
        }
        let (options, _) = read(&[], "");
        assert_eq!(level(&options.targets(&[]), TARGET), LevelFilter::INFO);
        let part = Part {
            default: LevelFilter::OFF,
            ..Part::new(TARGET)
        };
        assert_eq!(level(&options.targets(&[part]), TARGET), LevelFilter::OFF);
    }

    #[test]
    fn a_filter_holds_for_the_targets_it_names_and_the_longest_name_wins() {
        let first = " ziggurat=debug, ziggurat::database = off ,hyper=TRACE,sqlx=trace";
        let of_rust = "ziggurat_mcp=error,tower=info,tower::buffer=debug";
        let (options, _) = read(&[("ZIGGURAT_LOG", first), ("RUST_LOG", of_rust)], "info");
        let filter = options.targets(&[Part::new("ziggurat::database")]);
        for (target, expected) in [
            // A longer name in a later source does not count.
            (TARGET, LevelFilter::DEBUG),
            ("ziggurat::database", LevelFilter::OFF),
            ("hyper::proto", LevelFilter::TRACE),
            ("sqlx::query", LevelFilter::OFF),
            ("tower::buffer::worker", LevelFilter::DEBUG),
            ("tower::limit", LevelFilter::INFO),
            // In no filter, so the file decides; only warnings of libraries pass.
            ("notify", LevelFilter::WARN),
        ] {
            assert_eq!(level(&filter, target), expected, "{target}");
        }
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
