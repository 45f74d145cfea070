//! Conversations and their messages.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;

use crate::{StoreError, id::new_id};

/// Title of a conversation if its first user message has no text.
const DEFAULT_TITLE: &str = "New conversation";

/// Maximum length of a title made from the first message, in characters.
const MAX_TITLE: usize = 50;

/// Maximum length of a preview, in characters.
const MAX_PREVIEW: usize = 100;

/// A conversation as a client sends it.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = ConversationToKeep)]
pub struct Draft {
    /// Provider of the language model.
    pub provider: Option<String>,
    /// Name of the language model.
    pub model: Option<String>,
    /// Name of the database connection.
    pub connection: Option<String>,
    /// Messages of the conversation.
    #[schema(value_type = Vec<Message>, min_items = 1)]
    pub messages: Option<Vec<Message>>,
}

/// A message of a conversation.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[schema(as = ConversationMessage)]
pub struct Message {
    /// Author of the message: `user` or `assistant`.
    pub role: String,
    /// A text, or a list of content blocks.
    #[schema(value_type = serde_json::Value)]
    pub content: Box<RawValue>,
    /// Time of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Provider of the language model that wrote the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Name of the language model that wrote the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Steps taken for the message, as reported by the client.
    #[serde(
        default,
        deserialize_with = "objects",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schema(value_type = Option<Vec<serde_json::Map<String, serde_json::Value>>>)]
    pub activity: Vec<Box<RawValue>>,
    /// Set if the message reports an error.
    #[serde(rename = "isError", skip_serializing_if = "is_not_so")]
    pub is_error: Option<bool>,
}

/// A stored conversation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Conversation {
    /// Id, assigned by the server.
    pub id: String,
    /// Name of the user that owns the conversation.
    pub username: String,
    /// Title of the conversation.
    pub title: String,
    /// Provider of the language model.
    pub provider: String,
    /// Name of the language model.
    pub model: String,
    /// Name of the database connection.
    pub connection: String,
    /// Messages of the conversation: a list of [`Message`]s.
    #[schema(value_type = Vec<Message>)]
    pub messages: Box<RawValue>,
    /// Creation time.
    pub created_at: String,
    /// Time of the last change.
    pub updated_at: String,
    /// Start of the first text of the user; shown in lists only.
    #[serde(skip)]
    pub preview: String,
    /// Id of the account that owns the conversation.
    #[serde(skip)]
    pub account: String,
}

/// New content of a conversation.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Provider of the language model.
    pub provider: String,
    /// Name of the language model.
    pub model: String,
    /// Name of the database connection.
    pub connection: String,
    /// Messages of the conversation: a list of [`Message`]s.
    pub messages: Box<RawValue>,
    /// Start of the first text of the user.
    pub preview: String,
    /// Time of the change.
    pub updated_at: String,
}

/// A conversation in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ListedConversation)]
pub struct Listed {
    /// Id, assigned by the server.
    pub id: String,
    /// Title of the conversation.
    pub title: String,
    /// Name of the database connection.
    pub connection: String,
    /// Creation time.
    pub created_at: String,
    /// Time of the last change.
    pub updated_at: String,
    /// Start of the first text of the user.
    pub preview: String,
}

/// A content block of a message.
#[derive(Deserialize)]
struct Block {
    text: Option<String>,
}

// === impl Draft ===

impl Draft {
    /// Returns whether there is at least one message.
    #[must_use]
    pub fn has_messages(&self) -> bool {
        self.messages
            .as_ref()
            .is_some_and(|messages| !messages.is_empty())
    }

    /// Makes a new conversation, titled by the first message of the user. The account of the owner has
    /// the name as id, unless the caller sets another.
    ///
    /// # Errors
    /// Fails if the operating system has no random bytes.
    pub fn into_conversation(
        self,
        owner: &str,
        now: Timestamp,
    ) -> Result<Conversation, StoreError> {
        let title = title(self.messages.as_deref().unwrap_or_default());
        let id = new_id("conv", now)?;
        let revision = self.into_revision(now)?;
        Ok(Conversation {
            id,
            username: owner.to_owned(),
            account: owner.to_owned(),
            title,
            provider: revision.provider,
            model: revision.model,
            connection: revision.connection,
            messages: revision.messages,
            created_at: revision.updated_at.clone(),
            updated_at: revision.updated_at,
            preview: revision.preview,
        })
    }

    /// Makes the new content of a stored conversation. Messages without a time get the current
    /// time.
    ///
    /// # Errors
    /// Fails if the messages cannot be written as JSON, which no client can cause.
    pub fn into_revision(self, now: Timestamp) -> Result<Revision, StoreError> {
        let mut messages = self.messages.unwrap_or_default();
        let now = written(now);
        let preview = preview(&messages);
        for message in &mut messages {
            message.timestamp.get_or_insert_with(|| now.clone());
        }
        Ok(Revision {
            provider: storable(self.provider.unwrap_or_default()),
            model: storable(self.model.unwrap_or_default()),
            connection: storable(self.connection.unwrap_or_default()),
            messages: to_raw_value(&messages)?,
            preview,
            updated_at: now,
        })
    }
}

// === impl Message ===

impl Message {
    fn is_of_the_user(&self) -> bool {
        self.role == "user"
    }

    /// Returns the text, or the text of the first block that has one.
    fn text(&self) -> Option<String> {
        let content = self.content.get();
        serde_json::from_str(content).ok().or_else(|| {
            let blocks: Vec<Block> = serde_json::from_str(content).ok()?;
            blocks.into_iter().find_map(|block| block.text)
        })
    }
}

/// Reads a list of objects, each kept as it was written; null means an empty list.
fn objects<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Box<RawValue>>, D::Error> {
    let list: Vec<Box<RawValue>> = Option::deserialize(list)?.unwrap_or_default();
    if list.iter().all(|item| item.get().starts_with('{')) {
        Ok(list)
    } else {
        Err(D::Error::custom("expected a list of objects"))
    }
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes members by reference"
)]
fn is_not_so(value: &Option<bool>) -> bool {
    *value != Some(true)
}

/// Formats a time with a fixed length, so that texts sort in the order of time.
pub(super) fn written(at: Timestamp) -> String {
    format!("{at:.6}")
}

/// Replaces NUL characters, which PostgreSQL cannot store.
pub(super) fn storable(text: String) -> String {
    if text.contains('\0') {
        return text.replace('\0', "\u{fffd}");
    }
    text
}

fn title(messages: &[Message]) -> String {
    let first = messages.iter().find(|message| message.is_of_the_user());
    let text = first.and_then(Message::text).unwrap_or_default();
    match text.trim() {
        "" => DEFAULT_TITLE.to_owned(),
        text => storable(shortened(text, MAX_TITLE)),
    }
}

pub(super) fn preview(messages: &[Message]) -> String {
    let mut said = messages.iter().filter(|message| message.is_of_the_user());
    let text = said.find_map(Message::text).unwrap_or_default();
    storable(shortened(&text, MAX_PREVIEW))
}

/// Shortens a text to `max` characters, ending in `...`.
fn shortened(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    text.chars().take(max - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn conversation(messages: &Value) -> Conversation {
        let draft: Draft = serde_json::from_value(json!({"messages": messages})).expect("a draft");
        let now = "2026-11-21T10:00:00Z".parse().expect("a date");
        draft.into_conversation("alice", now).expect("made")
    }

    #[test]
    fn the_first_words_of_the_user_are_the_title_and_the_preview() {
        let fifty = "é".repeat(50);
        let more = "é".repeat(101);
        for (messages, title, preview) in [
            (json!([{"role": "user", "content": "Hi"}]), "Hi", "Hi"),
            (
                json!([{"role": "assistant", "content": "Welcome"}, {"role": "user", "content": "Hi"}]),
                "Hi",
                "Hi",
            ),
            (
                json!([{"role": "user", "content": fifty}]),
                &*fifty,
                &*fifty,
            ),
            (
                json!([{"role": "user", "content": more}]),
                &*format!("{}...", "é".repeat(47)),
                &*format!("{}...", "é".repeat(97)),
            ),
            (
                json!([{"role": "assistant", "content": "Hi"}]),
                "New conversation",
                "",
            ),
            (
                json!([{"role": "user", "content": ""}]),
                "New conversation",
                "",
            ),
            (
                json!([{"role": "user", "content": {"a": 1}}]),
                "New conversation",
                "",
            ),
            (
                json!([{"role": "user", "content": 7}, {"role": "user", "content": "later"}]),
                "New conversation",
                "later",
            ),
            (
                json!([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Look"}]}]),
                "Look",
                "Look",
            ),
            (
                json!([{"role": "user", "content": "a\0b"}]),
                "a\u{fffd}b",
                "a\u{fffd}b",
            ),
        ] {
            let made = conversation(&messages);
            assert_eq!(
                (&*made.title, &*made.preview),
                (title, preview),
                "{messages}"
            );
        }
    }

    #[test]
    fn messages_get_a_time_and_keep_their_content_unchanged() {
        let text = r#"{"messages": [{"role": "user", "content": [ {"n": 1.50} ], "more": 1},
            {"role": "assistant", "content": "b", "timestamp": "then", "model": "m"}]}"#;
        let draft: Draft = serde_json::from_str(text).expect("a draft");
        let now = "2026-11-21T10:00:00Z".parse().expect("a date");
        let revision = draft.into_revision(now).expect("made");
        assert_eq!(
            revision.messages.get(),
            r#"[{"role":"user","content":[ {"n": 1.50} ],"timestamp":"2026-11-21T10:00:00.000000Z"},{"role":"assistant","content":"b","timestamp":"then","model":"m"}]"#
        );
    }

    #[test]
    fn members_of_a_message_are_returned_unless_they_are_empty() {
        let text = r#"{"messages": [
            {"role": "a", "content": "b", "timestamp": "then", "activity": [{"b": 1.0, "a": 2}], "isError": true},
            {"role": "a", "content": "b", "timestamp": "then", "activity": [], "isError": false},
            {"role": "a", "content": "b", "timestamp": "then", "activity": null, "isError": null}]}"#;
        let draft: Draft = serde_json::from_str(text).expect("a draft");
        let now = "2026-11-21T10:00:00Z".parse().expect("a date");
        let revision = draft.into_revision(now).expect("made");
        assert_eq!(
            revision.messages.get(),
            r#"[{"role":"a","content":"b","timestamp":"then","activity":[{"b": 1.0, "a": 2}],"isError":true},{"role":"a","content":"b","timestamp":"then"},{"role":"a","content":"b","timestamp":"then"}]"#
        );
        let text = r#"{"messages": [{"role": "a", "content": "b", "activity": ["c"]}]}"#;
        let refused = serde_json::from_str::<Draft>(text).expect_err("no objects");
        assert!(refused.to_string().contains("list of objects"), "{refused}");
    }

    #[test]
    fn a_draft_without_messages_has_none() {
        for (text, expected) in [
            ("{}", false),
            (r#"{"messages": null}"#, false),
            (r#"{"messages": []}"#, false),
            (r#"{"messages": [{"role": "user", "content": null}]}"#, true),
        ] {
            let draft: Draft = serde_json::from_str(text).expect(text);
            assert_eq!(draft.has_messages(), expected, "{text}");
        }
    }
}
