//! Limits what each caller may use: calls, statements at once, rows and bytes of a day, and the cost
//! of a statement.
//!
//! A caller is counted by its kind and name, so new tokens, connections and addresses move nothing.
//! [`Settings`] are the limits of a configuration; [`Limits::of`] returns the [`Allowance`] of a
//! caller for one call, and a [`Refused`] has the sentence for it. The crate knows no protocol and
//! no accounts: the program says which calls there are, and who calls.
//!
//! ```
//! use std::time::Duration;
//! use http::HeaderMap;
//! use ziggurat_calls::limits::{Allowance, Limits, Refused, Settings, StatementPermit};
//! use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
//! use ziggurat_tokens::CallerId;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("server.yaml");
//! # let (sources, flags) = (ConfigSources::default(), Flags::default());
//! # let input = Input::new(&sources, &flags);
//! # let read = |text: &str| {
//! #     std::fs::write(&path, text)?;
//! #     let loaded = input.load(Some(&path), |file| Settings::read(&file.section("limits")))?;
//! #     Ok::<_, Box<dyn std::error::Error>>(loaded.value)
//! # };
//! # tokio_test::block_on(async {
//! let limits = Limits::new(read(
//!     "limits:
//!        callers:
//!        - for: {users: [alice]}
//!          calls: 2 per minute
//!          concurrent: 4
//!          rows_per_day: 1000
//!          max_cost: 500000",
//! )?);
//! assert!(limits.of(&CallerId::User("bob")).is_none(), "no limits");
//!
//! let alice: Allowance = limits.of(&CallerId::User("alice")).ok_or("limits")?;
//! assert!(alice.flooding().is_none());
//! alice.call()?;
//! let permit: StatementPermit = alice.statement(Duration::from_secs(5)).await?;
//! alice.day()?;
//! let cost = 600_000.5;
//! if let Some(max) = alice.max_cost().filter(|max| cost > *max) {
//!     let refused = Refused::MaxCost { cost, max };
//!     let sentence = "The statement was not run: its estimated cost 600000.5 is above 500000.";
//!     assert_eq!(refused.to_string(), sentence);
//! }
//! alice.rows(12);
//! alice.bytes(831);
//! drop(permit);
//! assert_eq!((alice.left().rows, alice.left().bytes), (Some(988), None));
//!
//! let mut headers = HeaderMap::new();
//! alice.append_fields(&mut headers);
//! let policy = r#""calls";q=2;w=60, "rows_per_day";q=1000;qu="rows";w=86400"#;
//! assert_eq!(headers["ratelimit-policy"], policy);
//!
//! alice.call()?;
//! let refused = alice.call().unwrap_err();
//! assert_eq!(refused.to_string(), "Too many calls: 2 per minute. Try again in 30 s.");
//!
//! // After a reload.
//! limits.replace(read("limits: {callers: [{for: {everyone: true}, rows_per_day: 500}]}")?);
//! let alice = limits.of(&CallerId::User("alice")).ok_or("limits")?;
//! assert_eq!(alice.left().rows, Some(488), "the count is kept");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Counting
//!
//! - Calls are counted as by `Steady` of the layer `rate_limit`. Replicas keep a limit together if they
//!   [share](Limits::share_calls) calls: each leases blocks of the window, a quarter of the burst, and
//!   all together admit at most a block each more than the limit.
//! - Statements at once are counted by each replica alone.
//! - Rows and bytes are counted as they are sent, so the answer that reaches the limit may exceed it
//!   by the rows and bytes that are sent in one go. [`usage_since_last`](Limits::usage_since_last) and
//!   [`add`](Limits::add) let replicas count together.
//! - Days begin at 00:00 UTC by the clock of the machine.
//!
//! # Memory
//!
//! The counts of 10,000 callers are kept (`max_callers`), at one to two kilobytes each. When there are
//! more, the callers that have used the least share of their limits are dropped, the oldest first;
//! callers with a running call never are. From then on a new caller starts with as much used as the
//! most that a dropped caller had used: rows and bytes until midnight, calls until those would be
//! available again. So a caller that is dropped and comes back has no more than before, and has to
//! wait as long. If all have running calls, new callers share one allowance.

mod allowance;
mod callers;
mod counts;
mod fields;
mod leases;
mod refused;
mod registry;
mod settings;
#[cfg(test)]
pub(crate) mod tests;
mod usage;

pub use self::{
    allowance::{Allowance, Left, StatementPermit},
    leases::LeaseRequest,
    refused::Refused,
    registry::Limits,
    settings::Settings,
    usage::Usage,
};
