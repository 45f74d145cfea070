//! `explore-database`: describes a database with one call for its schema.

use ziggurat_mcp::{PromptArguments, PromptDescriptor, PromptHandler, Rendered};

const TEXT: &str = "\
Explore the database I am connected to and tell me what is in it. Be frugal: every call costs \
time and tokens, and most of what I want to know follows from the schema alone.

Work from fresh answers. Call the tools now, even if this conversation already holds earlier \
results: the current database may have been switched since, and an old schema would describe \
the wrong one.

1. Call get_schema_info once, without arguments. On a small database this returns every column; \
on a large one it returns a summary.
   - If it is a summary, choose the one schema that matters most for an overview and call \
get_schema_info once more with that schema_name. Do not walk through the schemas one by one.
   - If no tables are found, say so, name the database from the first line of the result, and \
stop.
2. Analyse what you have without calling anything else:
   - what the database is for, judged by its names and comments;
   - the central tables, and which of them merely record details or link others;
   - how they relate, from the foreign keys; where a key seems to be missing, say that it is a \
guess;
   - vector columns, and what they seem to be embeddings of;
   - anything unusual: tables without a primary key, abandoned copies, columns of a surprising \
type.
3. Write the summary:
   - the name of the database and one sentence on its purpose;
   - the tables in groups by subject, one line for each that matters;
   - the relations worth knowing before writing a join;
   - three to five questions this database could answer, each in one line.
4. Stop there and offer to look at rows. Run query_database only when I ask for it, and then \
with a small limit.

Do not count rows, do not sample every table, and do not repeat a call whose result you have.
";

/// Describes a database from its schema.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExploreDatabase;

// === impl ExploreDatabase ===

impl PromptHandler for ExploreDatabase {
    fn describe(&self) -> PromptDescriptor {
        PromptDescriptor::new(
            "explore-database",
            "Explores an unfamiliar database with as few calls as possible and summarises what \
             it holds.",
        )
        .with_title("Explore a database")
    }

    fn render(&self, _: &PromptArguments) -> Rendered {
        Rendered::new("Systematic database exploration workflow").with_user_text(TEXT)
    }
}
