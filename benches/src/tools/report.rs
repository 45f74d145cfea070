//! What a bench says in the end.

use std::{
    fmt::Display,
    io::{self, Write as _},
    process::ExitCode,
};

/// Says figures as they come, and whether all of them are what they should be.
#[derive(Debug, Default)]
pub struct Report {
    missed: bool,
}

// === impl Report ===

impl Report {
    /// Says something.
    pub fn say(&self, line: impl Display) {
        // Nobody reads it, then.
        writeln!(io::stdout(), "{line}").ok();
    }

    /// Says a figure that has to be at least this.
    pub fn at_least(&mut self, what: &str, figure: f64, target: f64, unit: &str) {
        self.judge(
            what,
            figure,
            figure >= target,
            &format!("at least {target}{unit}"),
            unit,
        );
    }

    /// Says a figure that has to be less than this.
    pub fn less_than(&mut self, what: &str, figure: f64, target: f64, unit: &str) {
        self.judge(
            what,
            figure,
            figure < target,
            &format!("less than {target}{unit}"),
            unit,
        );
    }

    /// Fails if a figure is not what it should be.
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
        self.say(format_args!(
            "{what}: {figure:.2}{unit} ({target}: {verdict})"
        ));
    }
}

/// The one in the middle.
///
/// # Panics
/// Panics when there are none.
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
