//! Stored conversations of users, in a file or in the database that replicas share.

use std::path::Path;

use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::{
    Conversation, Library, Listed, Revision, StateDatabase, StoreError, Writer,
    conversation::written,
    sqlite,
    statement::Row,
    storage::{Storage, text},
    words::Words,
};

/// Number of conversations that a search reads at once, since their messages may be long.
const AT_ONCE: i64 = 8;

/// Text after all times.
pub(crate) const LAST: &str = "~";

/// Stores the conversations of users.
///
/// Clones share one store. Every method works on the conversations of the account with the id `owner`
/// only, as if the items of other users did not exist. All of them fail if the storage fails.
#[derive(Clone, Debug)]
pub struct Conversations {
    storage: Storage,
}

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Maximum number of entries in the page.
    pub limit: u32,
    /// Number of entries before the page.
    pub offset: u64,
}

// === impl Page ===

impl Default for Page {
    fn default() -> Self {
        Self {
            limit: 50,
            offset: 0,
        }
    }
}

// === impl Conversations ===

impl Conversations {
    /// Opens the file in this folder; creates both if missing. Only their owner can access them.
    ///
    /// Nothing is written before the [`Writer`] runs.
    ///
    /// # Errors
    /// Fails if the folder or the file cannot be used, or if the file belongs to another program. A
    /// file of the older implementation is converted.
    pub async fn local(folder: &Path) -> Result<(Self, Writer), StoreError> {
        let (storage, writer) = Storage::local(folder).await?;
        Ok((Self { storage }, writer))
    }

    /// Returns whether there is a file in this folder.
    #[must_use]
    pub fn are_in(folder: &Path) -> bool {
        sqlite::path_in(folder).exists()
    }

    /// Stores conversations in a database that replicas share. Connects on first use.
    #[must_use]
    pub fn replicated(state: StateDatabase) -> Self {
        let storage = Storage::Replicated(state);
        Self { storage }
    }

    /// Returns the library that is stored in the same place.
    #[must_use]
    pub fn library(&self) -> Library {
        Library::new(self.storage.clone())
    }

    /// Lists a page, the most recently changed first.
    pub async fn list(&self, owner: &str, page: Page) -> Result<Vec<Listed>, StoreError> {
        let sql = "SELECT id, title, connection, created_at, updated_at, preview \
             FROM ziggurat.conversations WHERE coalesce(account, username) = $1 \
             ORDER BY updated_at DESC, id DESC LIMIT $2 OFFSET $3";
        let offset = i64::try_from(page.offset).unwrap_or(i64::MAX);
        let values = [owner.into(), i64::from(page.limit).into(), offset.into()];
        self.storage
            .read(sql, values)
            .await?
            .iter()
            .map(listed)
            .collect()
    }

    /// Lists a page of the conversations that have these words, the most recently changed first.
    ///
    /// All conversations of the owner are read, a few at a time.
    pub async fn search(
        &self,
        owner: &str,
        words: &Words,
        page: Page,
    ) -> Result<Vec<Listed>, StoreError> {
        let sql = "SELECT id, title, connection, created_at, updated_at, preview, messages \
             FROM ziggurat.conversations WHERE coalesce(account, username) = $1 \
             AND (updated_at < $2 OR updated_at = $3 AND id < $4) \
             ORDER BY updated_at DESC, id DESC LIMIT $5";
        let limit = page.limit.try_into().unwrap_or(usize::MAX);
        let (mut found, mut before) = (Vec::new(), page.offset);
        let mut last = (LAST.to_owned(), String::new());
        while found.len() < limit {
            let (at, id) = &last;
            let values = [
                owner.into(),
                at.into(),
                at.into(),
                id.into(),
                AT_ONCE.into(),
            ];
            let rows = self.storage.read(sql, values).await?;
            let Some(end) = rows.last() else {
                break;
            };
            last = (end.get(4)?, end.get(0)?);
            for row in &rows {
                let (title, messages): (String, String) = (row.get(1)?, row.get(6)?);
                if !words.are_in(&title, &messages) {
                    continue;
                }
                if before > 0 {
                    before -= 1;
                } else if found.len() < limit {
                    found.push(listed(row)?);
                }
            }
        }
        Ok(found)
    }

    /// Finds a conversation with its messages.
    pub async fn find(&self, owner: &str, id: &str) -> Result<Option<Conversation>, StoreError> {
        let sql = "SELECT id, username, title, provider, model, connection, preview, created_at, \
             updated_at, messages, coalesce(account, username) FROM ziggurat.conversations \
             WHERE id = $1 AND coalesce(account, username) = $2";
        let rows = self.storage.read(sql, [text(id), owner.into()]).await?;
        rows.first().map(conversation).transpose()
    }

    /// Stores a new conversation.
    pub async fn create(&self, new: Conversation) -> Result<(), StoreError> {
        let sql = "INSERT INTO ziggurat.conversations (id, username, title, provider, model, \
             connection, preview, created_at, updated_at, messages, account) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
        let values = [
            new.id.into(),
            new.username.into(),
            new.title.into(),
            new.provider.into(),
            new.model.into(),
            new.connection.into(),
            new.preview.into(),
            new.created_at.into(),
            new.updated_at.into(),
            new.messages.into(),
            new.account.into(),
        ];
        self.storage.write(sql, values).await.map(drop)
    }

    /// Replaces the messages of a conversation and returns its new state.
    pub async fn replace(
        &self,
        owner: &str,
        id: &str,
        revision: Revision,
    ) -> Result<Option<Conversation>, StoreError> {
        let sql = "UPDATE ziggurat.conversations SET provider = $1, model = $2, connection = $3, \
             preview = $4, messages = $5, updated_at = $6 WHERE id = $7 AND \
             coalesce(account, username) = $8 RETURNING id, username, title, provider, model, \
             connection, preview, created_at, updated_at, messages, coalesce(account, username)";
        let values = [
            revision.provider.into(),
            revision.model.into(),
            revision.connection.into(),
            revision.preview.into(),
            revision.messages.into(),
            revision.updated_at.into(),
            text(id),
            owner.into(),
        ];
        let rows = self.storage.write(sql, values).await?;
        rows.first().map(conversation).transpose()
    }

    /// Renames a conversation and returns whether it existed.
    pub async fn rename(
        &self,
        owner: &str,
        id: &str,
        title: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE ziggurat.conversations SET title = $1, updated_at = $2 \
             WHERE id = $3 AND coalesce(account, username) = $4 RETURNING id";
        let values = [text(title), written(now).into(), text(id), owner.into()];
        Ok(!self.storage.write(sql, values).await?.is_empty())
    }

    /// Deletes a conversation and returns whether it existed.
    pub async fn delete(&self, owner: &str, id: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM ziggurat.conversations WHERE id = $1 \
             AND coalesce(account, username) = $2 RETURNING id";
        let deleted = self.storage.write(sql, [text(id), owner.into()]).await?;
        Ok(!deleted.is_empty())
    }

    /// Deletes all conversations of the owner and returns their number.
    pub async fn delete_all(&self, owner: &str) -> Result<u64, StoreError> {
        let sql = "DELETE FROM ziggurat.conversations WHERE coalesce(account, username) = $1 RETURNING id";
        let deleted = self.storage.write(sql, [owner.into()]).await?;
        Ok(deleted.len().try_into().unwrap_or(u64::MAX))
    }

    /// Deletes all that is stored of an account: its conversations and its items of the library.
    pub async fn delete_account(&self, id: &str) -> Result<(), StoreError> {
        self.delete_all(id).await?;
        self.library().delete_all(id).await
    }
}

fn listed(row: &Row) -> Result<Listed, StoreError> {
    Ok(Listed {
        id: row.get(0)?,
        title: row.get(1)?,
        connection: row.get(2)?,
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
        preview: row.get(5)?,
    })
}

fn conversation(row: &Row) -> Result<Conversation, StoreError> {
    Ok(Conversation {
        id: row.get(0)?,
        username: row.get(1)?,
        title: row.get(2)?,
        provider: row.get(3)?,
        model: row.get(4)?,
        connection: row.get(5)?,
        preview: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
        messages: RawValue::from_string(row.get(9)?)?,
        account: row.get(10)?,
    })
}
