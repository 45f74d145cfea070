//! The section `preview` of a database.

use std::ops::RangeInclusive;

use ziggurat_postgres::database::PreviewSettings;
use ziggurat_runtime::config::{Number, Section, Value};

/// Limits of what an operator can set.
const MAX_ROWS: u32 = 1_000_000;
const MAX_BYTES: usize = 1 << 30;
const MAX_SCAN_BYTES: u64 = 1 << 50;
const MAX_ROUNDS: u32 = 100;

/// Reads the section `preview` of a database.
pub(super) fn read(database: &Section<'_>) -> PreviewSettings {
    let section = database.section("preview");
    let usual = PreviewSettings::default();
    PreviewSettings {
        mode: section.key("mode").parsed(str::parse).unwrap_or_default(),
        approval: section
            .key("approve")
            .parsed(str::parse)
            .unwrap_or_default(),
        max_rows: whole(&section, "max_rows", 1..=MAX_ROWS, usual.max_rows),
        max_bytes: whole(&section, "max_bytes", 1..=MAX_BYTES, usual.max_bytes),
        scan_bytes: whole(&section, "scan_bytes", 0..=MAX_SCAN_BYTES, usual.scan_bytes),
        timeout: section.key("timeout").some_time().unwrap_or(usual.timeout),
        lock_timeout: section
            .key("lock_timeout")
            .some_time()
            .unwrap_or(usual.lock_timeout),
        rounds: whole(&section, "rounds", 0..=MAX_ROUNDS, usual.rounds),
        ignored: ignored(&section.key("ignore")),
        refuses_unreadable: section
            .key("unreadable")
            .parsed(refuses_unreadable)
            .unwrap_or(usual.refuses_unreadable),
    }
}

fn whole<T: Number>(section: &Section<'_>, name: &str, range: RangeInclusive<T>, usual: T) -> T {
    section.key(name).whole(range).unwrap_or(usual)
}

fn ignored(key: &Value<'_>) -> Vec<String> {
    let columns = key.texts().unwrap_or_default();
    let is_column = |text: &String| {
        let parts: Vec<_> = text.split('.').collect();
        let is_whole = !parts.iter().any(|part| part.is_empty());
        is_whole && matches!((parts.len(), parts[0]), (2, "*") | (3.., _))
    };
    key.check(
        columns.iter().all(is_column),
        "must have columns like public.page.hits or *.updated_at",
    );
    columns
}

fn refuses_unreadable(word: &str) -> Result<bool, &'static str> {
    match word {
        "count" => Ok(false),
        "refuse" => Ok(true),
        _ => Err("must be count or refuse"),
    }
}
