//! The tools: one file each.

mod authenticate_user;
#[cfg(test)]
mod bench;
mod client;
mod count_rows;
mod execute_explain;
mod get_schema_info;
mod query_database;
mod read_resource;

pub(super) use self::read_resource::READ_RESOURCE;
pub use self::{
    authenticate_user::AuthenticateUser, count_rows::CountRows, execute_explain::ExecuteExplain,
    get_schema_info::GetSchemaInfo, query_database::QueryDatabase, read_resource::ReadResource,
};
