//! Lists the statements that callers run, keeps the last that have ended, and cancels them.
//!
//! A program [begins](Activity::begin) each call that may run statements. The parts that run one get
//! its [`CallEntry`] and note there what the statement is doing; the program
//! [polls](CallEntry::poll_cancelled) for a cancellation, and drops the work of the call then, as
//! it does when a client hangs up. [`routes`] serve the list.
//!
//! ```
//! use std::task::{Context, Poll, Waker};
//! use ziggurat_calls::{Caller, activity::{Activity, Begin, End}};
//!
//! let activity = Activity::new(true);
//! let begin = Begin { via: "http", tool: "query_database" };
//! let call = activity.begin(&Caller::new(None), &begin);
//! let call = call.ok_or("too many calls")?;
//!
//! let entry = call.entry();
//! entry.wait("shop", "SELECT 1");
//! assert_eq!(activity.waiting("shop"), 1);
//! entry.run();
//! entry.count(1, 8);
//!
//! let nothing = entry.poll_cancelled(&Context::from_waker(Waker::noop()));
//! assert_eq!(nothing, Poll::Pending);
//! call.end(&End { outcome: "ok", code: None, rows: Some(1), bytes: 8 });
//! # Ok::<_, &str>(())
//! ```
//!
//! # Cost
//!
//! Calls use places that are given to the next call when they end, with the memory of their texts, so
//! a call allocates nothing once there are as many places as calls at a time. Each step takes one lock
//! for as long as it takes to copy a few words. 10,000 calls are followed at a time, and 200 statements
//! are kept after their end, each with 8 KiB of its text at most.

mod endpoints;
mod latency;
mod list;
mod part;
mod shown;
mod slot;
#[cfg(test)]
mod tests;

pub(crate) use self::list::Reader;
pub use self::{
    endpoints::{ActivityApi, Connections, Description, is_for_all, routes},
    list::{Activity, Begin, End, FollowedCall},
    slot::{CallEntry, CancelledBy},
};
