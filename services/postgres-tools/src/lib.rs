//! Tools, resources and prompts of the Model Context Protocol for PostgreSQL.
//!
//! Each tool is one file. A program adds the tools that it offers to
//! [`Tools`](ziggurat_mcp::Tools). The protocol is in [`ziggurat_mcp`]; connections and statements
//! are in [`ziggurat_postgres`].

mod authenticate_user;
mod count_rows;
pub mod custom;
pub mod database_methods;
mod embedder;
mod execute_explain;
mod generate_embedding;
mod list_databases;
mod login;
pub mod prompts;
mod query_database;
pub mod resources;
mod search_knowledgebase;
pub mod server_postgres;
mod similarity_search;

pub use self::{
    authenticate_user::AuthenticateUser,
    count_rows::CountRows,
    embedder::Embedder,
    execute_explain::ExecuteExplain,
    generate_embedding::GenerateEmbedding,
    list_databases::ListDatabases,
    login::{Login, LoginLayer, PeekedBody},
    query_database::{ConnectionUrls, InvalidUrlHost, QueryDatabase, UrlHost},
    search_knowledgebase::SearchKnowledgebase,
    similarity_search::SimilaritySearch,
};
