//! Messages of a chat.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The parts of a message that this module needs.
///
/// Only its role and content must be valid. An invalid block counts as empty; it is returned
/// unchanged.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) role: Role,
    /// All its text.
    pub(super) text: Cow<'a, str>,
    /// Tool calls in the message.
    pub(super) uses: Vec<ToolUse<'a>>,
    /// Ids of the calls it has results of; empty for a result without an id.
    pub(super) results: Vec<Cow<'a, str>>,
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    System,
    Other,
}

/// A tool call.
#[derive(Debug)]
pub(super) struct ToolUse<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
}

type Member<'a> = Option<&'a RawValue>;

/// A message of a chat. Other members are kept unchanged.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChatMessage)]
pub(super) struct ChatMessage<'a> {
    /// `user`, `assistant` or `system`.
    #[serde(borrow)]
    #[schema(value_type = Option<String>, example = "user")]
    role: Member<'a>,
    /// A text, or a list of blocks.
    #[serde(borrow)]
    #[schema(value_type = Option<serde_json::Value>, example = "How many orders are there?")]
    content: Member<'a>,
}

#[derive(Default, Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Member<'a>,
    #[serde(borrow)]
    text: Member<'a>,
    #[serde(borrow)]
    id: Member<'a>,
    #[serde(borrow)]
    name: Member<'a>,
    #[serde(borrow)]
    input: Member<'a>,
    #[serde(borrow)]
    tool_use_id: Member<'a>,
    #[serde(borrow)]
    content: Member<'a>,
}

// === impl Message ===

impl<'a> Message<'a> {
    /// Parses a message, or returns the reason why it is invalid.
    pub(super) fn read(raw: &'a RawValue) -> Result<Self, &'static str> {
        if !raw.get().starts_with('{') {
            return Err("a message must be an object");
        }
        let outside: ChatMessage<'a> = serde_json::from_str(raw.get())
            .map_err(|_| "a message must have each of its members once")?;
        let role = match outside.role.map(string) {
            None => Role::Other,
            Some(Some(role)) => Role::named(&role),
            Some(None) => return Err("the role of a message must be a string"),
        };
        let mut this = Self {
            role,
            text: Cow::Borrowed(""),
            uses: Vec::new(),
            results: Vec::new(),
        };
        if let Some(content) = outside.content {
            this.text = match string(content) {
                Some(text) => text,
                None if content.get().starts_with('[') => this.blocks(content),
                None => compact(content),
            };
        }
        Ok(this)
    }

    /// Returns whether it has tool calls or results.
    pub(super) fn has_tools(&self) -> bool {
        !self.uses.is_empty() || !self.results.is_empty()
    }

    fn blocks(&mut self, content: &'a RawValue) -> Cow<'a, str> {
        joined(items(content).filter_map(|raw| {
            let block = Block::read(raw);
            match block.kind.and_then(string).as_deref()? {
                "text" => block.text.and_then(string),
                "tool_use" => Some(self.call(&block)),
                "tool_result" => Some(self.result(&block)),
                _ => None,
            }
        }))
    }

    fn call(&mut self, block: &Block<'a>) -> Cow<'a, str> {
        let name = block.name.and_then(string).unwrap_or_default();
        let text = match block.input.map(compact) {
            Some(input) => Cow::Owned(format!("{name} {input}")),
            None => name.clone(),
        };
        let id = block.id.and_then(string).unwrap_or_default();
        self.uses.push(ToolUse { id, name });
        text
    }

    fn result(&mut self, block: &Block<'a>) -> Cow<'a, str> {
        let id = block.tool_use_id.and_then(string).unwrap_or_default();
        self.results.push(id);
        let Some(content) = block.content else {
            return Cow::Borrowed("");
        };
        if let Some(text) = string(content) {
            return text;
        }
        if content.get().starts_with('[') {
            return joined(items(content).filter_map(|raw| Block::read(raw).text.and_then(string)));
        }
        compact(content)
    }
}

// === impl Role ===

impl Role {
    fn named(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "system" => Self::System,
            _ => Self::Other,
        }
    }
}

// === impl Block ===

impl<'a> Block<'a> {
    fn read(raw: &'a RawValue) -> Self {
        // Serde would also accept a list for a struct.
        let object = Some(raw.get()).filter(|text| text.starts_with('{'));
        object
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }
}

/// Returns the value of a JSON string. A string with a lone surrogate is returned as it is written.
fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if !inside.contains('\\') {
        return Some(Cow::Borrowed(inside));
    }
    let said: Option<Text<'_>> = serde_json::from_str(raw.get()).ok();
    Some(said.map_or(Cow::Borrowed(inside), |text| text.0))
}

/// Returns the items of a list.
fn items(raw: &RawValue) -> impl Iterator<Item = &RawValue> {
    let items: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    items.into_iter()
}

fn joined<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let mut joined = texts.next().unwrap_or_default();
    for text in texts {
        let joined = joined.to_mut();
        joined.push(' ');
        joined.push_str(&text);
    }
    joined
}

/// Removes white space between the tokens of JSON.
fn compact(raw: &RawValue) -> Cow<'_, str> {
    let raw = raw.get();
    if !raw.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return Cow::Borrowed(raw);
    }
    let (mut is_inside, mut is_escaped) = (false, false);
    let kept = raw.chars().filter(|&character| {
        if is_inside {
            is_inside = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            return true;
        }
        is_inside = character == '"';
        !character.is_ascii_whitespace()
    });
    Cow::Owned(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).expect("JSON")
    }

    #[test]
    fn the_text_of_a_message_comes_from_its_content() {
        for (content, text) in [
            (r#""plain""#, "plain"),
            (r#""say \"tea\" \u00e9""#, "say \"tea\" é"),
            (r#""half \ud800 pair""#, r"half \ud800 pair"),
            (r#""""#, ""),
            ("[]", ""),
            (
                r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
                "a b",
            ),
            (
                r#"[{"type":"image","text":"a"},7,["type"],null,{"text":"b"}]"#,
                "",
            ),
            (r#"[{"type":"text","text":7},{"type":"text"}]"#, ""),
            (
                r#"[{"type":"tool_use","name":"count","input":{"a": [1, "b \" c"]}}]"#,
                r#"count {"a":[1,"b \" c"]}"#,
            ),
            (
                r#"[{"type":"tool_use","name":"count"},{"type":"text","text":"x"}]"#,
                "count x",
            ),
            (r#"[{"type":"tool_result","content":"rows"}]"#, "rows"),
            (
                r#"[{"type":"tool_result","content":[{"type":"text","text":"a"},{"text":"b"},1]}]"#,
                "a b",
            ),
            (
                r#"[{"type":"tool_result","content":{"a": 1}}]"#,
                r#"{"a":1}"#,
            ),
            (r#"[{"type":"tool_result"}]"#, ""),
            (r#"{"a": 1}"#, r#"{"a":1}"#),
            ("7", "7"),
            ("true", "true"),
        ] {
            let json = raw(&format!(
                r#"{{"role":"user","content":{content},"more":[1]}}"#
            ));
            let message = Message::read(&json).expect("a message");
            assert_eq!(message.text, text, "{content}");
            assert_eq!(message.role, Role::User);
        }
    }

    #[test]
    fn calls_and_results_are_detected() {
        let json = raw(
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a"},
            {"type":"text","text":"x"},{"type":"tool_use","id":7},
            {"type":"tool_result","tool_use_id":"t0","content":"y"}]}"#,
        );
        let message = Message::read(&json).expect("a message");
        let uses: Vec<_> = message
            .uses
            .iter()
            .map(|used| (&*used.id, &*used.name))
            .collect();
        assert_eq!(uses, [("t1", "a"), ("", "")]);
        assert_eq!(message.results, ["t0"]);
        assert!(message.has_tools());
    }

    #[test]
    fn an_invalid_message_is_refused_with_a_reason() {
        for (json, reason) in [
            ("7", "a message must be an object"),
            (r#"["user","hi"]"#, "a message must be an object"),
            (r#"{"role":7}"#, "the role of a message must be a string"),
            (
                r#"{"role":"a","role":"b"}"#,
                "a message must have each of its members once",
            ),
        ] {
            assert_eq!(Message::read(&raw(json)).err(), Some(reason), "{json}");
        }
        for (json, role) in [
            ("{}", Role::Other),
            (r#"{"role":null}"#, Role::Other),
            (r#"{"role":"User"}"#, Role::Other),
            (r#"{"role":"assistant"}"#, Role::Assistant),
            (r#"{"role":"system"}"#, Role::System),
        ] {
            let json = raw(json);
            let message = Message::read(&json).expect("a message");
            assert_eq!((message.role, &*message.text), (role, ""));
        }
    }
}
