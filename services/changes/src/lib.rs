//! Shows the rows that a statement would change, before anything is committed.
//!
//! [`preview`] runs a statement in a transaction that is rolled back. Before that, two connections find out
//! what it did: the *writer*, which ran it, and the *reader*, which has the same snapshot and so
//! sees the rows as they were. Both need SELECT on the tables, and nothing else: no superuser, no
//! extension, no trigger.
//!
//! The rows that the writer sees and that its transaction made are the rows after the statement.
//! The reader sees which rows a transaction has deleted, updated or locked since; those that the writer
//! still sees in the same place fall out, and the others are the rows before the statement. The
//! locks of the transaction name every table that it wrote, also by cascades, triggers and rules.
//!
//! [`run`] runs the statement again, so that it can be committed if it changes the same rows: two runs
//! are compared by their [`Digest`], in which drawn numbers, the time and random identifiers are marks.
//! [`Seen::undo`] writes a statement that undoes committed changes.
//!
//! ```no_run
//! use ziggurat_changes::{Outcome, Rules, preview};
//! use ziggurat_postgres::{pool::Pool, statement::Statement};
//!
//! # async fn example(pool: Pool) -> Result<(), Box<dyn std::error::Error>> {
//! let statement = Statement::new(pool.database(), "DELETE FROM orders WHERE id = 7")?;
//! match preview(&pool, &statement, &Rules::default()).await? {
//!     Outcome::Seen(seen) => println!("{}", seen.described()),
//!     Outcome::Unseen(reason) => println!("There is no preview: {reason}."),
//! }
//! # Ok(())
//! # }
//! ```

mod capture;
mod change;
mod commit;
mod digest;
mod fate;
mod reason;
mod recorded;
mod rules;
mod shown;
#[cfg(test)]
mod tests;
mod text;
mod undo;

pub use self::{
    capture::Outcome,
    change::{Change, Seen, Sequence, Table, TableChanges, Text, Unread},
    commit::{Committed, Decision, Pending, Ran, preview, run},
    digest::{Digest, Ignored},
    reason::Reason,
    rules::{Rules, Unreadable},
    shown::Shown,
    undo::NoUndo,
};
