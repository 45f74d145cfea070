//! Removes what a client may not use from listed results.

use std::ops::Range;

use crate::{
    json_rpc::{
        scan::{Limits, elements, members, scan},
        text::{Span, string_at},
    },
    mcp::{access::Access, events},
};

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Events,
}

/// A replacement of a part of a text.
type Edit = (Range<usize>, &'static str);

/// Filters a response; `None` if it cannot be read.
///
/// Lists are found by their form and not by the id of their call, so that a response that is wrongly
/// attributed shows nothing. Everything else in the response stays as it is, byte for byte.
pub(super) fn filter(
    body: &[u8],
    format: Format,
    access: &Access,
    max_depth: u8,
) -> Option<Edited> {
    match format {
        Format::Json => filter_json(str::from_utf8(body).ok()?, access, max_depth),
        Format::Events => events::map(str::from_utf8(body).ok()?, |data| {
            filter_json(data, access, max_depth)
        })
        .map(Edited::To),
    }
}

/// The outcome of a filter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// Nothing had to be removed.
    Same,
    To(String),
}

/// Filters a message, or an array of messages.
pub(super) fn filter_json(text: &str, access: &Access, max_depth: u8) -> Option<Edited> {
    let limits = Limits {
        max_depth,
        max_messages: 0,
    };
    scan(text.as_bytes(), limits).ok()?;
    let start = text.find(|first: char| !first.is_ascii_whitespace())?;
    let whole = Span {
        start,
        end: text.len(),
    };
    let mut edits = Vec::new();
    match elements(text, whole) {
        Some(messages) => {
            for message in messages {
                filter_message(text, message, access, &mut edits)?;
            }
        }
        None => filter_message(text, whole, access, &mut edits)?,
    }
    Some(apply(text, edits))
}

fn filter_message(text: &str, message: Span, access: &Access, edits: &mut Vec<Edit>) -> Option<()> {
    let [result] = members(text, message, ["result"])?;
    let Some(result) = result else {
        // An error, or a message of the server before the result.
        return Some(());
    };
    let names = [
        "tools",
        "prompts",
        "resources",
        "resourceTemplates",
        "cacheScope",
    ];
    let [tools, prompts, resources, templates, scope] = members(text, result, names)?;
    let tool = |name: &str| access.allows_tool(name);
    let prompt = |name: &str| access.allows_prompt(name);
    let resource = |uri: &str| access.allows_resource(uri);
    filter_list(text, tools, "name", tool, edits)?;
    filter_list(text, prompts, "name", prompt, edits)?;
    filter_list(text, resources, "uri", resource, edits)?;
    filter_list(text, templates, "uriTemplate", resource, edits)?;
    // The list of one client must not be served to another from a cache.
    if let Some(scope) = scope
        && string_at(text, scope).is_none_or(|scope| scope != "private")
    {
        edits.push((scope.start..scope.end, r#""private""#));
    }
    Some(())
}

/// Removes elements together with one comma each; one without a name is removed as well.
fn filter_list(
    text: &str,
    list: Option<Span>,
    key: &str,
    allows: impl Fn(&str) -> bool,
    edits: &mut Vec<Edit>,
) -> Option<()> {
    let Some(list) = list else { return Some(()) };
    let elements = elements(text, list)?;
    let is_allowed = |element: Span| {
        let [name] = members(text, element, [key])?;
        string_at(text, name?).map(|name| allows(&name))
    };
    let bracket = list.end - 1;
    let mut start = list.start + 1;
    let mut any_kept = false;
    for (index, element) in elements.iter().enumerate() {
        let comma = elements.get(index + 1).and_then(|next| {
            let between = text.get(element.end..next.start)?;
            Some(element.end + between.find(',')?)
        });
        let end = comma.unwrap_or(bracket);
        if is_allowed(*element) == Some(true) {
            any_kept = true;
        } else if any_kept {
            edits.push((start - 1..end, ""));
        } else {
            edits.push((start..comma.map_or(bracket, |comma| comma + 1), ""));
        }
        start = end + 1;
    }
    Some(())
}

fn apply(text: &str, mut edits: Vec<Edit>) -> Edited {
    if edits.is_empty() {
        return Edited::Same;
    }
    edits.sort_unstable_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (range, replacement) in edits {
        out.push_str(&text[copied..range.start]);
        out.push_str(replacement);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    Edited::To(out)
}
