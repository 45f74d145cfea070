//! Comparison of the answers of both worlds.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::{
    calls::{Case, request::has_failed},
    canary::Canaries,
    rule::{Level, Rule},
};

/// Parts of answers that differ between any two calls, and the words in their place.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (
            r#""(ms|id|seq|pid|age_seconds|seconds|started)": ?("[^"]*"|[\d.]+)"#,
            r#""$1":0"#,
        ),
        (
            r#""(took|duration|elapsed|planning|execution)[^"]*": ?[\d.]+"#,
            "TIME",
        ),
        (r"(?i)\b(planning|execution) time: [\d.]+ ms", "TIME"),
        (r"[\d.]+ ?(µs|ms|s)\b", "TIME"),
        (r"actual time=[\d.]+", "TIME"),
        (r"(?m)^ *(Planning:|Buffers: .*)(\\n|\n)", ""),
        (
            r#""(in_use|idle|waiting|p50|p95|p99)[^"]*": ?[\d.]+"#,
            r#""$1":0"#,
        ),
        (r"</?data [0-9a-z]+>", "DATA"),
        (r"/api/exports/[\w-]+", "EXPORT"),
    ];
    let compiled = patterns
        .into_iter()
        .map(|(pattern, word)| (Regex::new(pattern).expect("a valid pattern"), word));
    compiled.collect()
});

/// Times of a day, but for its beginning: planted times are whole days.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"\d{4}-\d\d-\d\d[T ](\d\d:\d\d:\d\d[.\d]*)(Z|[+-]\d\d(:?\d\d)?)?";
    Regex::new(pattern).expect("a valid pattern")
});

/// Estimates of sizes, which PostgreSQL tells to every role and notes are about.
static SIZES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(\\?"(?:rows|bytes|estimated_rows)\\?": ?)\d+|~?\d+ (?:rows?|bytes|kB)\b"#;
    Regex::new(pattern).expect("a valid pattern")
});

/// Returns the rule that the answers to a case break, if they do.
pub(crate) fn broken(case: &Case, answers: [&str; 2], canaries: [&Canaries; 2]) -> Option<Rule> {
    let mut pairs = answers.iter().zip(canaries);
    let has_value = pairs.any(|(answer, canaries)| canaries.are_in(answer, &case.sent));
    let [one, two] = answers.map(normal);
    let differs = if case.rule == Rule::Statistics {
        SIZES.replace_all(&one, "$1") != SIZES.replace_all(&two, "$1")
    } else {
        one != two
    };
    if !has_value && !differs {
        return None;
    }
    let is_note = case.rule.level() == Level::Note;
    if is_note && !has_value {
        return Some(case.rule.clone());
    }
    let fails = answers.iter().any(|it| has_failed(it));
    Some(match &case.rule {
        rule @ (Rule::Plan | Rule::Statistics) => rule.clone(),
        _ if fails => Rule::ErrorText,
        // A view or a function without a value tells a number.
        Rule::Row | Rule::Value if !has_value && !case.is_table => Rule::Count,
        Rule::Row => Rule::Row,
        Rule::Count | Rule::ErrorText if !has_value => Rule::Count,
        _ => Rule::Value,
    })
}

/// Takes out the parts that differ between any two calls.
fn normal(answer: &str) -> String {
    let replace = |text: String, (pattern, word): &(Regex, &str)| {
        pattern.replace_all(&text, *word).into_owned()
    };
    let time = |found: &Captures<'_>| match &found[1] {
        "00:00:00" => found[0].to_owned(),
        _ => "TIME".to_owned(),
    };
    let text = TIME.replace_all(answer, time).into_owned();
    VARYING.iter().fold(text, replace)
}

#[cfg(test)]
mod tests;
