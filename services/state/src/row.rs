//! Conversations read from rows of either database.

use serde_json::value::RawValue;

use super::{Conversation, Listed, StoreError};

/// A row whose columns are texts.
pub(super) trait Cells {
    /// Returns the text in a column.
    fn text(&self, at: usize) -> Result<String, StoreError>;
}

/// Reads a conversation of a list.
pub(super) fn listed(row: &impl Cells) -> Result<Listed, StoreError> {
    Ok(Listed {
        id: row.text(0)?,
        title: row.text(1)?,
        connection: row.text(2)?,
        created_at: row.text(3)?,
        updated_at: row.text(4)?,
        preview: row.text(5)?,
    })
}

/// Reads a conversation with its messages.
pub(super) fn conversation(row: &impl Cells) -> Result<Conversation, StoreError> {
    Ok(Conversation {
        id: row.text(0)?,
        username: row.text(1)?,
        title: row.text(2)?,
        provider: row.text(3)?,
        model: row.text(4)?,
        connection: row.text(5)?,
        preview: row.text(6)?,
        created_at: row.text(7)?,
        updated_at: row.text(8)?,
        messages: RawValue::from_string(row.text(9)?)?,
    })
}
