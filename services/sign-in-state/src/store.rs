//! Clients, grants, codes and sessions in a file, or in the database that replicas share.

/// The columns that a grant is read from.
macro_rules! grant_columns {
    () => {
        "id, person, client_id, resource, alias, scope, databases, is_renewable, signed_in_at, \
         created_at, used_at, ends_at, generation, rotated_at, amr, upstream, subject, \
         tenant"
    };
}

mod administration;
mod clients;
mod columns;
mod consents;
mod devices;
mod directories;
mod documents;
mod ended;
mod factors;
mod grants;
mod sessions;
mod sweep;
#[cfg(test)]
mod tests;

use std::{error::Error, path::Path, sync::Arc, time::Duration};

use sqlx::migrate::Migrator;
use tracing::error;
use ziggurat_mcp_auth::{
    Attempt, Code, Consent, Device, Digest, Factor, GivenConsent, Grant, GrantId, KeptDocument,
    Link, ManualClient, Origin, Polled, Rotated, Rotation, Seconds, Session, Store, StoredClient,
    Unavailable, UsedCode, Why,
};
use ziggurat_state::{StateDatabase, StoreError, Tables, migrator};

pub use self::{administration::ListedClient, ended::EndedGrants, sweep::SweepRules};

/// Name of the file.
const FILE: &str = "sign-in.db";

/// The first tables.
const SIGN_IN: &str = include_str!("store/0001_sign_in.sql");

/// Time between two writes of the moment at which a row was used, in seconds.
const NOTED: i64 = 60;

/// Keeps what a sign-in must keep. Clones share it.
#[derive(Clone, Debug)]
pub struct SignInStore {
    tables: Tables,
    ended: Arc<EndedGrants>,
}

// === impl SignInStore ===

impl SignInStore {
    /// Opens the file in this folder; creates both if missing. Several processes may use it.
    ///
    /// # Errors
    /// Fails if the folder or the file cannot be used.
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        let tables = Tables::open(folder, FILE, &migrator(&[("sign-in", SIGN_IN)])).await?;
        Ok(Self::with(tables))
    }

    /// Uses the database that replicas share. Connects on first use.
    #[must_use]
    pub fn replicated(state: StateDatabase) -> Self {
        Self::with(Tables::Replicated(
            state.with_migrations(replicated_migrations),
        ))
    }

    fn with(tables: Tables) -> Self {
        Self {
            tables,
            ended: Arc::default(),
        }
    }

    /// Returns the grants that have ended, as this process knows them.
    #[must_use]
    pub fn ended(&self) -> Arc<EndedGrants> {
        Arc::clone(&self.ended)
    }

    /// Returns whether replicas share it.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        matches!(self.tables, Tables::Replicated(_))
    }

    /// Closes the file.
    pub async fn close(&self) {
        self.tables.close().await;
    }
}

fn replicated_migrations() -> Migrator {
    let mut migrator = migrator(&[(
        "sign-in",
        concat!(
            "SET LOCAL search_path TO ziggurat, pg_catalog;\n",
            include_str!("store/0001_sign_in.sql")
        ),
    )]);
    // Other state of the servers is in the same schema.
    migrator.dangerous_set_table_name("ziggurat.sign_in_migrations");
    migrator
}

impl Store for SignInStore {
    async fn client(&self, id: &str, now: Seconds) -> Result<Option<StoredClient>, Unavailable> {
        told(self.find_client(id, now).await)
    }

    async fn manual_client(&self, id: &str) -> Result<Option<ManualClient>, Unavailable> {
        told(self.find_manual_client(id).await)
    }

    async fn add_client(&self, client: StoredClient, now: Seconds) -> Result<bool, Unavailable> {
        told(self.insert_client(&client, now).await)
    }

    async fn add_grant(
        &self,
        grant: Grant,
        code: Code,
        consent: Consent,
    ) -> Result<bool, Unavailable> {
        told(self.insert_grant(&grant, &code, consent).await)
    }

    async fn use_code(&self, hash: Digest, now: Seconds) -> Result<UsedCode, Unavailable> {
        told(self.consume_code(hash, now).await)
    }

    async fn rotate(
        &self,
        id: GrantId,
        generation: u32,
        rules: Rotation,
    ) -> Result<Rotated, Unavailable> {
        told(self.next_generation(id, generation, rules).await)
    }

    async fn end_grant(&self, id: GrantId, why: Why, now: Seconds) -> Result<bool, Unavailable> {
        told(self.close_grant(id, why, now).await)
    }

    async fn grant(&self, id: GrantId, now: Seconds) -> Result<Option<Grant>, Unavailable> {
        told(self.find_grant(id, now).await)
    }

    async fn add_device(&self, device: Device, now: Seconds) -> Result<bool, Unavailable> {
        told(self.insert_device(&device, now).await)
    }

    async fn device(&self, user_code: Digest, now: Seconds) -> Result<Option<Device>, Unavailable> {
        told(self.find_device(user_code, now).await)
    }

    async fn approve_device(
        &self,
        hash: Digest,
        grant: Grant,
        consent: Consent,
    ) -> Result<bool, Unavailable> {
        told(self.allow_device(hash, &grant, consent).await)
    }

    async fn deny_device(&self, hash: Digest, now: Seconds) -> Result<bool, Unavailable> {
        told(self.refuse_device(hash, now).await)
    }

    async fn poll_device(
        &self,
        hash: Digest,
        client: &str,
        now: Seconds,
    ) -> Result<Polled, Unavailable> {
        told(self.ask_device(hash, client, now).await)
    }

    async fn grants(&self, person: &str, now: Seconds) -> Result<Vec<Grant>, Unavailable> {
        told(self.grants_of(person, now).await)
    }

    async fn end_grants(
        &self,
        person: &str,
        why: Why,
        now: Seconds,
    ) -> Result<Vec<Grant>, Unavailable> {
        told(self.close_grants_of(person, why, now).await)
    }

    async fn keep_consent(&self, consent: GivenConsent) -> Result<(), Unavailable> {
        told(self.write_consent(&consent).await)
    }

    async fn consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> Result<Option<GivenConsent>, Unavailable> {
        told(self.find_consent(person, client, resource).await)
    }

    async fn withdraw_consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> Result<bool, Unavailable> {
        told(self.delete_consent(person, client, resource).await)
    }

    async fn factor(&self, person: &str) -> Result<Option<Factor>, Unavailable> {
        told(self.find_factor(person).await)
    }

    async fn add_factor(&self, factor: Factor) -> Result<bool, Unavailable> {
        told(self.insert_factor(&factor).await)
    }

    async fn remove_factor(&self, person: &str) -> Result<bool, Unavailable> {
        told(self.delete_factor(person).await)
    }

    async fn use_step(&self, person: &str, step: u64) -> Result<bool, Unavailable> {
        told(self.take_step(person, step).await)
    }

    async fn use_recovery(&self, person: &str, hash: Digest) -> Result<bool, Unavailable> {
        told(self.take_recovery(person, hash).await)
    }

    async fn add_session(&self, session: Session) -> Result<(), Unavailable> {
        told(self.insert_session(&session).await)
    }

    async fn session(
        &self,
        hash: Digest,
        idle: Duration,
        now: Seconds,
    ) -> Result<Option<Session>, Unavailable> {
        told(self.find_session(hash, idle, now).await)
    }

    async fn end_session(&self, hash: Digest) -> Result<(), Unavailable> {
        told(self.delete_session(hash).await)
    }

    async fn end_sessions(&self, person: &str) -> Result<(), Unavailable> {
        told(self.delete_sessions_of(person).await)
    }

    async fn document(&self, url: &str) -> Result<Option<KeptDocument>, Unavailable> {
        told(self.find_document(url).await)
    }

    async fn keep_document(&self, url: &str, document: KeptDocument) -> Result<(), Unavailable> {
        told(self.write_document(url, &document).await)
    }

    async fn document_failed(&self, url: &str, now: Seconds) -> Result<(), Unavailable> {
        told(self.note_failure(url, now).await)
    }

    async fn use_once(
        &self,
        hash: Digest,
        ends_at: Seconds,
        now: Seconds,
    ) -> Result<bool, Unavailable> {
        told(self.note_seen(hash, ends_at, now).await)
    }

    async fn add_attempt(&self, attempt: Attempt, now: Seconds) -> Result<bool, Unavailable> {
        told(self.insert_attempt(&attempt, now).await)
    }

    async fn use_attempt(
        &self,
        hash: Digest,
        now: Seconds,
    ) -> Result<Option<Attempt>, Unavailable> {
        told(self.take_attempt(hash, now).await)
    }

    async fn link(&self, origin: &Origin) -> Result<Option<Link>, Unavailable> {
        told(self.find_link(origin).await)
    }

    async fn keep_link(&self, link: Link) -> Result<(), Unavailable> {
        told(self.write_link(&link).await)
    }

    async fn begin_check(
        &self,
        origin: &Origin,
        until: Seconds,
        now: Seconds,
    ) -> Result<Option<Link>, Unavailable> {
        told(self.take_check(origin, until, now).await)
    }

    async fn assert_grant(
        &self,
        grant: Grant,
        assertion: Consent,
    ) -> Result<Option<Grant>, Unavailable> {
        told(self.insert_asserted(grant, assertion).await)
    }
}

/// Logs an error of the store, which clients learn nothing about.
fn told<T>(outcome: Result<T, StoreError>) -> Result<T, Unavailable> {
    outcome.map_err(|error| {
        let error: &dyn Error = &error;
        error!(error, "the store of the sign-in cannot be used");
        Unavailable
    })
}
