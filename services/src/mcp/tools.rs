//! The tools: one file each.

mod authenticate_user;
#[cfg(test)]
mod bench;
mod client;
mod count_rows;
mod embedder;
mod execute_explain;
mod generate_embedding;
mod get_schema_info;
mod login;
mod query_database;
mod search_knowledgebase;
mod similarity_search;

pub use self::{
    authenticate_user::AuthenticateUser,
    count_rows::CountRows,
    embedder::Embedder,
    execute_explain::ExecuteExplain,
    generate_embedding::GenerateEmbedding,
    get_schema_info::GetSchemaInfo,
    login::{Login, LoginLayer, PeekedBody},
    query_database::{ConnectionUrls, InvalidUrlHost, QueryDatabase, UrlHost},
    search_knowledgebase::SearchKnowledgebase,
    similarity_search::SimilaritySearch,
};
