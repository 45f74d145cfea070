//! Stored queries and prompts of users.

use jiff::Timestamp;

use crate::{
    Item, ItemContent, ItemKind, Page, StoreError, Words,
    conversations::LAST,
    statement::{Row, Value},
    storage::{Storage, text},
};

/// Maximum number of items of a user. Requests at the same moment to several replicas may each add
/// one more.
const MAX_ITEMS: i64 = 1000;

/// Number of items that are read at once, since their texts may be long.
const AT_ONCE: i64 = 32;

/// Maximum number of characters of a word that the database looks for.
const MAX_PATTERN: usize = 64;

/// Stores the queries and prompts that users keep. Clones share one store.
///
/// An item belongs to its owner. Others read it if it is shared, and for no database or for one that
/// they may use. Who may change an item is decided before: every method fails only if the storage
/// fails.
#[derive(Clone, Debug)]
pub struct Library {
    storage: Storage,
}

/// A user who reads.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    /// Id of the account of the user.
    pub account: &'a str,
    /// Names of the databases that the user may use.
    pub databases: Vec<String>,
}

/// Items to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only items of this kind.
    pub kind: Option<ItemKind>,
    /// Only items with these words in their titles or texts.
    pub words: Option<Words>,
}

// === impl Library ===

impl Library {
    pub(crate) fn new(storage: Storage) -> Self {
        Self { storage }
    }

    /// Lists a page of the items that a user may read, the most recently changed first.
    ///
    /// The database leaves out the items of databases that the user may not use, and those without the
    /// longest word. The others are read, a few at a time, until the page is full.
    pub async fn list(
        &self,
        reader: &Reader<'_>,
        filter: &Filter,
        page: Page,
    ) -> Result<Vec<Item>, StoreError> {
        let sql = "SELECT id, kind, title, text, database, tags, shared, owner, version, \
             updated_at, coalesce(account, owner) FROM ziggurat.library \
             WHERE (coalesce(account, owner) = $1 OR shared = 1 AND (database IS NULL \
             OR replace($2, '\u{1f}' || database || '\u{1f}', '') <> $3)) \
             AND (searched IS NULL OR searched LIKE $4 ESCAPE '!') \
             AND (kind = $5 OR $6 = '') AND (updated_at < $7 OR updated_at = $8 AND id < $9) \
             ORDER BY updated_at DESC, id DESC LIMIT $10";
        // A name is enclosed in characters that no name has.
        let databases = reader.databases.iter();
        let databases: String = databases.flat_map(|it| ["\u{1f}", it, "\u{1f}"]).collect();
        let pattern = filter.pattern();
        let kind = filter.kind.map_or("", ItemKind::as_str);
        let limit = page.limit.try_into().unwrap_or(usize::MAX);
        let (mut found, mut before) = (Vec::new(), page.offset);
        let mut last = (LAST.to_owned(), String::new());
        while found.len() < limit {
            let (at, id) = &last;
            let values = [
                text(reader.account),
                text(&databases),
                text(&databases),
                text(&pattern),
                kind.into(),
                kind.into(),
                at.into(),
                at.into(),
                id.into(),
                AT_ONCE.into(),
            ];
            let rows = self.storage.read(sql, values).await?;
            let Some(end) = rows.last() else {
                break;
            };
            last = (end.get(9)?, end.get(0)?);
            for row in &rows {
                let item = item(row)?;
                if !reader.may_read(&item) || !filter.fits(&item) {
                    continue;
                }
                if before > 0 {
                    before -= 1;
                } else if found.len() < limit {
                    found.push(item);
                }
            }
        }
        Ok(found)
    }

    /// Finds an item that a user may read.
    pub async fn find(&self, reader: &Reader<'_>, id: &str) -> Result<Option<Item>, StoreError> {
        let sql = "SELECT id, kind, title, text, database, tags, shared, owner, version, \
             updated_at, coalesce(account, owner) FROM ziggurat.library WHERE id = $1";
        let rows = self.storage.read(sql, [text(id)]).await?;
        let found = rows.first().map(item).transpose()?;
        Ok(found.filter(|item| reader.may_read(item)))
    }

    /// Stores a new item. Returns false if its owner has 1,000 items already.
    pub async fn create(&self, new: &Item) -> Result<bool, StoreError> {
        let sql = "INSERT INTO ziggurat.library (id, kind, title, text, database, tags, shared, \
             searched, owner, account, version, updated_at) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 \
             WHERE (SELECT count(*) FROM ziggurat.library WHERE coalesce(account, owner) = $13) \
             < $14 RETURNING id";
        let [kind, title, content, database, tags, shared, searched] = values(new)?;
        let values = [
            (&new.id).into(),
            kind,
            title,
            content,
            database,
            tags,
            shared,
            searched,
            (&new.owner).into(),
            text(&new.account),
            new.version.into(),
            (&new.updated_at).into(),
            text(&new.account),
            MAX_ITEMS.into(),
        ];
        Ok(!self.storage.write(sql, values).await?.is_empty())
    }

    /// Replaces the content of an item, and returns the new version. Returns `None` if it has
    /// another version than `old` by now, or is gone.
    pub async fn replace(
        &self,
        old: &Item,
        content: ItemContent,
        now: Timestamp,
    ) -> Result<Option<Item>, StoreError> {
        let sql = "UPDATE ziggurat.library SET kind = $1, title = $2, text = $3, database = $4, \
             tags = $5, shared = $6, searched = $7, version = $8, updated_at = $9 \
             WHERE id = $10 AND version = $11 RETURNING id";
        let (id, owner) = (old.id.clone(), old.owner.clone());
        let new = Item {
            account: old.account.clone(),
            ..content.into_version(id, owner, old.version.saturating_add(1), now)
        };
        let [kind, title, text, database, tags, shared, searched] = values(&new)?;
        let values = [
            kind,
            title,
            text,
            database,
            tags,
            shared,
            searched,
            new.version.into(),
            (&new.updated_at).into(),
            (&old.id).into(),
            old.version.into(),
        ];
        let changed = self.storage.write(sql, values).await?;
        Ok((!changed.is_empty()).then_some(new))
    }

    /// Deletes an item and returns whether it existed.
    pub async fn delete(&self, id: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM ziggurat.library WHERE id = $1 RETURNING id";
        Ok(!self.storage.write(sql, [text(id)]).await?.is_empty())
    }

    /// Deletes all items of an account.
    pub(crate) async fn delete_all(&self, account: &str) -> Result<(), StoreError> {
        let sql = "DELETE FROM ziggurat.library WHERE coalesce(account, owner) = $1";
        self.storage.write(sql, [text(account)]).await.map(drop)
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn may_read(&self, item: &Item) -> bool {
        let may_use = |database: &String| self.databases.contains(database);
        item.account == self.account || item.shared && item.database.as_ref().is_none_or(may_use)
    }
}

// === impl Filter ===

impl Filter {
    /// Returns a pattern for `LIKE` that all items with the words have.
    fn pattern(&self) -> String {
        let word = self.words.as_ref().map_or("", Words::longest);
        let mut pattern = "%".to_owned();
        for character in word.chars().take(MAX_PATTERN) {
            if "%_!".contains(character) {
                pattern.push('!');
            }
            pattern.push(character);
        }
        pattern.push('%');
        pattern
    }

    fn fits(&self, item: &Item) -> bool {
        let mut words = self.words.iter();
        words.all(|words| words.are_in_text(&item.title, &item.text))
    }
}

/// Returns the values of the columns that a user writes, and the text that searches look at.
fn values(item: &Item) -> Result<[Value; 7], StoreError> {
    Ok([
        item.kind.as_str().into(),
        (&item.title).into(),
        (&item.text).into(),
        item.database.as_ref().into(),
        serde_json::to_string(&item.tags)?.into(),
        i64::from(item.shared).into(),
        text(&format!("{}\n{}", item.title, item.text).to_lowercase()),
    ])
}

fn item(row: &Row) -> Result<Item, StoreError> {
    let (kind, tags): (String, String) = (row.get(1)?, row.get(5)?);
    let shared: i64 = row.get(6)?;
    Ok(Item {
        id: row.get(0)?,
        // Only these two are stored.
        kind: ItemKind::named(&kind).unwrap_or(ItemKind::Query),
        title: row.get(2)?,
        text: row.get(3)?,
        database: row.get(4)?,
        tags: serde_json::from_str(&tags)?,
        shared: shared != 0,
        owner: row.get(7)?,
        version: row.get(8)?,
        updated_at: row.get(9)?,
        account: row.get(10)?,
    })
}
