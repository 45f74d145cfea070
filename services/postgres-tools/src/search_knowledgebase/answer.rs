//! Answers as texts.

use std::fmt::{self, Write as _};

use ziggurat_knowledge::{Filter, Passage, Product};
use ziggurat_mcp::Text;

use ziggurat_answers::CallFormat;

/// Writes the products, with the number of chunks of each.
pub(super) fn products(products: &[Product], format: CallFormat) -> Text {
    let mut text = Text::new();
    write_products(&mut text, products, format).expect("a text takes all that is written");
    text
}

/// Writes the passages.
pub(super) fn passages(
    query: &str,
    filter: &Filter,
    found: &[Passage],
    format: CallFormat,
) -> Text {
    let mut text = Text::new();
    let written = if found.is_empty() {
        write_nothing(&mut text, query, filter, format)
    } else {
        write_passages(&mut text, query, filter, found, format)
    };
    written.expect("a text takes all that is written");
    text
}

fn write_products(text: &mut Text, products: &[Product], format: CallFormat) -> fmt::Result {
    let rule = "=".repeat(50);
    writeln!(text, "Available Products in Knowledgebase\n{rule}")?;
    let mut name = None;
    for product in products {
        if name != Some(&product.name) {
            name = Some(&product.name);
            writeln!(text, "\nProduct: {}", format.text(&product.name))?;
        }
        let chunks = product.chunks;
        if product.version.is_empty() {
            writeln!(text, "  - (no version) ({chunks} chunks)")?;
        } else {
            let version = format.text(&product.version);
            writeln!(text, "  - Version {version} ({chunks} chunks)")?;
        }
    }
    let total: u64 = products.iter().map(|product| product.chunks).sum();
    write!(text, "\n{rule}\nTotal: {total} chunks across all products")
}

fn write_nothing(text: &mut Text, query: &str, filter: &Filter, format: CallFormat) -> fmt::Result {
    write!(
        text,
        "No results found for query: \"{}\"",
        format.text(query)
    )?;
    let filters = filters(filter, ["projects", "versions"]);
    if filters.is_empty() {
        return Ok(());
    }
    write!(text, " ({})", format.text(&filters))
}

fn write_passages(
    text: &mut Text,
    query: &str,
    filter: &Filter,
    found: &[Passage],
    format: CallFormat,
) -> fmt::Result {
    let (thick, thin) = ("=".repeat(80), "-".repeat(80));
    let count = found.len();
    let query = format.text(query);
    writeln!(text, "Knowledgebase Search Results: \"{query}\"")?;
    let filters = filters(filter, ["Projects", "Versions"]);
    if !filters.is_empty() {
        writeln!(text, "Filter - {}", format.text(&filters))?;
    }
    writeln!(text, "{thick}\n\nFound {count} relevant chunks:\n")?;
    for (place, passage) in (1..).zip(found) {
        if place > 1 {
            writeln!(text, "{thin}\n")?;
        }
        writeln!(text, "Result {place}/{count}")?;
        let project = format!("{} {}", passage.project, passage.version);
        writeln!(text, "Project: {}", format.text(project.trim_end()))?;
        for (label, value) in [("Title", &passage.title), ("Section", &passage.section)] {
            if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
                writeln!(text, "{label}: {}", format.text(value))?;
            }
        }
        writeln!(text, "Similarity: {:.3}\n", passage.similarity)?;
        writeln!(text, "{}\n", format.fenced(&passage.text))?;
    }
    write!(text, "{thick}\nTotal: {count} results")
}

/// Describes the filters, if there are any.
fn filters(filter: &Filter, labels: [&str; 2]) -> String {
    let parts: Vec<_> = labels
        .into_iter()
        .zip([&filter.projects, &filter.versions])
        .filter(|(_, names)| !names.is_empty())
        .map(|(label, names)| format!("{label}: {}", names.join(", ")))
        .collect();
    parts.join("; ")
}
