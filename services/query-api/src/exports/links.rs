//! The links of exports that were not fetched yet.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::StatusCode;
use ziggurat_accounts::CookieHalf;
use ziggurat_runtime::lock;
use ziggurat_tokens::Identity;

use crate::{exports::format::ExportFormat, request::Owner, stop::Stop};

/// Time in which a link works.
pub(super) const LIFETIME: Duration = Duration::from_mins(1);

/// Maximum number of links of one session, and of all sessions.
const MAX_OF_SESSION: usize = 16;
const MAX_LINKS: usize = 4096;

/// Maximum number of bytes of the statements of one session's links, and of all links.
const MAX_BYTES_OF_SESSION: usize = 4 << 20;
const MAX_BYTES: usize = 16 << 20;

/// Number of random bytes of an id.
const ID_BYTES: usize = 24;

/// Links by their ids. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Arc<Mutex<HashMap<String, (Export, Instant)>>>);

/// A query with rows that become a file.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Export {
    pub(super) owner: Owner,
    /// The caller that made it; `None` without authentication.
    pub(super) maker: Option<Identity>,
    pub(super) database: String,
    pub(super) sql: String,
    pub(super) format: ExportFormat,
    pub(super) max_rows: u64,
    pub(super) is_guarded: bool,
}

// === impl Links ===

impl Links {
    /// Keeps an export, and returns its id.
    pub(super) fn add(&self, export: Export) -> Result<String, Stop> {
        let mut id = [0; ID_BYTES];
        getrandom::fill(&mut id).expect("the system makes random numbers");
        let id = BASE64_URL_SAFE_NO_PAD.encode(id);
        let now = Instant::now();
        let mut links = lock(&self.0);
        links.retain(|_, (_, since)| now.duration_since(*since) < LIFETIME);
        let (mut own, mut own_bytes, mut bytes) = (0, export.sql.len(), export.sql.len());
        for (other, _) in links.values() {
            bytes += other.sql.len();
            if other.owner == export.owner {
                own += 1;
                own_bytes += other.sql.len();
            }
        }
        let are_many = links.len() >= MAX_LINKS || own >= MAX_OF_SESSION;
        if are_many || own_bytes > MAX_BYTES_OF_SESSION || bytes > MAX_BYTES {
            let message = "Too many exports wait to be fetched. Try again in a minute.";
            return Err(Stop::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message));
        }
        links.insert(id.clone(), (export, now));
        Ok(id)
    }

    /// Returns the caller that made an export in a browser.
    pub(crate) fn maker(&self, id: &str, browser: CookieHalf) -> Option<Identity> {
        let links = lock(&self.0);
        let (export, _) = links.get(id)?;
        let is_same = export.owner == Owner::Browser(browser);
        export.maker.clone().filter(|_| is_same)
    }

    /// Takes an export of its owner, unless its link has ended.
    pub(super) fn take(&self, id: &str, owner: &Owner) -> Option<Export> {
        let mut links = lock(&self.0);
        let (export, since) = links.get(id)?;
        if export.owner != *owner {
            return None;
        }
        let has_ended = since.elapsed() >= LIFETIME;
        let (export, _) = links.remove(id)?;
        (!has_ended).then_some(export)
    }
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The statement does not belong in a log.
        f.debug_struct("Export")
            .field("database", &self.database)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_layers::bearer::TokenHash;
    use ziggurat_tokens::Holder;

    use super::*;

    fn session(name: &str) -> Owner {
        Owner::Session(name.to_owned())
    }

    fn export(owner: &str) -> Export {
        Export {
            owner: session(owner),
            maker: None,
            database: "main".to_owned(),
            sql: "SELECT 1".to_owned(),
            format: ExportFormat::Csv,
            max_rows: 1,
            is_guarded: false,
        }
    }

    #[test]
    fn a_link_works_once_and_for_its_owner() {
        let links = Links::default();
        let id = links.add(export("a")).expect("room");
        assert_eq!(links.take(&id, &session("b")), None);
        assert_eq!(links.take("other", &session("a")), None);
        assert_eq!(links.take(&id, &session("a")), Some(export("a")));
        assert_eq!(links.take(&id, &session("a")), None);
    }

    #[test]
    fn the_statements_of_links_take_no_more_memory_than_the_limits() {
        let links = Links::default();
        let long = |owner: &str| Export {
            sql: "x".repeat(1 << 20),
            ..export(owner)
        };
        let first = links.add(long("a")).expect("room");
        let added = (1..MAX_OF_SESSION).filter(|_| links.add(long("a")).is_ok());
        assert_eq!(added.count(), 3);
        for owner in ["b", "c", "d"] {
            let added = (0..MAX_OF_SESSION).filter(|_| links.add(long(owner)).is_ok());
            assert_eq!(added.count(), 4, "{owner}");
        }
        assert!(
            links.add(export("e")).is_err(),
            "all links have all there is"
        );
        assert!(links.take(&first, &session("a")).is_some());
        assert!(links.add(export("e")).is_ok());
    }

    #[test]
    fn the_maker_is_found_by_the_cookie_of_its_browser() {
        let links = Links::default();
        let [own, other] = ["one", "two"].map(CookieHalf::of);
        let holder = Holder::User {
            name: "alice".into(),
            databases: [].into(),
        };
        let alice = Identity::new(TokenHash::of("a token"), holder);
        let export = Export {
            owner: Owner::Browser(own),
            maker: Some(alice.clone()),
            ..export("")
        };
        let id = links.add(export).expect("room");
        assert_eq!(links.maker(&id, other), None);
        assert_eq!(links.maker("other", own), None);
        assert_eq!(links.maker(&id, own), Some(alice));
        assert_eq!(links.take(&id, &session("a token")), None);
        assert!(links.take(&id, &Owner::Browser(own)).is_some());
    }

    #[test]
    fn a_link_ends_and_makes_room() {
        let links = Links::default();
        let ids: Vec<_> = (0..MAX_OF_SESSION)
            .map(|_| links.add(export("a")).expect("room"))
            .collect();
        assert!(links.add(export("a")).is_err());
        assert!(links.add(export("b")).is_ok());
        for (_, since) in lock(&links.0).values_mut() {
            *since = since.checked_sub(LIFETIME).expect("a time");
        }
        assert_eq!(links.take(&ids[0], &session("a")), None);
        assert!(links.add(export("a")).is_ok());
        assert_eq!(lock(&links.0).len(), 1);
    }
}
