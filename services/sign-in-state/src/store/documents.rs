//! Documents of clients, and numbers that are good once.

use ziggurat_mcp_auth::{Digest, KeptDocument, Seconds};
use ziggurat_state::{StoreError, TablesTransaction};

use crate::store::{
    SignInStore,
    columns::{Columns as _, bytes, moment},
};

// === impl SignInStore ===

impl SignInStore {
    pub(super) async fn find_document(
        &self,
        url: &str,
    ) -> Result<Option<KeptDocument>, StoreError> {
        let row = self
            .tables
            .row(
                "SELECT document, fetched_at, fresh_until, failed_at FROM oauth_documents \
                 WHERE url = $1",
                [url.into()],
            )
            .await?;
        let Some(row) = row else { return Ok(None) };
        let failed_at = row.moment(3)?;
        Ok(Some(KeptDocument {
            text: row.get(0)?,
            fetched_at: row.moment(1)?,
            fresh_until: row.moment(2)?,
            failed_at: (failed_at > 0).then_some(failed_at),
        }))
    }

    pub(super) async fn write_document(
        &self,
        url: &str,
        document: &KeptDocument,
    ) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        writing
            .rows(
                "INSERT INTO oauth_documents (url, document, fetched_at, fresh_until, failed_at) \
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (url) DO UPDATE SET \
                 document = excluded.document, fetched_at = excluded.fetched_at, \
                 fresh_until = excluded.fresh_until, failed_at = excluded.failed_at",
                [
                    url.into(),
                    document.text.clone().into(),
                    moment(document.fetched_at),
                    moment(document.fresh_until),
                    moment(document.failed_at.unwrap_or_default()),
                ],
            )
            .await?;
        make_room(&mut writing, url).await?;
        writing.commit().await
    }

    pub(super) async fn note_failure(&self, url: &str, now: Seconds) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        writing
            .rows(
                "INSERT INTO oauth_documents (url, fetched_at, fresh_until, failed_at) \
                 VALUES ($1, 0, 0, $2) ON CONFLICT (url) DO UPDATE SET \
                 failed_at = excluded.failed_at",
                [url.into(), moment(now)],
            )
            .await?;
        make_room(&mut writing, url).await?;
        writing.commit().await
    }

    pub(super) async fn note_seen(
        &self,
        hash: Digest,
        ends_at: Seconds,
        now: Seconds,
    ) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let noted = writing
            .row(
                "INSERT INTO oauth_seen (hash, ends_at) VALUES ($1, $2) ON CONFLICT (hash) \
                 DO UPDATE SET ends_at = excluded.ends_at WHERE oauth_seen.ends_at <= $3 \
                 RETURNING hash",
                [bytes(hash), moment(ends_at), moment(now)],
            )
            .await?;
        writing.commit().await?;
        Ok(noted.is_some())
    }
}

/// Leaves 1,000 rows: the oldest others go, rows without a document first.
async fn make_room(writing: &mut TablesTransaction, url: &str) -> Result<(), StoreError> {
    writing
        .rows(
            "DELETE FROM oauth_documents WHERE url IN ( \
             SELECT url FROM oauth_documents WHERE url <> $1 \
             ORDER BY CASE WHEN document IS NULL THEN 1 ELSE 0 END, \
             CASE WHEN failed_at > fetched_at THEN failed_at ELSE fetched_at END DESC, url \
             LIMIT 1000000 OFFSET 999)",
            [url.into()],
        )
        .await?;
    Ok(())
}
