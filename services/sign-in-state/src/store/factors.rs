//! Second factors of people.

use ziggurat_mcp_auth::{Digest, Factor};
use ziggurat_state::StoreError;

use crate::store::{
    SignInStore,
    columns::{Columns as _, bytes, moment},
};

// === impl SignInStore ===

impl SignInStore {
    pub(super) async fn find_factor(&self, person: &str) -> Result<Option<Factor>, StoreError> {
        let mut reading = self.tables.read().await?;
        let select = "SELECT totp_sealed, last_step FROM oauth_factors WHERE person = $1";
        let factor = reading.row(select, [person.into()]).await?;
        let select = "SELECT hash FROM oauth_recovery_codes WHERE person = $1 ORDER BY hash";
        let codes = reading.rows(select, [person.into()]).await?;
        reading.commit().await?;
        let Some(row) = factor else { return Ok(None) };
        Ok(Some(Factor {
            person: person.to_owned(),
            sealed: row.get(0)?,
            last_step: row.moment(1)?,
            recovery: codes
                .iter()
                .map(|row| row.bytes(0))
                .collect::<Result<_, _>>()?,
        }))
    }

    pub(super) async fn insert_factor(&self, factor: &Factor) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let added = writing
            .row(
                "INSERT INTO oauth_factors (person, totp_sealed, last_step) VALUES ($1, $2, $3) \
                 ON CONFLICT (person) DO NOTHING RETURNING person",
                [
                    (&factor.person).into(),
                    (&factor.sealed).into(),
                    moment(factor.last_step),
                ],
            )
            .await?;
        if added.is_some() {
            for code in &factor.recovery {
                let insert = "INSERT INTO oauth_recovery_codes (person, hash) VALUES ($1, $2)";
                let values = [(&factor.person).into(), bytes(code)];
                writing.rows(insert, values).await?;
            }
        }
        writing.commit().await?;
        Ok(added.is_some())
    }

    pub(super) async fn delete_factor(&self, person: &str) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let delete = "DELETE FROM oauth_recovery_codes WHERE person = $1";
        writing.rows(delete, [person.into()]).await?;
        let delete = "DELETE FROM oauth_factors WHERE person = $1 RETURNING person";
        let deleted = writing.row(delete, [person.into()]).await?;
        writing.commit().await?;
        Ok(deleted.is_some())
    }

    pub(super) async fn take_step(&self, person: &str, step: u64) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let taken = writing
            .row(
                "UPDATE oauth_factors SET last_step = $2 WHERE person = $1 AND last_step < $2 \
                 RETURNING person",
                [person.into(), moment(step)],
            )
            .await?;
        writing.commit().await?;
        Ok(taken.is_some())
    }

    pub(super) async fn take_recovery(
        &self,
        person: &str,
        hash: Digest,
    ) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let taken = writing
            .row(
                "DELETE FROM oauth_recovery_codes WHERE person = $1 AND hash = $2 RETURNING hash",
                [person.into(), bytes(hash)],
            )
            .await?;
        writing.commit().await?;
        Ok(taken.is_some())
    }
}
