//! The prompts that come with the server.
//!
//! They name only tools that are listed, and speak to a model that has to pay for every call.

mod design_schema;
mod diagnose_query_issue;
mod explore_database;
mod setup_semantic_search;
#[cfg(test)]
mod tests;

use ziggurat_mcp::Prompts;

pub use self::{
    design_schema::DesignSchema, diagnose_query_issue::DiagnoseQueryIssue,
    explore_database::ExploreDatabase, setup_semantic_search::SetupSemanticSearch,
};

/// All four of them.
pub fn built_in() -> Prompts {
    Prompts::new()
        .with(DesignSchema)
        .with(DiagnoseQueryIssue)
        .with(ExploreDatabase)
        .with(SetupSemanticSearch)
}
