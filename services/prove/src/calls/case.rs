//! A call, and the facts that calls are made up from.

use crate::{
    calls::{pipeline::Pipeline, request::Request},
    party::Party,
    planting::Planted,
    report::Place,
    rule::Rule,
    schema::Schema,
};

/// A call, and what it is about.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The rule of a difference in its answers.
    pub(crate) rule: Rule,
    /// The object.
    pub(crate) place: Place,
    /// The way in.
    pub(crate) entrance: String,
    /// The object is a table.
    pub(crate) is_table: bool,
    pub(crate) request: Request,
    /// Values of B that the call has itself.
    pub(crate) sent: Vec<String>,
}

/// The facts that calls are made up from.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The name of the database.
    pub(crate) database: &'a str,
    /// The objects that A may reach.
    pub(crate) schema: &'a Schema,
    /// All tables, with their keys.
    pub(crate) whole: &'a Schema,
    /// The rows of the first world.
    pub(crate) planted: &'a Planted,
    pub(crate) other: &'a Party,
    /// Calls that may change rows are made too.
    pub(crate) writes: bool,
    /// Pipelines of `ziggurat-rag` that read the database.
    pub(crate) pipelines: &'a [Pipeline],
}

// === impl Case ===

impl Case {
    /// Makes a call about the database as a whole.
    pub(crate) fn of_database(
        known: &Known<'_>,
        rule: Rule,
        entrance: &str,
        request: Request,
    ) -> Self {
        Self {
            rule,
            place: Place::of_database(known.database),
            entrance: entrance.to_owned(),
            is_table: false,
            request,
            sent: Vec::new(),
        }
    }
}
