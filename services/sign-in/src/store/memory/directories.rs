//! Sign-ins at other providers, and the people who come from there.

use std::collections::HashMap;

use crate::store::{Attempt, Digest, GrantId, Link, Origin, Seconds};

/// Number of attempts.
const MAX_ATTEMPTS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Directories {
    attempts: HashMap<Digest, Attempt>,
    /// Links, and the moments until which one request has the turn to check them.
    links: HashMap<Origin, (Link, Seconds)>,
    /// Grants of assertions by person, client and resource.
    pub(super) asserted: HashMap<[String; 3], GrantId>,
}

// === impl Directories ===

impl Directories {
    pub(super) fn sweep(&mut self, now: Seconds) {
        self.attempts.retain(|_, attempt| attempt.ends_at > now);
    }

    pub(super) fn add_attempt(&mut self, attempt: Attempt, now: Seconds) -> bool {
        if self.attempts.len() >= MAX_ATTEMPTS {
            self.sweep(now);
        }
        let has_room = self.attempts.len() < MAX_ATTEMPTS;
        if has_room {
            self.attempts.insert(attempt.hash, attempt);
        }
        has_room
    }

    pub(super) fn use_attempt(&mut self, hash: Digest, now: Seconds) -> Option<Attempt> {
        let attempt = self.attempts.remove(&hash)?;
        (attempt.ends_at > now).then_some(attempt)
    }

    pub(super) fn link(&self, origin: &Origin) -> Option<Link> {
        Some(self.links.get(origin)?.0.clone())
    }

    pub(super) fn keep(&mut self, link: Link) {
        self.links.insert(link.origin.clone(), (link, 0));
    }

    pub(super) fn begin_check(
        &mut self,
        origin: &Origin,
        until: Seconds,
        now: Seconds,
    ) -> Option<Link> {
        let (link, turn) = self.links.get_mut(origin)?;
        if *turn > now {
            return None;
        }
        *turn = until;
        Some(link.clone())
    }
}
