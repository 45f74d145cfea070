//! A call, and the facts that calls are made up from.

use crate::{calls::request::Request, party::Party, planting::Planted, rule::Rule, schema::Schema};

/// A call, and what it is about.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The rule of a difference in its answers.
    pub(crate) rule: Rule,
    /// The object by its kind and number; none for the database as a whole.
    pub(crate) object: Option<Object>,
    /// The way in.
    pub(crate) entrance: String,
    /// The object is a table.
    pub(crate) is_table: bool,
    pub(crate) request: Request,
    /// Values of B that the call has itself.
    pub(crate) sent: Vec<String>,
}

/// An object of the schema, by its place in the list of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    Relation(usize),
    Function(usize),
    Sequence(usize),
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
}
