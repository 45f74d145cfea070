//! Limits of a configuration, and the callers that they are for.

use std::sync::Arc;

use http::HeaderValue;
use ziggurat_layers::rate_limit::Quota;
use ziggurat_runtime::config::Section;
use ziggurat_tokens::{CallerId, CallerNames};

use crate::limits::fields;

/// Number of callers that are counted unless the operator sets another.
const MAX_CALLERS: usize = 10_000;

/// The greatest integer of a header field: RFC 9651 gives it fifteen digits.
const GREATEST: u64 = 999_999_999_999_999;

/// Limits of a configuration.
///
/// ```
/// use ziggurat_calls::limits::Settings;
/// use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("server.yaml");
/// std::fs::write(
///     &path,
///     "limits:
///        callers:
///        - {for: {clients: [acme-bot]}, calls: 120 per minute, concurrent: 4, max_cost: 500000}
///        - {for: {everyone: true}, calls: 600 per minute, rows_per_day: 1000000}",
/// )?;
/// let (sources, flags) = (ConfigSources::default(), Flags::default());
/// let input = Input::new(&sources, &flags);
/// let loaded = input.load(Some(&path), |file| Settings::read(&file.section("limits")))?;
/// assert_ne!(loaded.value, Settings::default());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    rules: Vec<Arc<Rule>>,
    pub(crate) max_callers: usize,
}

/// Limits of the callers that it is for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rule {
    names: CallerNames,
    pub(crate) calls: Option<Quota>,
    /// Number of calls that may be made at once; by default all of a window.
    burst: Option<u32>,
    pub(crate) concurrent: Option<u32>,
    pub(crate) rows_per_day: Option<u64>,
    pub(crate) bytes_per_day: Option<u64>,
    /// A finite number.
    pub(crate) max_cost: Option<f64>,
    pub(crate) max_changed_rows: Option<u64>,
    /// The header field that announces the limits.
    pub(crate) policy: Option<HeaderValue>,
}

// === impl Settings ===

/// No limits.
impl Default for Settings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            max_callers: MAX_CALLERS,
        }
    }
}

/// Numbers of a configuration are finite, so each equals itself.
impl Eq for Settings {}

impl Settings {
    /// Reads `callers` and `max_callers` of the section `limits`.
    #[must_use]
    pub fn read(limits: &Section<'_>) -> Self {
        let max_callers = limits.key("max_callers").whole(1..=1_000_000);
        let list = limits.key("callers").list().unwrap_or_default();
        let mut settings = Self {
            rules: Vec::with_capacity(list.len()),
            max_callers: max_callers.unwrap_or(MAX_CALLERS),
        };
        let mut for_all: Option<String> = None;
        for entry in list {
            let place = entry.to_string();
            if let Some(for_all) = &for_all {
                limits.warn(format!(
                    "{place} has no effect: {for_all} is for all callers"
                ));
            }
            let rule = Rule::read(&entry.into_section());
            if rule.names.has_all() {
                for_all.get_or_insert(place);
            }
            settings.rules.push(Arc::new(rule));
        }
        settings
    }

    /// Returns the limits of a caller as they are written in a configuration, for operators.
    #[must_use]
    pub fn describe(&self, caller: &CallerId<'_>) -> Vec<String> {
        let Some(rule) = self.rule_for(caller) else {
            return Vec::new();
        };
        let limits = [
            ("calls", rule.calls.map(|it| it.to_string())),
            ("burst", rule.burst.map(|it| it.to_string())),
            ("concurrent", rule.concurrent.map(|it| it.to_string())),
            ("rows_per_day", rule.rows_per_day.map(|it| it.to_string())),
            ("bytes_per_day", rule.bytes_per_day.map(|it| it.to_string())),
            ("max_cost", rule.max_cost.map(|it| it.to_string())),
            (
                "max_changed_rows",
                rule.max_changed_rows.map(|it| it.to_string()),
            ),
        ];
        let limits = limits.into_iter();
        limits
            .filter_map(|(key, limit)| Some(format!("{key}: {}", limit?)))
            .collect()
    }

    /// Returns whether some caller may have a limit.
    pub(crate) fn has_limits(&self) -> bool {
        self.rules.iter().any(|rule| rule.has_limits())
    }

    /// Returns the first rule that fits a caller, if it has limits.
    pub(crate) fn rule_for(&self, caller: &CallerId<'_>) -> Option<&Arc<Rule>> {
        let first = self.rules.iter().find(|rule| rule.names.fit(caller))?;
        first.has_limits().then_some(first)
    }
}

// === impl Rule ===

impl Rule {
    fn read(entry: &Section<'_>) -> Self {
        let per_day = |key: &str| entry.key(key).whole(1..=GREATEST);
        let calls = entry.key("calls").parsed(str::parse);
        let burst = entry.key("burst").whole(1..=1_000_000);
        if burst.is_some() && calls.is_none() {
            let burst = entry.key("burst");
            burst.problem("has no effect without `calls`: add it, or remove this key");
        }
        let changed = entry.key("max_changed_rows").whole(0..=GREATEST);
        let days = [per_day("rows_per_day"), per_day("bytes_per_day")];
        let [rows_per_day, bytes_per_day] = days;
        Self {
            names: CallerNames::read(&entry.section("for")),
            calls,
            burst,
            concurrent: entry.key("concurrent").whole(1..=1_000_000),
            rows_per_day,
            bytes_per_day,
            max_cost: entry.key("max_cost").decimal(0.0..=1e15),
            max_changed_rows: changed.filter(|&rows| rows > 0),
            policy: fields::policy(calls, days),
        }
    }

    /// Returns the number of calls of a quota that may be made at once.
    pub(crate) fn burst(&self, quota: Quota) -> u32 {
        self.burst.unwrap_or(quota.count())
    }

    fn has_limits(&self) -> bool {
        self.calls.is_some()
            || self.concurrent.is_some()
            || self.rows_per_day.is_some()
            || self.bytes_per_day.is_some()
            || self.max_cost.is_some()
            || self.max_changed_rows.is_some()
    }
}
