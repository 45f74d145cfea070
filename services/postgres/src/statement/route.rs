//! Ways to send a text to PostgreSQL.

use ziggurat_sql::StatementShape;

use crate::statement::Access;

/// Way to send a text to PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// At once, with a LIMIT.
    Limited,
    /// At once, as a subquery with a LIMIT around it, since it has its own.
    Nested,
    /// At once, with a cursor.
    CursorAtOnce,
    /// In steps, with a cursor.
    Cursor,
    /// In steps, with a cursor; PostgreSQL keeps the rows until they are fetched.
    Spool,
    /// In steps, as it is.
    Plain,
    /// In steps, as it is, rolled back at the end.
    Trial,
    /// In steps, as it is, without the check that it is one statement.
    Script,
}

// === impl Route ===

impl Route {
    pub(super) fn of(text: &str, shape: &StatementShape<'_>, access: Access) -> Self {
        // A write cannot be in a cursor, so a text that mentions one is not tried there.
        let takes_a_cursor =
            shape.is_query() && (access == Access::ReadOnly || !shape.mentions_a_write());
        if takes_a_cursor && !text.contains(';') {
            if shape.takes_a_limit() {
                Self::Limited
            } else if shape.takes_another_limit() {
                Self::Nested
            } else {
                Self::CursorAtOnce
            }
        } else if shape.is_several() && access == Access::ReadWrite {
            Self::Script
        } else if takes_a_cursor {
            Self::Cursor
        } else if access == Access::ReadOnly && shape.explains() {
            Self::Trial
        } else {
            Self::Plain
        }
    }

    /// Returns whether the text becomes part of another one, which PostgreSQL may not be able to
    /// parse.
    pub(super) fn wraps(self) -> bool {
        match self {
            Self::Limited | Self::Nested | Self::CursorAtOnce | Self::Cursor | Self::Spool => true,
            Self::Plain | Self::Trial | Self::Script => false,
        }
    }
}
