//! Proof that the answers of one caller do not depend on the rows of another.
//!
//! The callers are *A*, who asks, and *B*, the owner of rows that A must not see. A program that
//! connects the parts goes through these steps:
//!
//! 1. [`ThrowAwayDatabase::open`] refuses a database that is not made for this.
//! 2. [`Proof::plant`] fills it with a [`World`]: the same rows of A in both worlds, and other rows of
//!    B in each.
//! 3. [`Proof::ask`] makes the same calls as A in each world, with calls of B between them. The program
//!    sends each [`Request`] to its server.
//! 4. [`Proof::report`] compares the answers. Lines for people come from [`Report`], and a file for
//!    services from [`sarif`].
//!
//! [`Search`] makes the same calls on a real database, writes nothing, and looks for known values of B.

mod calls;
mod canary;
mod compare;
mod failure;
mod lists;
mod party;
mod planting;
mod proof;
mod report;
mod rule;
pub mod sarif;
mod schema;
mod search;
mod throw_away;

pub use self::{
    calls::{pipeline::Pipeline, request::Request},
    failure::ProveError,
    party::{Party, Side},
    planting::world::World,
    proof::Proof,
    report::{Finding, Place, Report},
    rule::Rule,
    search::Search,
    throw_away::ThrowAwayDatabase,
};
