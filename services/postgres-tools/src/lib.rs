//! Tools, resources and prompts of the Model Context Protocol for PostgreSQL.
//!
//! Each tool is one file. A program adds the tools that it offers to
//! [`Tools`](ziggurat_mcp::Tools). The protocol is in [`ziggurat_mcp`]; connections and statements
//! are in [`ziggurat_postgres`].

mod authenticate_user;
mod client;
mod count_rows;
pub mod custom;
pub mod database_methods;
mod embedder;
mod execute_explain;
mod generate_embedding;
mod get_schema_info;
mod list_databases;
mod login;
pub mod prompts;
mod query_database;
pub mod resources;
mod result_format;
mod search_knowledgebase;
mod search_schema;
mod similarity_search;
mod sql_error;
mod table;
#[cfg(test)]
mod test_server;

pub use self::{
    authenticate_user::AuthenticateUser,
    count_rows::CountRows,
    embedder::Embedder,
    execute_explain::ExecuteExplain,
    generate_embedding::GenerateEmbedding,
    get_schema_info::GetSchemaInfo,
    list_databases::ListDatabases,
    login::{Login, LoginLayer, PeekedBody},
    query_database::{ConnectionUrls, InvalidUrlHost, QueryDatabase, UrlHost},
    result_format::{ResultFormat, ShowHidden},
    search_knowledgebase::SearchKnowledgebase,
    search_schema::SearchSchema,
    similarity_search::SimilaritySearch,
};
