//! Hints for functions that do not exist, or not with these arguments.

use ziggurat_postgres::{error::Report, name::written};
use ziggurat_sql::Policy;

use crate::sql_error::{Hint, catalogue::Function, names::nearest};

/// Limit on the signatures of a function that are listed.
const MAX_SIGNATURES: usize = 5;

/// Functions of other databases and tools, and what PostgreSQL has instead.
const EQUIVALENTS: &[(&str, &str)] = &[
    ("add_months", "ts + interval '1 month'"),
    ("charindex", "strpos(text, part)"),
    ("convert", "CAST(x AS type)"),
    ("curdate", "current_date"),
    ("date_add", "ts + interval '1 day'"),
    ("date_format", "to_char(ts, 'YYYY-MM-DD')"),
    ("date_sub", "ts - interval '1 day'"),
    ("dateadd", "ts + interval '1 day'"),
    (
        "datediff",
        "date1 - date2, a number of days, or age(ts1, ts2)",
    ),
    ("datepart", "extract(part FROM ts)"),
    ("datetime", "CAST(x AS timestamp)"),
    ("day", "extract(day FROM ts)"),
    ("dayofweek", "extract(dow FROM ts)"),
    ("decode_json", "x::jsonb"),
    ("from_unixtime", "to_timestamp(seconds)"),
    ("getdate", "now()"),
    ("group_concat", "string_agg(text, ',')"),
    ("hour", "extract(hour FROM ts)"),
    ("if", "CASE WHEN … THEN … ELSE … END"),
    ("ifnull", "coalesce(a, b)"),
    ("iif", "CASE WHEN … THEN … ELSE … END"),
    ("instr", "strpos(text, part)"),
    ("isnull", "x IS NULL, or coalesce(a, b)"),
    ("json_extract", "x -> 'key', or x ->> 'key' for a text"),
    (
        "last_day",
        "date_trunc('month', ts) + interval '1 month - 1 day'",
    ),
    ("len", "length(text)"),
    ("listagg", "string_agg(text, ',')"),
    ("minute", "extract(minute FROM ts)"),
    ("month", "extract(month FROM ts)"),
    ("nvl", "coalesce(a, b)"),
    ("quarter", "extract(quarter FROM ts)"),
    ("rand", "random()"),
    ("regexp_extract", "substring(text FROM pattern)"),
    ("str_to_date", "to_date(text, 'YYYY-MM-DD') or to_timestamp"),
    ("strftime", "to_char(ts, 'YYYY-MM-DD')"),
    ("substring_index", "split_part(text, ',', 1)"),
    ("sysdate", "now()"),
    ("unix_timestamp", "extract(epoch FROM ts)"),
    ("week", "extract(week FROM ts)"),
    ("year", "extract(year FROM ts)"),
];

/// Describes what a missing function may be (42883), among functions with such names.
pub(super) fn unknown(names: &[String], report: &Report, functions: &[Function]) -> Option<Hint> {
    let name = names.last()?;
    let lower = name.to_lowercase();
    let is_same = |function: &&Function| function.name == lower;
    let same: Vec<_> = functions.iter().filter(is_same).collect();
    if !same.is_empty() {
        return Some(Hint::of(signatures(&same, report, names.len() > 1)));
    }
    let equivalent = EQUIVALENTS.iter().find(|(theirs, _)| *theirs == lower);
    if let Some((_, ours)) = equivalent {
        return Some(Hint::of(format!(
            "PostgreSQL has no {lower}: write {ours}."
        )));
    }
    // A refused function would only cause the next error.
    let policy = Policy::read_only();
    let is_allowed = |function: &&Function| {
        let call = format!("SELECT {}()", function.called());
        policy.check(&call).is_ok()
    };
    // The overload of each name that fits the arguments best.
    let given = arguments(&report.message);
    let mut best: Vec<_> = functions.iter().collect();
    best.sort_by_cached_key(|function| (function.name.clone(), function.misfit(&given)));
    best.dedup_by(|one, two| one.name == two.name);
    let near = nearest(name, best.into_iter(), |function| &function.name);
    let near = near.into_iter().filter(is_allowed);
    let near: Vec<_> = near.map(Function::signature).collect();
    let names = near.join(", ");
    (!near.is_empty()).then(|| Hint::of(format!("Functions with a similar name: {names}.")))
}

/// Lists the arguments that a function takes, and suggests a cast.
fn signatures(same: &[&Function], report: &Report, is_qualified: bool) -> String {
    let given = arguments(&report.message);
    let mut sorted = same.to_vec();
    sorted.sort_by_cached_key(|function| function.misfit(&given));
    let more = sorted.len().saturating_sub(MAX_SIGNATURES);
    let shown = sorted.iter().copied().take(MAX_SIGNATURES);
    let shown: Vec<_> = shown.map(Function::signature).collect();
    let shown = shown.join(", ");
    let text = match more {
        0 => format!("There is {shown}."),
        _ => format!("There is {shown} and {more} more."),
    };
    let best = sorted.first();
    if !is_qualified && best.is_some_and(|function| !function.schema.is_empty()) {
        return format!("{text} Write it with its schema.");
    }
    let types = best.map_or_else(Vec::new, |function| function.types());
    let mut pairs = types.iter().zip(&given).enumerate();
    let wrong = pairs.find(|(_, (expected, found))| expected != found);
    if let Some((index, (expected, found))) = wrong.filter(|_| types.len() == given.len()) {
        let place = index + 1;
        return format!(
            "{text} Argument {place} is of type {found}: cast it, for example x::{expected}."
        );
    }
    text
}

/// Returns the types in the parentheses of a message.
fn arguments(message: &str) -> Vec<String> {
    let inside = message
        .split_once('(')
        .and_then(|(_, rest)| rest.rsplit_once(')'));
    let types = inside.map_or("", |(types, _)| types);
    split(types)
}

fn split(types: &str) -> Vec<String> {
    let types = types.split(", ").filter(|name| !name.is_empty());
    types.map(str::to_owned).collect()
}

// === impl Function ===

impl Function {
    fn types(&self) -> Vec<String> {
        split(&self.arguments)
    }

    /// Returns the difference of its arguments from those that were given: in number, and in type.
    fn misfit(&self, given: &[String]) -> (usize, usize) {
        let types = self.types();
        let others = types.iter().zip(given).filter(|(one, two)| one != two);
        (types.len().abs_diff(given.len()), others.count())
    }

    fn called(&self) -> String {
        match &*self.schema {
            "" => written(&self.name),
            schema => format!("{}.{}", written(schema), written(&self.name)),
        }
    }

    fn signature(&self) -> String {
        format!("{}({})", self.called(), self.arguments)
    }
}
