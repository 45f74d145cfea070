//! Shows the rows that a statement would change, before anything is committed.
//!
//! A statement runs in a transaction that is rolled back. Before that, two connections find out
//! what it did: the *writer*, which ran it, and the *reader*, which has the same snapshot and so
//! sees the rows as they were. Both need SELECT on the tables, and nothing else: no superuser, no
//! extension, no trigger.
//!
//! The rows that the writer sees and that its transaction made are the rows after the statement.
//! The reader sees which rows somebody has deleted, updated or locked since; those that the writer
//! still sees in the same place fall out, and the others are the rows before the statement. The
//! locks of the transaction name every table that it wrote, also by cascades, triggers and rules.
//!
//! ```no_run
//! use ziggurat_changes::{Outcome, Rules, preview};
//! use ziggurat_postgres::pool::Pool;
//!
//! # async fn example(pool: Pool) -> Result<(), Box<dyn std::error::Error>> {
//! let [writer, reader] = [pool.lease().await?, pool.lease().await?];
//! let text = "DELETE FROM orders WHERE id = 7";
//! match preview(writer, reader, text, &Rules::default()).await? {
//!     Outcome::Seen(seen) => println!("{} rows", seen.rows()),
//!     Outcome::Unseen(reason) => println!("There is no preview: {reason}."),
//! }
//! # Ok(())
//! # }
//! ```

mod capture;
mod change;
mod digest;
mod reason;
mod rules;
#[cfg(test)]
mod tests;
mod text;

pub use self::{
    capture::{Outcome, preview},
    change::{Change, Seen, Sequence, Table, TableChanges, Text, Unread},
    digest::{Digest, Ignored},
    reason::Reason,
    rules::{Rules, Unreadable},
};
