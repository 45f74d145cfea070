//! The text of an answer.

use std::fmt::Write as _;

use ziggurat_answers::{CallFormat, Fence};

use crate::index_advice::{Candidate, Fallen};

const COLUMNS: &str = "index\tsize_MB\tcost_before\tcost_after\tgain_%\thelps";

const FALLEN_COLUMNS: &str = "other\treason";

const NOTHING: &str = "No index is advised: no scan of a table with 10,000 rows or more has a \
    condition or an order that an index could serve.";

const INFALLIBLE: &str = "a string takes all that is written";

/// Advice for one statement.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The reason why no candidate was tried.
    pub(super) untried: Option<&'static str>,
    pub(super) advised: Vec<Advised>,
    pub(super) fallen: Vec<Fallen>,
}

/// An index to create.
#[derive(Debug)]
pub(super) struct Advised {
    pub(super) candidate: Candidate,
    /// The cost of the statement with the indexes before it, unless it counts hidden rows.
    pub(super) cost_before: Option<f64>,
    /// The cost with this one too, if it was tried.
    pub(super) cost_after: Option<f64>,
}

// === impl Outcome ===

impl Outcome {
    /// Writes the answer: a line for each index, and below it one for each candidate that fell.
    pub(super) fn text(&self, format: CallFormat) -> String {
        let fence = format.fence();
        let mut text = String::new();
        if let Some(reason) = self.untried {
            writeln!(text, "not tried: {reason}").expect(INFALLIBLE);
        }
        text.push_str(&fence.as_ref().map(Fence::first_line).unwrap_or_default());
        match (self.advised.is_empty(), self.fallen.is_empty()) {
            (true, true) => text.push_str(NOTHING),
            (true, false) => text.push_str("No index is advised."),
            (false, _) => text.push_str(COLUMNS),
        }
        for advised in &self.advised {
            advised.write(&mut text, format);
        }
        if !self.fallen.is_empty() {
            write!(text, "\n\n{FALLEN_COLUMNS}").expect(INFALLIBLE);
        }
        for fallen in &self.fallen {
            text.push('\n');
            write_field(&mut text, format, &fallen.candidate.to_string());
            text.push('\t');
            write_field(&mut text, format, &fallen.reason.to_string());
        }
        text.push_str(&fence.as_ref().map(Fence::last_line).unwrap_or_default());
        text
    }
}

// === impl Advised ===

impl Advised {
    fn write(&self, text: &mut String, format: CallFormat) {
        let megabytes = self.candidate.bytes / f64::from(1 << 20);
        text.push('\n');
        write_field(text, format, &self.candidate.to_string());
        write!(text, "\t{megabytes:.1}\t").expect(INFALLIBLE);
        match (self.cost_before, self.cost_after) {
            (Some(before), Some(after)) => {
                let gain = 100.0 * (before - after) / before;
                write!(text, "{before:.2}\t{after:.2}\t{gain:.1}\t").expect(INFALLIBLE);
            }
            (Some(before), None) => write!(text, "{before:.2}\t\t\t").expect(INFALLIBLE),
            (None, _) => text.push_str("\t\t\t"),
        }
        write_field(text, format, &self.candidate.helps.join(", "));
    }
}

fn write_field(text: &mut String, format: CallFormat, field: &str) {
    format.fields().write_text(text, field);
}
