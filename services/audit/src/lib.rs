//! Writes the audit trail of a server: one record for each call, in a chain that shows changes.
//!
//! Records are lines of JSON. [`Audit::open`] opens the file; [`Audit::begin`] begins the record of
//! a call, and [`Record::end`] ends it. Formatting, hashing and writing are done by the [`Writer`], on
//! a thread of the program; only the short lines of [`Record::open`] are written by the tasks that
//! wait for them, unless each is synced. [`verify`] finds changed, removed, added and moved lines.
//!
//! A program reads its settings with [`Settings::read`] and runs the writer with [`Trail`].
//!
//! The crate knows nothing of protocols and accounts: the program says which calls there are, and
//! never hands over tokens, passwords or results.
//!
//! ```
//! use std::{fs, thread};
//! use ziggurat_audit::{
//!     Audit, CallEnd, CallStart, Destination, Expected, Settings, Verdict, verify,
//! };
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("audit.jsonl");
//! let settings = Settings {
//!     required: true,
//!     ..Settings::new(Destination::File(path.clone()))
//! };
//! let (audit, writer) = Audit::open(settings)?;
//! let thread = thread::spawn(move || writer.run());
//!
//! let call = audit.begin(&CallStart {
//!     method: "tools/call",
//!     tool: "query_database",
//!     ..CallStart::default()
//! });
//! call.database("shop");
//! call.statement("SELECT name FROM users WHERE id = 7");
//! // The statement must not run before this.
//! # tokio_test::block_on(async {
//! call.open().await?;
//! # Ok::<_, ziggurat_audit::Unavailable>(())
//! # })?;
//! call.end(CallEnd { rows: Some(1), ..Verdict::Ok.into() });
//!
//! drop((audit, call));
//! thread.join().map_err(|_| "the writer panicked")?;
//! let trail = fs::read_to_string(&path)?;
//! assert!(trail.contains(r#""text":"SELECT name FROM users WHERE id = ?""#));
//! assert!(trail.contains(r#""rows":1,"#));
//! // Start, open, call and stop.
//! let report = verify(&[path], None, Expected::default());
//! assert!(report.is_good && report.lines[0].contains(": 4 records, 1 to 4, last "));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Lines
//!
//! Each line begins with `v`, `seq`, `at` and `kind`, and ends with `chain`: the SHA-256, or with a
//! key the HMAC-SHA-256, of the `chain` of the line before and of all of the line before
//! `,"chain":`.
//!
//! | `kind` | Written | Members of its own |
//! | --- | --- | --- |
//! | `start` | as the first line of a process and of a file | `previous` (`file`, `chain`) if it continues another file; `oldest_open`, the first `open` line there without its `call` |
//! | `open` | before a call runs, if records are required | caller, target and digest of the statement |
//! | `call` | when a call has ended | `open`, the `seq` of its `open` line; members of the call |
//! | `denied` | when a token is refused | the known members of the request; or `repeated`, the number of refusals without a line |
//! | `sign_in` | when something happens at the sign-in | `event` and its `person`, `client`, `grant`, `resource`, `scope`, `reason` |
//! | `reload` | when the configuration was read again | `verdict` |
//! | `gap` | when lines are missing | `missed`, their number; `torn`, the file with an incomplete line; `unfinished`, the last record of a process that wrote no `stop`; or `removed`, the number of records that were removed from the end |
//! | `rotate` | as the last line of a file | `file`, the name that it gets; `kept_from`, the first record that is left if old files are deleted |
//! | `stop` | when the process ends | |

mod admin;
mod audit;
mod draft;
mod error;
mod facts;
mod journal;
mod line;
mod names;
mod queue;
mod record;
mod search;
mod settings;
#[cfg(test)]
mod tests;
mod trail;
mod verify;
mod watched;
mod writer;

pub use self::{
    admin::{AdminAudit, AdminCall, RecordError},
    audit::Audit,
    draft::{arguments::text_argument, statement::StatementPlace},
    error::OpenError,
    facts::{CallEnd, CallStart, Caller, request_method},
    line::chain::{Key, KeyError},
    record::{Record, Unavailable},
    search::{ChainState, InvalidPosition, Page, Position, Search},
    settings::{Destination, Fsync, InvalidValue, Methods, Settings, StatementForm},
    trail::Trail,
    verify::{Expected, Report, Verification, verify},
    watched::WatchedRequest,
    writer::Writer,
};
pub use ziggurat_telemetry::Verdict;
