//! The tools: one file each.

mod client;
mod query_database;
mod read_resource;

pub(super) use self::read_resource::READ_RESOURCE;
pub use self::{query_database::QueryDatabase, read_resource::ReadResource};
