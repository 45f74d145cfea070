//! Items of the library: queries and prompts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    StoreError,
    conversation::{storable, written},
    id::new_id,
};

/// Kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = LibraryItemKind)]
pub enum ItemKind {
    /// A statement in SQL.
    Query,
    /// A text for a model.
    Prompt,
}

/// The part of an item that its users write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemContent {
    /// Kind of the item.
    pub kind: ItemKind,
    /// Title of the item.
    pub title: String,
    /// The query or the prompt.
    pub text: String,
    /// Name of the database that the item is for, if it is for one.
    pub database: Option<String>,
    /// Short texts of the user.
    pub tags: Vec<String>,
    /// True if other users may read the item.
    pub shared: bool,
}

/// An item of the library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LibraryItem)]
pub struct Item {
    /// Id, assigned by the server.
    pub id: String,
    /// Kind of the item.
    pub kind: ItemKind,
    /// Title of the item.
    pub title: String,
    /// The query or the prompt.
    pub text: String,
    /// Name of the database that the item is for, if it is for one.
    #[schema(required)]
    pub database: Option<String>,
    /// Short texts of the owner.
    pub tags: Vec<String>,
    /// True if other users who may use the database can read the item.
    pub shared: bool,
    /// Name of the user that owns the item.
    pub owner: String,
    /// Number of the version: 1 at first, and one more with each change.
    #[schema(minimum = 1)]
    pub version: i64,
    /// Time of the last change.
    pub updated_at: String,
    /// Id of the account that owns the item.
    #[serde(skip)]
    pub account: String,
}

// === impl ItemKind ===

impl ItemKind {
    /// Returns the name of the kind, as it is stored and sent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Prompt => "prompt",
        }
    }

    /// Finds a kind by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut kinds = [Self::Query, Self::Prompt].into_iter();
        kinds.find(|kind| kind.as_str() == name)
    }
}

// === impl ItemContent ===

impl ItemContent {
    /// Makes a new item. The account of the owner has the name as id, unless the caller sets another.
    ///
    /// # Errors
    /// Fails if the operating system has no random bytes.
    pub fn into_item(self, owner: &str, now: Timestamp) -> Result<Item, StoreError> {
        let id = new_id("item", now)?;
        Ok(self.into_version(id, owner.to_owned(), 1, now))
    }

    /// Makes a version of an item.
    pub(crate) fn into_version(
        self,
        id: String,
        owner: String,
        version: i64,
        now: Timestamp,
    ) -> Item {
        Item {
            id,
            kind: self.kind,
            title: storable(self.title),
            text: storable(self.text),
            database: self.database.map(storable),
            tags: self.tags.into_iter().map(storable).collect(),
            shared: self.shared,
            account: owner.clone(),
            owner,
            version,
            updated_at: written(now),
        }
    }
}
