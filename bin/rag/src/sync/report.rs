//! Texts of `sync status` and `sync backfill`.

use std::{
    fmt,
    time::{Duration, Instant},
};

use ziggurat_runtime::escape::escape;
use ziggurat_sync::{BackfillProgress, FailedRows, Status};

/// Interval between two reports on a terminal, and elsewhere.
const REDRAW: Duration = Duration::from_millis(100);
const LINE: Duration = Duration::from_secs(10);

/// Moves to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Titles of the columns of `status`.
const TITLES: [&str; 6] = [
    "PIPELINE", "TABLE", "BACKLOG", "OLDEST", "RETRYING", "FAILED",
];

/// The figures of all queues, as a table.
#[derive(Debug, Default)]
pub(super) struct StatusReport {
    rows: Vec<[String; 6]>,
    failures: Vec<String>,
}

/// The progress of a backfill, as lines.
#[derive(Debug)]
pub(super) struct BackfillReport<'a> {
    table: &'a str,
    is_terminal: bool,
    began: Instant,
    shown: Instant,
}

// === impl StatusReport ===

impl StatusReport {
    pub(super) fn add(
        &mut self,
        pipeline: &str,
        table: &str,
        status: Status,
        failures: &[FailedRows],
    ) {
        let oldest = status.oldest.map_or_else(
            || "-".to_owned(),
            |age| format!("{:.1} s", age.as_secs_f64()),
        );
        self.rows.push([
            pipeline.to_owned(),
            table.to_owned(),
            status.backlog.to_string(),
            oldest,
            status.retrying.to_string(),
            status.failed.to_string(),
        ]);
        self.failures.extend(failures.iter().map(|failure| {
            format!(
                "{}: {} failed, such as {}: {}\n",
                escape(table),
                failure.count,
                escape(&failure.example),
                escape(&failure.reason)
            )
        }));
    }
}

impl fmt::Display for StatusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles = TITLES.map(str::to_owned);
        let all = || [&titles].into_iter().chain(&self.rows);
        let mut widths = [0; 6];
        for row in all() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in all() {
            let cells = row.iter().zip(widths);
            let cells: Vec<_> = cells
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            let line = cells.join("  ");
            writeln!(f, "{}", line.trim_end())?;
        }
        self.failures.iter().try_for_each(|line| f.write_str(line))
    }
}

// === impl BackfillReport ===

impl<'a> BackfillReport<'a> {
    pub(super) fn new(table: &'a str, is_terminal: bool, now: Instant) -> Self {
        Self {
            table,
            is_terminal,
            began: now,
            shown: now,
        }
    }

    /// Returns the text to print after a step.
    pub(super) fn tick(&mut self, progress: BackfillProgress, now: Instant) -> String {
        let pause = if self.is_terminal { REDRAW } else { LINE };
        if now.duration_since(self.shown) < pause {
            return String::new();
        }
        self.shown = now;
        let line = self.line(progress, now);
        if self.is_terminal {
            format!("{CLEAR_LINE}{line}")
        } else {
            line + "\n"
        }
    }

    /// Returns the text that removes the last line.
    pub(super) fn end(&self) -> &'static str {
        if self.is_terminal { CLEAR_LINE } else { "" }
    }

    pub(super) fn summary(&self, progress: BackfillProgress, now: Instant) -> String {
        self.line(progress, now) + "\n"
    }

    fn line(&self, progress: BackfillProgress, now: Instant) -> String {
        let BackfillProgress { all, done } = progress;
        let seconds = now.duration_since(self.began).as_secs();
        format!("{}: {done} of {all} rows  {seconds} s", escape(self.table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_columns_and_reasons_below_them() {
        let mut report = StatusReport::default();
        report.add("docs", "documents", Status::default(), &[]);
        let mut status = Status::default();
        (status.backlog, status.failed) = (1200, 2);
        status.oldest = Some(Duration::from_millis(1260));
        let failure = FailedRows {
            reason: "too long\x1b[2J".to_owned(),
            count: 2,
            example: "7".to_owned(),
        };
        report.add("shop", "shop.items", status, &[failure]);
        assert_eq!(
            report.to_string(),
            "PIPELINE  TABLE       BACKLOG  OLDEST  RETRYING  FAILED\n\
             docs      documents   0        -       0         0\n\
             shop      shop.items  1200     1.3 s   0         2\n\
             shop.items: 2 failed, such as 7: too long\\x1b[2J\n"
        );
    }

    #[test]
    fn a_backfill_is_a_line_every_ten_seconds_without_a_terminal() {
        let began = Instant::now();
        let mut report = BackfillReport::new("documents", false, began);
        let progress = |done| {
            let mut progress = BackfillProgress::default();
            (progress.all, progress.done) = (100, done);
            progress
        };
        let after = |seconds| began + Duration::from_secs(seconds);
        assert_eq!(report.tick(progress(5), after(9)), "");
        let line = "documents: 8 of 100 rows  11 s\n";
        assert_eq!(report.tick(progress(8), after(11)), line);
        assert_eq!(report.tick(progress(9), after(12)), "");
    }
}
