//! Lists in pages, encoded for each revision.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde::Serialize;
use ziggurat_layers::json_rpc::Error;

use crate::{
    Annotations, Icon, Prompts, Resources, Tools, params::invalid, prompt::PromptArgument,
    protocol::Revision, tool::Schema,
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
    kind: &'static str,
    pages: Vec<Bytes>,
}

// === impl Pages ===

impl Pages {
    fn new(kind: &'static str, entries: &[impl Serialize], size: usize, tail: &str) -> Self {
        let count = entries.len().div_ceil(size).max(1);
        let page = |at: usize| {
            let entries = entries.iter().skip(at * size).take(size);
            let entries = serde_json::to_string(&entries.collect::<Vec<_>>());
            let entries = entries.expect("text is JSON");
            let next = if at + 1 < count {
                format!(r#","nextCursor":"{}""#, cursor(kind, at + 1))
            } else {
                String::new()
            };
            format!(r#"{{"{kind}":{entries}{next}{tail}"#).into()
        };
        Self {
            kind,
            pages: (0..count).map(page).collect(),
        }
    }

    /// Returns the page of a cursor that this server made, or the first page.
    pub(crate) fn page(&self, asked: Option<&str>) -> Result<Bytes, Error> {
        let Some(asked) = asked else {
            return Ok(self.pages[0].clone());
        };
        let mut others = self.pages.iter().enumerate().skip(1);
        others
            .find(|(at, _)| cursor(self.kind, *at) == asked)
            .map(|(_, page)| page.clone())
            .ok_or_else(|| invalid("`cursor` is not a cursor of this list"))
    }
}

/// Makes an opaque cursor, so that clients do not depend on its content.
fn cursor(kind: &str, page: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("{kind}/{page}"))
}

// === impl Format ===

impl Format<'_> {
    pub(super) fn tools(&self, tools: &Tools, may_write: bool) -> Pages {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Tool<'a> {
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
        let entries = tools.listed(self.is_negotiated).map(|tool| Tool {
            name: &tool.name,
            title: self.title(tool.title.as_deref()),
            description: tool.description(self.is_negotiated),
            input_schema: tool.schema(self.is_negotiated),
            output_schema: tools.output(tool).filter(|_| revision.has_structure()),
            annotations: revision
                .has_annotations()
                .then(|| tool.annotations_for(may_write))
                .filter(|annotations| *annotations != Annotations::default()),
            icons: if *revision >= Revision::V2025_11_25 {
                &tool.icons
            } else {
                &[]
            },
        });
        self.pages("tools", entries)
    }

    pub(super) fn resources(&self, resources: &Resources) -> Pages {
        let entries = resources.descriptors().map(|resource| Resource {
            uri: Some(&resource.uri),
            uri_template: None,
            name: &resource.name,
            title: self.title(resource.title.as_deref()),
            description: &resource.description,
            mime_type: &resource.mime_type,
        });
        self.pages("resources", entries)
    }

    pub(super) fn resource_templates(&self, resources: &Resources) -> Pages {
        let templates = resources.templates().iter();
        let templates = templates.filter(|_| self.is_negotiated);
        let entries = templates.map(|entry| Resource {
            uri: None,
            uri_template: Some(entry.descriptor.uri.as_str()),
            name: &entry.descriptor.name,
            title: self.title(entry.descriptor.title.as_deref()),
            description: &entry.descriptor.description,
            mime_type: &entry.descriptor.mime_type,
        });
        self.pages("resourceTemplates", entries)
    }

    pub(super) fn prompts(&self, prompts: &Prompts) -> Pages {
        #[derive(Serialize)]
        struct Prompt<'a> {
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            title: Option<&'a str>,
            description: &'a str,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            arguments: Vec<Argument<'a>>,
        }

        #[derive(Serialize)]
        struct Argument<'a> {
            name: &'a str,
            description: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            required: Option<bool>,
            /// Only without negotiation: no revision has it.
            #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
            kind: Option<&'static str>,
        }

        fn argument(argument: &PromptArgument, is_negotiated: bool) -> Argument<'_> {
            Argument {
                name: &argument.name,
                description: &argument.description,
                required: argument.is_required.then_some(true),
                kind: (argument.is_boolean && !is_negotiated).then_some("boolean"),
            }
        }

        let entries = prompts.descriptors().map(|prompt| Prompt {
            name: &prompt.name,
            title: self.title(prompt.title.as_deref()),
            description: &prompt.description,
            arguments: prompt
                .arguments
                .iter()
                .map(|it| argument(it, self.is_negotiated))
                .collect(),
        });
        self.pages("prompts", entries)
    }

    fn title<'a>(&self, title: Option<&'a str>) -> Option<&'a str> {
        title.filter(|_| self.revision >= Revision::V2025_06_18)
    }

    fn pages(&self, kind: &'static str, entries: impl Iterator<Item: Serialize>) -> Pages {
        let size = if self.is_negotiated { PAGE } else { usize::MAX };
        Pages::new(kind, &entries.collect::<Vec<_>>(), size, self.tail)
    }
}

/// A resource or a resource template.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_template: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    mime_type: &'a str,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_long_list_is_read_page_by_page_and_any_other_cursor_is_refused() {
        let entries: Vec<_> = (0..=2 * PAGE).collect();
        let list = Pages::new("tools", &entries, PAGE, r#","x":1}"#);
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = list.page(cursor.as_deref()).expect("a page");
            let page: Value = serde_json::from_slice(&page).expect("JSON");
            assert_eq!(page["x"], 1);
            let entries = page["tools"].as_array().expect("a list").iter();
            seen.extend(entries.map(|entry| entry.as_u64().expect("a number")));
            let Some(next) = page["nextCursor"].as_str() else {
                break;
            };
            cursor = Some(next.to_owned());
        }
        assert_eq!(seen, (0..=2 * PAGE as u64).collect::<Vec<_>>());
        let other = Pages::new("prompts", &entries, PAGE, "}");
        for cursor in ["", "1", "dG9vbHMvMA", "dG9vbHMvMw", "dG9vbHMvMQ=="] {
            let error = list.page(Some(cursor)).expect_err(cursor);
            assert_eq!(error.code(), Error::INVALID_PARAMS);
        }
        assert!(other.page(Some(&self::cursor("tools", 1))).is_err());
    }
}
