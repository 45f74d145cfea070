//! `tools.yaml` of MCP Toolbox, in both forms: maps with `kind`, and documents with `kind` and `type`.

mod builtin;
mod prompts;
mod sources;
mod template;
#[cfg(test)]
mod tests;
mod tools;
mod toolsets;

pub(crate) use self::toolsets::Sets;
use crate::{
    Adoption, Input, Report, Surroundings,
    tree::{Node, Value},
};

/// Sections, by their names in both forms.
const SECTIONS: [(&str, &str); 9] = [
    ("sources", "source"),
    ("tools", "tool"),
    ("toolsets", "toolset"),
    ("groups", "group"),
    ("authServices", "authService"),
    ("authSources", "authSource"),
    ("prompts", "prompt"),
    ("promptsets", "promptset"),
    ("embeddingModels", "embeddingModel"),
];

/// A thing of the configuration.
#[derive(Clone, Copy)]
struct Item<'a> {
    section: &'static str,
    name: &'a str,
    /// Its kind within the section, such as `postgres-sql`.
    kind: Option<&'a Node>,
    node: &'a Node,
}

/// Returns whether documents are a configuration of this server.
pub(crate) fn is_one(documents: &[Node]) -> bool {
    documents.iter().any(|document| {
        let is_section = |name: &String| section(name).is_some();
        let kind = document.find_text("kind");
        kind.is_some_and(|kind| section(&kind).is_some())
            || document.members().iter().any(|(name, _)| is_section(name))
    })
}

fn section(name: &str) -> Option<&'static str> {
    let mut sections = SECTIONS.iter();
    let found = sections.find(|(many, one)| name == *many || name == *one);
    found.map(|(many, _)| *many)
}

/// Returns the things of all documents.
fn items<'a>(documents: &'a [Node], names: &'a [String]) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for (node, name) in documents.iter().zip(names) {
        let kind = node.find_text("kind").as_deref().and_then(section);
        if let Some(section) = kind {
            let kind = node.find("type");
            items.push(Item {
                section,
                name,
                kind,
                node,
            });
            continue;
        }
        for (section_name, members) in node.members() {
            let Some(section) = section(section_name) else {
                continue;
            };
            items.extend(members.members().iter().map(|(name, node)| Item {
                section,
                name,
                kind: node.find("kind"),
                node,
            }));
        }
    }
    items
}

/// Reads all documents.
pub(crate) fn read(
    input: &Input<'_>,
    documents: &[Node],
    surroundings: &Surroundings<'_>,
    adoption: &mut Adoption,
) {
    let names = documents
        .iter()
        .map(|it| it.find_text("name").unwrap_or_default());
    let names: Vec<_> = names.collect();
    let items = items(documents, &names);
    let of = |section: &'static str| items.iter().filter(move |it| it.section == section);
    let mut known = sources::Sources::default();
    for item in of("sources") {
        known.read(input, *item, surroundings, adoption);
    }
    for item in of("authServices").chain(of("authSources")) {
        toolsets::service(input, *item, surroundings, adoption);
    }
    for item in of("tools") {
        tools::read(input, *item, &known, surroundings, adoption);
    }
    for item in of("toolsets").chain(of("groups")) {
        adoption.sets.add(input, *item);
    }
    for item in of("prompts") {
        prompts::read(input, *item, adoption);
    }
    for item in of("promptsets").chain(of("embeddingModels")) {
        let place = input.place(item.node.line, item.name);
        adoption.report.missing(place, item.section);
    }
    unknown(input, documents, &mut adoption.report);
}

/// Reports the documents and the sections that are not known here.
fn unknown(input: &Input<'_>, documents: &[Node], report: &mut Report) {
    for document in documents {
        if let Some(kind) = document.find_text("kind") {
            if section(&kind).is_none() {
                let name = document.find_text("name").unwrap_or_default();
                let place = input.place(document.line, &name);
                report.missing(place, "a document of a kind that is not known here");
            }
            continue;
        }
        for (name, node) in document.members() {
            if matches!(node.value, Value::Map(_)) && section(name).is_none() {
                let place = input.place(node.line, name);
                report.missing(place, "a section that is not known here");
            }
        }
    }
}

// === impl Item ===

impl Item<'_> {
    fn kind(&self) -> String {
        self.kind.and_then(Node::text).unwrap_or_default()
    }
}
