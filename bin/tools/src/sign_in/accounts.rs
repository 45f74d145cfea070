//! The sign-in beside the accounts of the user file: both let the same people in.

use tokio::sync::mpsc;
use tracing::warn;
use ziggurat_accounts::{Accounts, BrowserSignIn, NeedsBrowser, PersonId};
use ziggurat_mcp_auth::{Store as _, Unavailable, Why};
use ziggurat_sign_in_state::{SignInSection, SignInStore};
use ziggurat_state::StoreError;

use crate::sign_in::{OwnSignIn, now};

/// Tells the accounts who needs a browser, and learns from them who is gone.
pub(super) struct BesideAccounts {
    service: OwnSignIn,
    has_passwords: bool,
    gone: mpsc::UnboundedSender<PersonId>,
}

// === impl BesideAccounts ===

impl BesideAccounts {
    /// Also returns the people who are gone from now on.
    pub(super) fn new(
        section: &SignInSection,
        service: &OwnSignIn,
    ) -> (Self, mpsc::UnboundedReceiver<PersonId>) {
        let (gone, people) = mpsc::unbounded_channel();
        let beside = Self {
            service: service.clone(),
            has_passwords: section.has_passwords(),
            gone,
        };
        (beside, people)
    }
}

impl BrowserSignIn for BesideAccounts {
    fn needs_browser(&self, person: PersonId) -> NeedsBrowser {
        let (has_passwords, service) = (self.has_passwords, self.service.clone());
        Box::pin(async move {
            if !has_passwords {
                return Ok(true);
            }
            let needs = service.needs_second_factor(&person.to_string()).await;
            needs.map_err(|_| StoreError::TimedOut)
        })
    }

    fn people_gone(&self, people: Vec<PersonId>) {
        for person in people {
            // The receiver lives as long as the server.
            let _ = self.gone.send(person);
        }
    }
}

/// Ends the grants and the sessions of people who are gone: first of those who went while no server
/// ran. Ends when the accounts do.
pub(super) async fn end_grants(
    store: SignInStore,
    accounts: Accounts,
    mut gone: mpsc::UnboundedReceiver<PersonId>,
) {
    let known = store.people(now()).await.unwrap_or_default();
    let is_gone = |id: &&String| PersonId::read(id).is_none_or(|it| accounts.person(&it).is_none());
    for person in known.iter().filter(is_gone) {
        end_all_of(&store, person).await;
    }
    while let Some(person) = gone.recv().await {
        end_all_of(&store, &person.to_string()).await;
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
