//! The sign-in beside the accounts of the user file: both let the same people in.

use std::sync::{Arc, Weak};

use tokio::sync::mpsc;
use tracing::warn;
use ziggurat_accounts::{Accounts, BrowserSignIn, GrantId, NeedsBrowser, PersonId};
use ziggurat_mcp_auth::{Store as _, Unavailable, Why};
use ziggurat_sign_in_state::{EndedGrants, SignInSection, SignInStore};
use ziggurat_state::StoreError;

use crate::sign_in::{OwnSignIn, now};

/// Tells the accounts who needs a browser, and learns from them who is gone.
pub(super) struct BesideAccounts {
    /// Weak: the service has the accounts, which have this.
    service: Weak<OwnSignIn>,
    has_passwords: bool,
    ended: Arc<EndedGrants>,
    gone: mpsc::UnboundedSender<Gone>,
}

/// The people and sessions that are gone from now on.
pub(super) struct Departures {
    gone: mpsc::UnboundedReceiver<Gone>,
    /// The accounts reach the service until the end of the task that has this.
    _service: Arc<OwnSignIn>,
}

/// Something that takes grants with it.
enum Gone {
    /// A person was disabled or removed.
    Person(PersonId),
    /// A person left the session of this grant.
    Session(GrantId),
}

// === impl BesideAccounts ===

impl BesideAccounts {
    /// Also returns the people and sessions that are gone from now on.
    pub(super) fn new(
        section: &SignInSection,
        service: &OwnSignIn,
        ended: Arc<EndedGrants>,
    ) -> (Self, Departures) {
        let (gone, receiver) = mpsc::unbounded_channel();
        let service = Arc::new(service.clone());
        let beside = Self {
            service: Arc::downgrade(&service),
            has_passwords: section.has_passwords(),
            ended,
            gone,
        };
        let departures = Departures {
            gone: receiver,
            _service: service,
        };
        (beside, departures)
    }
}

impl BrowserSignIn for BesideAccounts {
    fn needs_browser(&self, person: PersonId) -> NeedsBrowser {
        let (has_passwords, service) = (self.has_passwords, self.service.upgrade());
        Box::pin(async move {
            if !has_passwords {
                return Ok(true);
            }
            // Without the service the server is about to end.
            let service = service.ok_or(StoreError::TimedOut)?;
            let needs = service.needs_second_factor(&person.to_string()).await;
            needs.map_err(|_| StoreError::TimedOut)
        })
    }

    fn has_ended(&self, grant: GrantId) -> bool {
        self.ended.contains(grant)
    }

    fn people_gone(&self, people: Vec<PersonId>) {
        for person in people {
            // The receiver lives as long as the server.
            let _ = self.gone.send(Gone::Person(person));
        }
    }

    fn signed_out(&self, grant: GrantId) {
        // The receiver lives as long as the server.
        let _ = self.gone.send(Gone::Session(grant));
    }
}

/// Ends the grants and the sessions of people who are gone: first of those who went while no server
/// ran. Ends the grants of sessions that were left. Ends when the accounts do.
pub(super) async fn end_grants(store: SignInStore, accounts: Accounts, mut departures: Departures) {
    let known = store.people(now()).await.unwrap_or_default();
    let is_gone = |id: &&String| PersonId::read(id).is_none_or(|it| accounts.person(&it).is_none());
    for person in known.iter().filter(is_gone) {
        end_all_of(&store, person).await;
    }
    while let Some(gone) = departures.gone.recv().await {
        match gone {
            Gone::Person(person) => end_all_of(&store, &person.to_string()).await,
            Gone::Session(grant) => {
                // The store has logged why it could not. The grant ends within a day.
                let _ = store.end_grant(grant, Why::Revoked, now()).await;
            }
        }
    }
}

async fn end_all_of(store: &SignInStore, person: &str) {
    let ended = async {
        store.end_grants(person, Why::Person, now()).await?;
        store.end_sessions(person).await
    };
    // The store has logged why.
    if let Err(Unavailable) = ended.await {
        warn!(
            person,
            "the grants of a person who is gone could not be ended"
        );
    }
}
