//! Conversations in PostgreSQL.

mod state;

use jiff::Timestamp;
pub(super) use ziggurat_postgres::driver::{Row, query};

use super::{
    Conversation, Conversations, Listed, Page, Revision, StoreError,
    conversation::{storable, written},
    row::{Cells, conversation, listed},
};

pub use self::state::within;
pub use self::state::{InvalidState, StateDatabase};

/// Stores conversations in a database that replicas share.
#[derive(Clone, Debug)]
pub struct Postgres {
    state: StateDatabase,
}

// === impl Postgres ===

impl Postgres {
    /// Stores conversations in this database. Connects on first use.
    #[must_use]
    pub fn new(state: StateDatabase) -> Self {
        Self { state }
    }
}

impl Conversations for Postgres {
    async fn list(&self, owner: &str, page: Page) -> Result<Vec<Listed>, StoreError> {
        let mut lease = self.state.lease().await?;
        let query = query(
            "SELECT id, title, connection, created_at, updated_at, preview \
             FROM ziggurat.conversations WHERE username = $1 \
             ORDER BY updated_at DESC, id DESC LIMIT $2 OFFSET $3",
        )
        .bind(owner)
        .bind(i64::from(page.limit))
        .bind(i64::try_from(page.offset).unwrap_or(i64::MAX));
        let rows = within(query.fetch_all(lease.begin())).await?;
        lease.settle();
        rows.iter().map(listed).collect()
    }

    async fn find(&self, owner: &str, id: &str) -> Result<Option<Conversation>, StoreError> {
        let (owner, id) = (storable(owner.to_owned()), storable(id.to_owned()));
        let mut lease = self.state.lease().await?;
        let query = query(
            "SELECT id, username, title, provider, model, connection, preview, created_at, \
             updated_at, messages FROM ziggurat.conversations WHERE id = $1 AND username = $2",
        )
        .bind(id)
        .bind(owner);
        let row = within(query.fetch_optional(lease.begin())).await?;
        lease.settle();
        row.as_ref().map(conversation).transpose()
    }

    async fn create(&self, new: Conversation) -> Result<(), StoreError> {
        let mut lease = self.state.lease().await?;
        let query = query(
            "INSERT INTO ziggurat.conversations (id, username, title, provider, model, \
             connection, preview, created_at, updated_at, messages) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(new.id)
        .bind(new.username)
        .bind(new.title)
        .bind(new.provider)
        .bind(new.model)
        .bind(new.connection)
        .bind(new.preview)
        .bind(new.created_at)
        .bind(new.updated_at)
        .bind(new.messages.get());
        within(query.execute(lease.begin())).await?;
        lease.settle();
        Ok(())
    }

    async fn replace(
        &self,
        owner: &str,
        id: &str,
        revision: Revision,
    ) -> Result<Option<Conversation>, StoreError> {
        let stored_id = storable(id.to_owned());
        let mut lease = self.state.lease().await?;
        let query = query(
            "UPDATE ziggurat.conversations SET provider = $1, model = $2, connection = $3, \
             preview = $4, messages = $5, updated_at = $6 WHERE id = $7 AND username = $8 \
             RETURNING title, created_at",
        )
        .bind(&revision.provider)
        .bind(&revision.model)
        .bind(&revision.connection)
        .bind(&revision.preview)
        .bind(revision.messages.get())
        .bind(&revision.updated_at)
        .bind(stored_id)
        .bind(owner);
        let row = within(query.fetch_optional(lease.begin())).await?;
        lease.settle();
        let applied = |row: Row| Ok(revision.applied(id, owner, row.get(0)?, row.get(1)?));
        row.map(applied).transpose()
    }

    async fn rename(
        &self,
        owner: &str,
        id: &str,
        title: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut lease = self.state.lease().await?;
        let query = query(
            "UPDATE ziggurat.conversations SET title = $1, updated_at = $2 \
             WHERE id = $3 AND username = $4",
        )
        .bind(storable(title.to_owned()))
        .bind(written(now))
        .bind(storable(id.to_owned()))
        .bind(owner);
        let done = within(query.execute(lease.begin())).await?;
        lease.settle();
        Ok(done > 0)
    }

    async fn delete(&self, owner: &str, id: &str) -> Result<bool, StoreError> {
        let mut lease = self.state.lease().await?;
        let query = query("DELETE FROM ziggurat.conversations WHERE id = $1 AND username = $2")
            .bind(storable(id.to_owned()))
            .bind(owner);
        let done = within(query.execute(lease.begin())).await?;
        lease.settle();
        Ok(done > 0)
    }

    async fn delete_all(&self, owner: &str) -> Result<u64, StoreError> {
        let mut lease = self.state.lease().await?;
        let query = query("DELETE FROM ziggurat.conversations WHERE username = $1").bind(owner);
        let done = within(query.execute(lease.begin())).await?;
        lease.settle();
        Ok(done)
    }
}

impl Cells for Row {
    fn text(&self, at: usize) -> Result<String, StoreError> {
        Ok(self.get(at)?)
    }
}
