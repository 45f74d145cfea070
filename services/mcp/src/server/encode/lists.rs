//! Lists in pages, encoded for each revision.

use std::ops::Range;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde::Serialize;
use ziggurat_layers::json_rpc::Error;

use crate::{
    Annotations, EntryKind, Icon, Prompts, ResourceDescriptor, Resources, ToolDescriptor, Tools,
    View, params::invalid, prompt::PromptArgument, protocol::Revision, tool::Schema,
};

/// Number of entries in a page.
const PAGE: usize = 100;

/// Facts that determine how lists are encoded.
pub(super) struct Format<'a> {
    pub(super) revision: Revision,
    pub(super) is_negotiated: bool,
    /// The bytes after the entries.
    pub(super) tail: &'a str,
}

/// A list in encoded pages.
#[derive(Debug)]
pub(crate) struct Pages {
    /// The member of the result.
    list: &'static str,
    kind: EntryKind,
    size: usize,
    tail: Box<str>,
    /// The pages for callers that see everything.
    encoded: Vec<Bytes>,
    entries: Vec<Entry>,
}

/// An encoded entry.
#[derive(Debug)]
struct Entry {
    name: Box<str>,
    /// Shares the bytes of its page.
    json: Bytes,
    /// Unset if only a [`View`] shows it.
    is_for_all: bool,
}

// === impl Pages ===

impl Pages {
    fn new(
        (list, kind): (&'static str, EntryKind),
        entries: Vec<Entry>,
        size: usize,
        tail: &str,
    ) -> Self {
        let mut pages = Self {
            list,
            kind,
            size,
            tail: tail.into(),
            encoded: Vec::new(),
            entries,
        };
        let shown = |entry: &Entry| entry.is_for_all.then(|| entry.json.clone());
        let shown: Vec<_> = pages.entries.iter().filter_map(shown).collect();
        let mut ranges = Vec::with_capacity(shown.len());
        for at in 0..shown.len().div_ceil(size).max(1) {
            let (page, of_page) = pages.encode(&shown, at);
            let slices = of_page.into_iter().map(|range| page.slice(range));
            ranges.extend(slices);
            pages.encoded.push(page);
        }
        let listed = pages.entries.iter_mut().filter(|entry| entry.is_for_all);
        for (entry, slice) in listed.zip(ranges) {
            entry.json = slice;
        }
        pages
    }

    /// Encodes a page of these entries. Returns the ranges of its entries, too.
    fn encode(&self, entries: &[Bytes], page: usize) -> (Bytes, Vec<Range<usize>>) {
        let mut json = format!(r#"{{"{}":["#, self.list).into_bytes();
        let on_page = entries.iter().skip(page.saturating_mul(self.size));
        let ranges = on_page.take(self.size).enumerate().map(|(index, entry)| {
            if index > 0 {
                json.push(b',');
            }
            let start = json.len();
            json.extend_from_slice(entry);
            start..json.len()
        });
        let ranges = ranges.collect();
        json.push(b']');
        if page + 1 < entries.len().div_ceil(self.size) {
            let next = format!(r#","nextCursor":"{}""#, cursor(self.list, page + 1));
            json.extend_from_slice(next.as_bytes());
        }
        json.extend_from_slice(self.tail.as_bytes());
        (json.into(), ranges)
    }

    /// Returns the page of a cursor that this server made, or the first page.
    pub(crate) fn page(&self, asked: Option<&str>) -> Result<Bytes, Error> {
        let at = self.index(asked, self.encoded.len())?;
        Ok(self.encoded[at].clone())
    }

    /// The same of the entries that a caller sees.
    pub(crate) fn page_of(&self, view: &dyn View, asked: Option<&str>) -> Result<Bytes, Error> {
        let entries = self.entries.iter().filter(|entry| {
            view.sees(self.kind, &entry.name)
                && (entry.is_for_all || view.has_everywhere(&entry.name))
        });
        let entries: Vec<_> = entries.map(|entry| entry.json.clone()).collect();
        let at = self.index(asked, entries.len().div_ceil(self.size))?;
        Ok(self.encode(&entries, at).0)
    }

    /// Returns the index of the page of a cursor, if the list has so many pages.
    fn index(&self, asked: Option<&str>, pages: usize) -> Result<usize, Error> {
        let Some(asked) = asked else {
            return Ok(0);
        };
        let mut others = 1..pages;
        others
            .find(|at| cursor(self.list, *at) == asked)
            .ok_or_else(|| invalid("`cursor` is not a cursor of this list"))
    }
}

// === impl Entry ===

impl Entry {
    fn new(name: &str, is_for_all: bool, entry: &impl Serialize) -> Self {
        Self {
            name: name.into(),
            json: serde_json::to_vec(entry).expect("text is JSON").into(),
            is_for_all,
        }
    }
}

/// Makes an opaque cursor, so that clients do not depend on its content.
fn cursor(list: &str, page: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list}/{page}"))
}

// === impl Format ===

impl Format<'_> {
    pub(super) fn tools(&self, tools: &Tools, may_write: bool) -> Pages {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ToolEntry<'a> {
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            title: Option<&'a str>,
            description: &'a str,
            input_schema: &'a Schema,
            #[serde(skip_serializing_if = "Option::is_none")]
            output_schema: Option<&'a Schema>,
            #[serde(skip_serializing_if = "Option::is_none")]
            annotations: Option<Annotations>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            icons: &'a [Icon],
        }

        let Self { revision, .. } = self;
        let encoded = |(tool, is_for_all): (&ToolDescriptor, bool)| {
            let entry = ToolEntry {
                name: &tool.name,
                title: self.title(tool.title.as_deref()),
                description: tool.description(self.is_negotiated),
                input_schema: tool.schema(self.is_negotiated),
                output_schema: tools.output(tool).filter(|schema| {
                    revision.is_modern() || (revision.has_structure() && schema.is_object())
                }),
                annotations: revision
                    .has_annotations()
                    .then(|| tool.annotations_for(may_write))
                    .filter(|annotations| *annotations != Annotations::default()),
                icons: if *revision >= Revision::V2025_11_25 {
                    &tool.icons
                } else {
                    &[]
                },
            };
            Entry::new(&tool.name, is_for_all, &entry)
        };
        let entries = tools.listed(self.is_negotiated).map(encoded);
        self.pages("tools", EntryKind::Tool, entries)
    }

    pub(super) fn resources(
        &self,
        resources: &mut dyn Iterator<Item = &ResourceDescriptor>,
    ) -> Pages {
        let entries = resources.map(|resource| {
            let entry = ResourceEntry {
                uri: Some(&resource.uri),
                uri_template: None,
                name: &resource.name,
                title: self.title(resource.title.as_deref()),
                description: Some(&*resource.description).filter(|text| !text.is_empty()),
                mime_type: &resource.mime_type,
            };
            Entry::new(&resource.uri, true, &entry)
        });
        self.pages("resources", EntryKind::Resource, entries)
    }

    pub(super) fn resource_templates(&self, resources: &Resources) -> Pages {
        let templates = resources.templates().iter();
        let templates = templates.filter(|_| self.is_negotiated);
        let entries = templates.map(|template| {
            let descriptor = &template.descriptor;
            let uri = descriptor.uri.as_str();
            let entry = ResourceEntry {
                uri: None,
                uri_template: Some(uri),
                name: &descriptor.name,
                title: self.title(descriptor.title.as_deref()),
                description: Some(&descriptor.description),
                mime_type: &descriptor.mime_type,
            };
            Entry::new(uri, true, &entry)
        });
        self.pages("resourceTemplates", EntryKind::ResourceTemplate, entries)
    }

    pub(super) fn prompts(&self, prompts: &Prompts) -> Pages {
        #[derive(Serialize)]
        struct PromptEntry<'a> {
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            title: Option<&'a str>,
            description: &'a str,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            arguments: Vec<ArgumentEntry<'a>>,
        }

        #[derive(Serialize)]
        struct ArgumentEntry<'a> {
            name: &'a str,
            description: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            required: Option<bool>,
            /// Only without negotiation: no revision has it.
            #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
            kind: Option<&'static str>,
        }

        fn argument(argument: &PromptArgument, is_negotiated: bool) -> ArgumentEntry<'_> {
            ArgumentEntry {
                name: &argument.name,
                description: &argument.description,
                required: argument.is_required.then_some(true),
                kind: (argument.is_boolean && !is_negotiated).then_some("boolean"),
            }
        }

        let entries = prompts.descriptors().map(|prompt| {
            let entry = PromptEntry {
                name: &prompt.name,
                title: self.title(prompt.title.as_deref()),
                description: &prompt.description,
                arguments: prompt
                    .arguments
                    .iter()
                    .map(|it| argument(it, self.is_negotiated))
                    .collect(),
            };
            Entry::new(&prompt.name, true, &entry)
        });
        self.pages("prompts", EntryKind::Prompt, entries)
    }

    fn title<'a>(&self, title: Option<&'a str>) -> Option<&'a str> {
        title.filter(|_| self.revision >= Revision::V2025_06_18)
    }

    fn pages(
        &self,
        list: &'static str,
        kind: EntryKind,
        entries: impl Iterator<Item = Entry>,
    ) -> Pages {
        let size = if self.is_negotiated { PAGE } else { usize::MAX };
        Pages::new((list, kind), entries.collect(), size, self.tail)
    }
}

/// A resource or a resource template.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceEntry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_template: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    mime_type: &'a str,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Sees the entries with names that begin with this text.
    struct Beginning(&'static str);

    impl View for Beginning {
        fn sees(&self, _: EntryKind, name: &str) -> bool {
            name.starts_with(self.0)
        }
    }

    fn list(kind: (&'static str, EntryKind), tail: &str) -> Pages {
        let entries = (0..=2 * PAGE).map(|number| Entry::new(&number.to_string(), true, &number));
        Pages::new(kind, entries.collect(), PAGE, tail)
    }

    /// Follows the cursors, and returns the entries of all pages.
    fn all(page: impl Fn(Option<&str>) -> Result<Bytes, Error>) -> Vec<u64> {
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = page(cursor.as_deref()).expect("a page");
            let page: Value = serde_json::from_slice(&page).expect("JSON");
            assert_eq!(page["x"], 1);
            let entries = page["tools"].as_array().expect("a list").iter();
            seen.extend(entries.map(|entry| entry.as_u64().expect("a number")));
            let Some(next) = page["nextCursor"].as_str() else {
                return seen;
            };
            cursor = Some(next.to_owned());
        }
    }

    #[test]
    fn a_long_list_is_read_page_by_page_and_any_other_cursor_is_refused() {
        let tools = list(("tools", EntryKind::Tool), r#","x":1}"#);
        let seen = all(|cursor| tools.page(cursor));
        assert_eq!(seen, (0..=2 * PAGE as u64).collect::<Vec<_>>());
        let prompts = list(("prompts", EntryKind::Prompt), "}");
        for cursor in ["", "1", "dG9vbHMvMA", "dG9vbHMvMw", "dG9vbHMvMQ=="] {
            let error = tools.page(Some(cursor)).expect_err(cursor);
            assert_eq!(error.code(), Error::INVALID_PARAMS);
        }
        assert!(prompts.page(Some(&cursor("tools", 1))).is_err());
    }

    #[test]
    fn the_pages_of_a_caller_have_what_it_sees_and_no_cursor_tells_that_there_is_more() {
        let tools = list(("tools", EntryKind::Tool), r#","x":1}"#);
        for (beginning, expected) in [
            ("", (0..=200).collect()),
            ("1", [1].into_iter().chain(10..20).chain(100..200).collect()),
            ("20", vec![20, 200]),
            ("x", vec![]),
        ] {
            let seen = all(|cursor| tools.page_of(&Beginning(beginning), cursor));
            assert_eq!(seen, expected, "{beginning}");
        }
        let whole = tools.page(None).expect("a page");
        assert_eq!(tools.page_of(&Beginning(""), None), Ok(whole));
        let second = cursor("tools", 1);
        let refused = |view: &dyn View, cursor| tools.page_of(view, Some(cursor)).err();
        assert_eq!(refused(&Beginning("1"), &second), None);
        let error = refused(&Beginning("2"), &second);
        assert_eq!(error, tools.page(Some("invented")).err());
        assert_eq!(error, refused(&Beginning("2"), "invented"));
    }
}
