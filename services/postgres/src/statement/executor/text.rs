//! Writes the SQL around a caller's text.

use std::fmt::Write as _;

use crate::{
    call_context::{Evidence, SNAPSHOT},
    statement::executor::{Access, CURSOR, Execution, INFALLIBLE, Route, Window},
};

impl Execution<'_> {
    pub(super) fn write_access(&self, command: &str, sql: &mut String) {
        sql.push_str(command);
        sql.push_str(match self.statement.access {
            Access::ReadOnly => " READ ONLY",
            Access::ReadWrite => " READ WRITE",
        });
    }

    /// Returns whether the receipt of the call names the snapshot of the transaction.
    pub(super) fn wants_snapshot(&self) -> bool {
        let evidence = self.lease.call().evidence();
        evidence.is_some_and(Evidence::wants_snapshot)
    }

    pub(super) fn write_opening(&self, command: &str, sql: &mut String) {
        if self.wants_snapshot() {
            self.write_access(&format!("{command} ISOLATION LEVEL REPEATABLE READ"), sql);
        } else {
            self.write_access(command, sql);
        }
        sql.push_str("; ");
        let session = self.lease.session();
        session.write_settings(self.statement.timeout, sql);
        if self.wants_snapshot() {
            sql.push_str(SNAPSHOT);
        }
    }

    /// Writes the text with a LIMIT, and returns where in it the caller's text begins.
    pub(super) fn write_limited(&self, sql: &mut String) -> usize {
        let is_nested = self.statement.route == Route::Nested;
        sql.push_str(if is_nested { "(SELECT * FROM (" } else { "(" });
        let lead = sql.len() + self.statement.lead;
        sql.push_str(&self.statement.text);
        // The line break ends a comment at the end of the text.
        sql.push_str(if is_nested { "\n) AS ziggurat)" } else { "\n)" });
        let Window { offset, rows } = self.statement.window;
        write!(sql, " LIMIT {}", rows + 1).expect(INFALLIBLE);
        // An OFFSET of zero costs PostgreSQL time, too.
        if offset > 0 {
            write!(sql, " OFFSET {offset}").expect(INFALLIBLE);
        }
        lead
    }

    /// Writes the text with a cursor, and returns where in it the caller's text begins.
    pub(super) fn write_cursor(&self, sql: &mut String) -> usize {
        write!(sql, "DECLARE {CURSOR} NO SCROLL CURSOR FOR ").expect(INFALLIBLE);
        let lead = sql.len() + self.statement.lead;
        sql.push_str(&self.statement.text);
        let Window { offset, rows } = self.statement.window;
        // The line break ends a comment at the end of the text.
        sql.push_str("\n; ");
        if offset > 0 {
            write!(sql, "MOVE FORWARD {offset} IN {CURSOR}; ").expect(INFALLIBLE);
        }
        write!(sql, "FETCH FORWARD {} FROM {CURSOR}", rows + 1).expect(INFALLIBLE);
        lead
    }
}
