//! Sessions of the callers with tokens of an issuer.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, Weak},
};

use ziggurat_layers::bearer::TokenHash;
use ziggurat_runtime::lock;

/// The open sessions of callers with signed tokens. A session ends when none of its tokens is kept any more.
#[derive(Clone)]
pub struct OpenSessions(Arc<SessionTable>);

struct SessionTable {
    open: Mutex<HashMap<TokenHash, Weak<SessionGuard>>>,
    gone: Box<dyn Fn(&str) + Send + Sync>,
}

/// An open session; ends when it is dropped.
pub struct SessionGuard {
    session: TokenHash,
    sessions: OpenSessions,
}

// === impl OpenSessions ===

impl OpenSessions {
    /// Calls `gone` with the key of each session that ends.
    pub fn new(gone: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(SessionTable {
            open: Mutex::default(),
            gone: Box::new(gone),
        }))
    }

    /// Opens a session, or returns the open one.
    #[must_use]
    pub fn open(&self, session: TokenHash) -> Arc<SessionGuard> {
        let mut open = lock(&self.0.open);
        if let Some(guard) = open.get(&session).and_then(Weak::upgrade) {
            return guard;
        }
        let sessions = self.clone();
        let guard = Arc::new(SessionGuard { session, sessions });
        open.insert(session, Arc::downgrade(&guard));
        guard
    }
}

impl fmt::Debug for OpenSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSessions").finish_non_exhaustive()
    }
}

// === impl SessionGuard ===

impl Drop for SessionGuard {
    fn drop(&mut self) {
        let SessionTable { open, gone } = &*self.sessions.0;
        let mut open = lock(open);
        // Another token may have opened the session again in the meantime.
        let is_reopened = open
            .get(&self.session)
            .is_some_and(|guard| guard.strong_count() > 0);
        if is_reopened {
            return;
        }
        open.remove(&self.session);
        drop(open);
        gone(&self.session.to_string());
    }
}

impl fmt::Debug for SessionGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionGuard").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_once_with_its_last_token_and_can_be_opened_again() {
        let ended = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&ended);
        let sessions = OpenSessions::new(move |session| lock(&noted).push(session.to_owned()));
        let (alice, bob) = (TokenHash::of("alice"), TokenHash::of("bob"));
        let first = sessions.open(alice);
        let second = sessions.open(alice);
        let other = sessions.open(bob);
        drop(first);
        assert!(lock(&ended).is_empty());
        drop(second);
        assert_eq!(*lock(&ended), [alice.to_string()]);
        drop(sessions.open(alice));
        assert_eq!(lock(&ended).len(), 2);
        drop(other);
        assert_eq!(lock(&ended).len(), 3);
        assert!(lock(&sessions.0.open).is_empty());
    }
}
