//! `list_databases`: lists the databases of the caller.

use serde::Serialize;
use ziggurat_databases::{Databases, Entry};
use ziggurat_mcp::{
    Annotations, Error, Property, Schema, Structure, ToolDescriptor, ToolHandler, ToolRequest,
    ToolResult, Visibility,
};
use ziggurat_postgres::tsv;
use ziggurat_tokens::Identity;

/// Lists the databases that its caller may use, for the argument `database` of other tools.
#[derive(Clone, Debug)]
pub struct ListDatabases {
    databases: Databases,
}

/// The structured result.
#[derive(Serialize)]
struct Listed<'a> {
    databases: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    current: bool,
    access: &'static str,
}

// === impl ListDatabases ===

impl ListDatabases {
    /// Makes a tool that lists these databases.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        Self { databases }
    }
}

impl ToolHandler for ListDatabases {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new(
            "list_databases",
            "Lists the databases you may use: name, whether it is the current one, and access \
             (read or write). Other tools use the current one.",
            Schema::new(),
        )
        .with_title("List databases")
        .without_statements()
        .with_output_on_demand(Listed::schema())
        .with_annotations(Annotations::reading())
        .with_visibility(Visibility::OnlyNegotiated)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let listing = self
            .databases
            .listing(request.caller().extension::<Identity>());
        let current = &listing.current;
        let lines: Vec<_> = listing
            .databases
            .iter()
            .map(|it| Line::of(it, current))
            .collect();
        let mut text = String::from("name\tcurrent\taccess");
        for line in &lines {
            text.push('\n');
            tsv::write_text(&mut text, line.name);
            text.push_str(if line.current {
                "\ttrue\t"
            } else {
                "\tfalse\t"
            });
            text.push_str(line.access);
        }
        let structure = request.wants_structure().then(|| {
            Structure::new(&Listed { databases: lines }).expect("texts and truth values are JSON")
        });
        Ok(ToolResult::text(text).with_structure(structure))
    }
}

// === impl Listed ===

impl Listed<'_> {
    fn schema() -> Schema {
        let line = Schema::new()
            .with_required("name", Property::string("The name."))
            .with_required(
                "current",
                Property::boolean("True for the one that tools use by default."),
            )
            .with_required("access", Property::string("`read` or `write`."));
        let lines = Property::objects("The databases, in the order of the configuration.", line);
        Schema::new().with_required("databases", lines)
    }
}

// === impl Line ===

impl<'a> Line<'a> {
    fn of(entry: &'a Entry, current: &str) -> Self {
        Self {
            name: &entry.name,
            current: entry.name == current,
            access: if entry.allow_writes { "write" } else { "read" },
        }
    }
}
