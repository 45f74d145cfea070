//! `setup-semantic-search`: finds the passages that answer a question.

use ziggurat_mcp::{
    PromptArgument, PromptArguments, PromptDescriptor, PromptHandler, Rendered, Template,
};

const QUERY: &str = "query_text";
const PLACEHOLDER: &str = "[your search query]";

const TEXT: &str = "\
Find what this database has to say about the following, by meaning rather than by keyword:

{{query_text}}

1. Find the tables that can be searched. Call get_schema_info with vector_tables_only set to \
true. If there is none, tell me that the database has no vector column, name what would be \
needed (a vector column, embeddings of a text column, an index on them), and stop.
2. Pick one table. Prefer the one whose name, comments and text columns fit the query best; \
between equals, take the one with longer texts. Say in one sentence why you picked it. Do not \
search all of them to find out.
3. Look before you read. Call similarity_search with the query_text above, the table_name you \
picked, output_format set to summary and top_n set to 10. The summaries are short, and enough to \
judge whether this is the right place.
   - If hardly anything is relevant, rephrase the query once, in the words of the summaries, or \
try the second-best table. After two attempts report what you tried.
4. Read what is worth it. Call similarity_search again with output_format set to full. Keep \
max_output_tokens at its default unless the answer is visibly cut off; raise lambda towards 1 if \
the passages stray from the subject, lower it if they repeat each other.
5. Answer from the passages. Quote or name the source of each statement (table, column and rank, \
as the result shows them), say what the passages leave open, and add nothing from elsewhere.

If a call reports that no embedding provider is configured, stop and tell me: that is a setting \
of the server, and no other tool makes up for it.
";

/// Guides a model through a semantic search.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetupSemanticSearch;

// === impl SetupSemanticSearch ===

impl PromptHandler for SetupSemanticSearch {
    fn describe(&self) -> PromptDescriptor {
        let query = PromptArgument::required(QUERY, "The question, in natural language.");
        PromptDescriptor::new(
            "setup-semantic-search",
            "Finds the right vector table for a question, searches it in two steps and answers \
             from what it finds.",
        )
        .with_title("Search by meaning")
        .with_argument(query)
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        let query = arguments.text(QUERY).unwrap_or(PLACEHOLDER);
        let text = Template::new(TEXT).fill(|name| (name == QUERY).then_some(query));
        Rendered::new(format!("Semantic search for: \"{query}\"")).with_user_text(text)
    }
}
