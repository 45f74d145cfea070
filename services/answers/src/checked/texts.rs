//! Texts about the rows that a write would change.

use ziggurat_changes::Seen;

use crate::checked::{Before, Preview, WriteTexts};

/// Most rows of a preview for people.
pub(super) const MAX_ROWS: usize = 20;

pub(super) const NOT_APPROVED: &str =
    "This change needs an approval that this client cannot ask for. Nothing was changed.";

pub(super) const ROUNDS: &str =
    "The data changed each time between preview and commit. Nothing was changed.";

const CHANGED: &str = "The data have changed. This is what the statement would do now:";

// === impl WriteTexts ===

impl WriteTexts {
    /// Returns the first line, the statement, and the rows that it would change.
    pub(super) fn text(&self, preview: &Preview, database: &str) -> String {
        let seen = &preview.seen;
        match preview.before {
            Before::Nothing => self.alone(seen, database),
            Before::Changed => self.below(CHANGED, seen),
            Before::UsedUp => {
                let subject = self.question.subject;
                let rest = self.alone(seen, database);
                format!(
                    "This confirmation is used up, and the {subject} may have been run with it \
                     already.\n\n{rest}"
                )
            }
        }
    }

    pub(super) fn alone(&self, seen: &Seen, database: &str) -> String {
        let (subject, rows) = (&self.subject, seen.amount());
        let first = format!("{subject} would change {rows} in the database {database}:");
        self.below(&first, seen)
    }

    fn below(&self, first: &str, seen: &Seen) -> String {
        let mut text = first.to_owned();
        for part in [&*self.content, seen.described().trim_end()] {
            if !part.is_empty() {
                text.push_str("\n\n");
                text.push_str(part);
            }
        }
        text
    }
}

pub(super) fn for_person(text: &str) -> String {
    format!("{text}\n\nCommit exactly this change?")
}

pub(super) fn for_client(text: &str, seal: &str) -> String {
    format!("{text}\n\nTo commit exactly this change, repeat the call with approve: \"{seal}\".")
}

/// Names the columns with other values in each run.
pub(super) fn unstable(columns: &[String]) -> String {
    if columns.is_empty() {
        return String::new();
    }
    let columns = columns.join(", ");
    format!(
        " These columns differ each time: {columns}. An operator can list them in preview.ignore."
    )
}
