//! The result of a bench.

use std::{
    fmt::Display,
    io::{self, Write as _},
    process::ExitCode,
};

/// Prints figures as they come, and records whether all meet their targets.
#[derive(Debug, Default)]
pub struct Report {
    missed: bool,
}

// === impl Report ===

impl Report {
    /// Prints a line.
    pub fn print(&self, line: impl Display) {
        // Standard output may be closed.
        writeln!(io::stdout(), "{line}").ok();
    }

    /// Prints a figure that must be at least `target`.
    pub fn at_least(&mut self, what: &str, figure: f64, target: f64, unit: &str) {
        self.judge(
            what,
            figure,
            figure >= target,
            &format!("at least {target}{unit}"),
            unit,
        );
    }

    /// Prints a figure that must be less than `target`.
    pub fn less_than(&mut self, what: &str, figure: f64, target: f64, unit: &str) {
        self.judge(
            what,
            figure,
            figure < target,
            &format!("less than {target}{unit}"),
            unit,
        );
    }

    /// Fails if a figure missed its target.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        if self.missed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }

    fn judge(&mut self, what: &str, figure: f64, is_met: bool, target: &str, unit: &str) {
        self.missed |= !is_met;
        let verdict = if is_met { "met" } else { "MISSED" };
        self.print(format_args!(
            "{what}: {figure:.3}{unit} ({target}: {verdict})"
        ));
    }
}

/// The median.
///
/// # Panics
/// Panics when there are no figures.
#[must_use]
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// A rate, with a comma for the thousands.
#[must_use]
pub fn thousands(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let (high, low) = digits.split_at(digits.len().saturating_sub(3));
    if high.is_empty() {
        digits
    } else {
        format!("{high},{low}")
    }
}
