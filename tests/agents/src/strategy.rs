//! Ways to learn about a database what a question needs. They know the words of the question and
//! the answers, never the statement, and do the same in every database.

mod schema_info;
mod search;
mod words;

use crate::conversation::Conversation;

/// A tool, and a way to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Calls of `search_schema`.
    Search,
    /// Calls of `get_schema_info`.
    SchemaInfo,
}

// === impl Strategy ===

impl Strategy {
    /// Returns the name of the tool.
    pub(crate) fn tool(self) -> &'static str {
        match self {
            Self::Search => "search_schema",
            Self::SchemaInfo => "get_schema_info",
        }
    }

    /// Makes the calls for a question.
    pub(crate) async fn ask(
        self,
        conversation: &mut Conversation<'_>,
        question: &str,
    ) -> anyhow::Result<()> {
        match self {
            Self::Search => search::ask(conversation, question).await,
            Self::SchemaInfo => schema_info::ask(conversation, question).await,
        }
    }
}
