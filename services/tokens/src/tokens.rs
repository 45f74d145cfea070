//! The file of API tokens.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rand::rngs::SysError;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_runtime::yaml::{Map, Node, Unexpected};

use crate::{
    Claims,
    file::{Change, FileError, Table, TableFile},
    secret,
    yaml::{claims_of, set_claims},
};

/// Minimum length of a hash prefix that selects a token.
const MIN_PREFIX: usize = 8;

/// Member with the toolsets of a token.
const TOOLSETS: &str = "toolsets";

/// File of API tokens, for administration. A server may use the file at the same time.
///
/// ```
/// use ziggurat_tokens::{NewToken, TokenFile};
///
/// let folder = tempfile::tempdir()?;
/// let file = TokenFile::new(folder.path().join("tokens.yaml"));
/// let new = NewToken { note: "nightly report".into(), ..NewToken::default() };
/// let made = file.add(new, "2026-11-21T10:00:00Z".parse()?)?;
/// assert_eq!(made.record.id, "token-1795255200");
///
/// let found = file.list()?;
/// assert_eq!(found[0].note, "nightly report");
/// file.remove(&format!("{:.12}", found[0].hash))?;
/// assert!(file.list()?.is_empty());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TokenFile {
    file: TableFile<Tokens>,
}

/// Stored data of an API token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// Name: `token-` and a number.
    pub id: String,
    /// Digest of the token.
    pub hash: TokenHash,
    /// Note of the administrator about its use.
    pub note: String,
    /// Creation date, if the file has it.
    pub created_at: Option<Timestamp>,
    /// Expiry date, if any.
    pub expires_at: Option<Timestamp>,
    /// Database it is bound to; `None` for the first configured one.
    pub database: Option<String>,
    /// Toolsets of the token itself, besides those that name it.
    pub toolsets: Vec<String>,
    /// Claims of its holder.
    pub claims: Claims,
}

/// Options for a new token.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// Note about its use.
    pub note: String,
    /// Database to bind it to.
    pub database: Option<String>,
    /// Expiry date, if any.
    pub expires_at: Option<Timestamp>,
    /// Toolsets of the token itself.
    pub toolsets: Vec<String>,
    /// Claims of its holder.
    pub claims: Claims,
}

/// A new token.
#[derive(Debug)]
pub struct CreatedToken {
    /// The token: shown once, stored only as a digest.
    pub token: SecretString,
    /// Stored data of the token.
    pub record: TokenRecord,
}

/// Reason why an operation on a token failed. The message is for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token does not exist.
    #[error("token not found: {0}")]
    NotFound(String),
    /// Several hashes have this prefix.
    #[error("several tokens match: {0}")]
    Ambiguous(String),
    /// The system has no random bytes.
    #[error("no random bytes for a token")]
    Random(#[from] SysError),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Content of the token file.
#[derive(Clone, Default)]
pub(crate) struct Tokens {
    /// Members of the document other than the tokens.
    rest: Map,
    tokens: Vec<StoredToken>,
}

/// A token, parsed and as written.
#[derive(Clone)]
struct StoredToken {
    record: TokenRecord,
    members: Map,
}

// === impl TokenFile ===

impl TokenFile {
    /// Uses this file, which need not exist.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            file: TableFile::new(path.into()),
        }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the tokens by creation date.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read. A missing file has no tokens.
    pub fn list(&self) -> Result<Vec<TokenRecord>, FileError> {
        let tokens = self.file.read()?;
        let mut records: Vec<_> = tokens.records().cloned().collect();
        records.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(records)
    }

    /// Creates a token and stores its digest.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or there are no random bytes.
    pub fn add(&self, new: NewToken, now: Timestamp) -> Result<CreatedToken, TokenError> {
        let token = secret::new_api_token()?;
        let hash = TokenHash::of(token.expose_secret());
        let record = self.file.update(|tokens| {
            let record = tokens.add(new, hash, now);
            Ok::<_, TokenError>(Change::Write(record))
        })?;
        Ok(CreatedToken { token, record })
    }

    /// Removes the token with this id, or else the token with this prefix of its hash (at least 8
    /// characters, ignoring case).
    ///
    /// # Errors
    ///
    /// Fails if no token or several match, or the file cannot be written.
    pub fn remove(&self, identifier: &str) -> Result<TokenRecord, TokenError> {
        let remove = |tokens: &mut Tokens| tokens.remove(identifier).map(Change::Write);
        self.file.update(remove)
    }
}

// === impl Tokens ===

impl Tokens {
    pub(crate) fn records(&self) -> impl Iterator<Item = &TokenRecord> {
        self.tokens.iter().map(|stored| &stored.record)
    }

    /// Drops tokens that have expired, and returns their number.
    pub(crate) fn drop_expired(&mut self, now: Timestamp) -> usize {
        let before = self.tokens.len();
        self.tokens.retain(|stored| !stored.record.is_expired(now));
        before - self.tokens.len()
    }

    fn add(&mut self, new: NewToken, hash: TokenHash, now: Timestamp) -> TokenRecord {
        let mut number = now.as_second();
        let id = loop {
            let id = format!("token-{number}");
            if self.records().all(|record| record.id != id) {
                break id;
            }
            number += 1;
        };
        let record = TokenRecord {
            id,
            hash,
            note: new.note,
            created_at: Some(whole_seconds(now)),
            expires_at: new.expires_at.map(whole_seconds),
            database: new.database.filter(|name| !name.is_empty()),
            toolsets: new.toolsets,
            claims: new.claims,
        };
        self.tokens.push(StoredToken::new(record.clone()));
        record
    }

    fn remove(&mut self, identifier: &str) -> Result<TokenRecord, TokenError> {
        let by_id = self.records().position(|record| record.id == identifier);
        let at = match by_id {
            Some(at) => at,
            None => self.position_of_hash(identifier)?,
        };
        Ok(self.tokens.remove(at).record)
    }

    fn position_of_hash(&self, prefix: &str) -> Result<usize, TokenError> {
        let wanted = prefix.to_ascii_lowercase();
        let matches = |record: &TokenRecord| record.hash.to_string().starts_with(&wanted);
        let mut found = self
            .records()
            .enumerate()
            .filter(|(_, record)| wanted.len() >= MIN_PREFIX && matches(record));
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => Err(TokenError::NotFound(prefix.to_owned())),
            (Some(_), Some(_)) => Err(TokenError::Ambiguous(prefix.to_owned())),
        }
    }
}

impl Table for Tokens {
    fn from_document(document: Node) -> Result<Self, Unexpected> {
        let mut rest = document.into_document("a map with `tokens`")?;
        let tokens = match rest.take("tokens").unwrap_or_default() {
            none if none.is_null() => Vec::new(),
            Node::List(list) => list
                .into_iter()
                .enumerate()
                .map(|(at, node)| StoredToken::from_node(&format!("tokens[{at}]"), node))
                .collect::<Result<_, _>>()?,
            // Older format: a map by id, with another name for the note.
            Node::Map(by_id) => by_id
                .into_members()
                .map(|(id, node)| StoredToken::from_member(id, node))
                .collect::<Result<_, _>>()?,
            Node::Scalar(..) => return Err(Unexpected::new("tokens", "a list")),
        };
        Ok(Self { rest, tokens })
    }

    fn to_document(&self) -> Node {
        let members = self.tokens.iter();
        let list = members.map(|stored| Node::Map(stored.members.clone()));
        let mut document = self.rest.clone();
        document.push("tokens".to_owned(), Node::List(list.collect()));
        Node::Map(document)
    }
}

// === impl StoredToken ===

impl StoredToken {
    fn new(record: TokenRecord) -> Self {
        let mut members = Map::default();
        let mut set = |name: &str, text: Option<String>| {
            if let Some(text) = text {
                members.set(name, Node::text(text));
            }
        };
        set("id", Some(record.id.clone()));
        set("hash", Some(record.hash.to_string()));
        set("note", Some(record.note.clone()));
        set("created_at", record.created_at.map(|at| at.to_string()));
        set("expires_at", record.expires_at.map(|at| at.to_string()));
        set("database", record.database.clone());
        if !record.toolsets.is_empty() {
            let names = record.toolsets.iter().map(Node::text);
            members.set(TOOLSETS, Node::List(names.collect()));
        }
        set_claims(&mut members, &record.claims);
        Self { record, members }
    }

    fn from_member(id: String, node: Node) -> Result<Self, Unexpected> {
        let place = format!("tokens.{id}");
        let old = node.into_map(&place, "a map")?;
        let mut members = Map::default();
        members.set("id", Node::text(id));
        for (name, node) in old.into_members() {
            let name = if name == "annotation" { "note" } else { &name };
            members.set(name, node);
        }
        Self::from_node(&place, Node::Map(members))
    }

    fn from_node(place: &str, node: Node) -> Result<Self, Unexpected> {
        let members = node.into_map(place, "a map")?;
        let record = TokenRecord::from_members(&members).map_err(|problem| problem.within(place));
        record.map(|record| Self { record, members })
    }
}

// === impl TokenRecord ===

impl TokenRecord {
    /// Returns whether the token has expired.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    fn from_members(members: &Map) -> Result<Self, Unexpected> {
        let id = members.find_text("id")?;
        let hash = members
            .find_text("hash")?
            .and_then(|hash| hash.parse().ok());
        Ok(Self {
            id: id.ok_or_else(|| Unexpected::new("id", "a text"))?,
            hash: hash.ok_or_else(|| Unexpected::new("hash", "64 hexadecimal digits"))?,
            note: members.find_text("note")?.unwrap_or_default(),
            created_at: members.find_date("created_at")?,
            expires_at: members.find_date("expires_at")?,
            database: members
                .find_text("database")?
                .filter(|name| !name.is_empty()),
            toolsets: members.find_texts(TOOLSETS)?.unwrap_or_default(),
            claims: claims_of(members)?,
        })
    }
}

/// Rounds down, because dates in the files have no fractions of seconds.
#[must_use]
pub fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
