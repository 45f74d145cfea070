//! Devices that wait for a person.

use ziggurat_mcp_auth::{Consent, Device, Digest, Grant, Polled, Seconds, Why};
use ziggurat_state::{Row, StoreError, TablesTransaction};

use crate::store::{
    SignInStore,
    columns::{Columns as _, bytes, moment},
    grants::{end, keep, live, made_by, use_form},
};

/// Number of devices.
const MAX_DEVICES: i64 = 10_000;

// === impl SignInStore ===

impl SignInStore {
    pub(super) async fn insert_device(
        &self,
        device: &Device,
        now: Seconds,
    ) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        // An expired device keeps its codes until its row goes.
        let added = writing
            .row(
                "INSERT INTO oauth_devices (hash, user_code_hash, client_id, resource, alias, scope, \
                 state, poll_interval, polled_at, ends_at) \
                 SELECT $1, $2, $3, $4, $5, $6, 'waits', 5, 0, $7 \
                 WHERE (SELECT count(*) FROM oauth_devices WHERE ends_at > $8) < $9 \
                 AND NOT EXISTS (SELECT 1 FROM oauth_devices WHERE user_code_hash = $2 \
                 AND state = 'waits' AND ends_at > $8) RETURNING hash",
                [
                    bytes(device.hash),
                    bytes(device.user_code),
                    (&device.client).into(),
                    (&device.resource).into(),
                    device.alias.as_ref().into(),
                    (&device.scope).into(),
                    moment(device.ends_at),
                    moment(now),
                    MAX_DEVICES.into(),
                ],
            )
            .await?;
        writing.commit().await?;
        Ok(added.is_some())
    }

    pub(super) async fn find_device(
        &self,
        user_code: Digest,
        now: Seconds,
    ) -> Result<Option<Device>, StoreError> {
        let row = self
            .tables
            .row(
                "SELECT hash, client_id, resource, alias, scope, ends_at FROM oauth_devices \
                 WHERE user_code_hash = $1 AND state = 'waits' AND ends_at > $2",
                [bytes(user_code), moment(now)],
            )
            .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Device {
            hash: row.bytes(0)?,
            user_code,
            client: row.get(1)?,
            resource: row.get(2)?,
            alias: row.get(3)?,
            scope: row.get(4)?,
            ends_at: row.moment(5)?,
        }))
    }

    pub(super) async fn allow_device(
        &self,
        hash: Digest,
        grant: &Grant,
        form: Consent,
    ) -> Result<bool, StoreError> {
        let now = grant.made_at;
        let mut writing = self.tables.write().await?;
        if !use_form(&mut writing, grant.id, form).await? {
            let made = made_by(&mut writing, form, now).await?;
            writing.commit().await?;
            return Ok(made.is_some());
        }
        let approved = writing
            .row(
                "UPDATE oauth_devices SET state = 'approved', grant_id = $2 \
                 WHERE hash = $1 AND state = 'waits' AND ends_at > $3 RETURNING hash",
                [bytes(hash), bytes(grant.id), moment(now)],
            )
            .await?;
        let mut ended = Vec::new();
        if approved.is_some() {
            ended = keep(&mut writing, grant, "device").await?;
        }
        writing.commit().await?;
        self.ended.add(&ended, now);
        Ok(approved.is_some())
    }

    pub(super) async fn refuse_device(
        &self,
        hash: Digest,
        now: Seconds,
    ) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let denied = writing
            .row(
                "UPDATE oauth_devices SET state = 'denied' \
                 WHERE hash = $1 AND state = 'waits' AND ends_at > $2 RETURNING hash",
                [bytes(hash), moment(now)],
            )
            .await?;
        writing.commit().await?;
        Ok(denied.is_some())
    }

    pub(super) async fn ask_device(
        &self,
        hash: Digest,
        client: &str,
        now: Seconds,
    ) -> Result<Polled, StoreError> {
        let mut writing = self.tables.write().await?;
        let given = writing
            .row(
                "UPDATE oauth_devices SET state = 'given' WHERE hash = $1 AND client_id = $2 \
                 AND state = 'approved' AND ends_at > $3 RETURNING grant_id",
                [bytes(hash), client.into(), moment(now)],
            )
            .await?;
        let polled = match given {
            Some(row) => {
                let grant = live(&mut writing, row.bytes(0)?, now).await?;
                grant.map_or(Polled::Unknown, |grant| Polled::Good(Box::new(grant)))
            }
            None => undecided(&mut writing, hash, client, now).await?,
        };
        writing.commit().await?;
        if let Polled::Again(id) = polled {
            self.ended.add(&[id], now);
        }
        Ok(polled)
    }
}

/// Answers a device that gets no grant now.
async fn undecided(
    writing: &mut TablesTransaction,
    hash: Digest,
    client: &str,
    now: Seconds,
) -> Result<Polled, StoreError> {
    let row = writing
        .row(
            "SELECT state, grant_id, ends_at, poll_interval, polled_at FROM oauth_devices \
             WHERE hash = $1 AND client_id = $2",
            [bytes(hash), client.into()],
        )
        .await?;
    let Some(row) = row else {
        return Ok(Polled::Unknown);
    };
    let state: String = row.get(0)?;
    match &*state {
        "given" => {
            let id = row.bytes(1)?;
            end(writing, id, Why::CodeReplayed, now).await?;
            Ok(Polled::Again(id))
        }
        _ if row.moment(2)? <= now => Ok(Polled::Expired),
        "denied" => Ok(Polled::Denied),
        _ => waits(writing, hash, &row, now).await,
    }
}

async fn waits(
    writing: &mut TablesTransaction,
    hash: Digest,
    row: &Row,
    now: Seconds,
) -> Result<Polled, StoreError> {
    let (interval, polled_at) = (row.moment(3)?, row.moment(4)?);
    let is_too_soon = now < polled_at + interval;
    let longer = if is_too_soon { 5 } else { 0 };
    writing
        .rows(
            "UPDATE oauth_devices SET polled_at = $2, poll_interval = poll_interval + $3 \
             WHERE hash = $1",
            [bytes(hash), moment(now), i64::from(longer).into()],
        )
        .await?;
    Ok(if is_too_soon {
        Polled::TooSoon
    } else {
        Polled::Waits
    })
}
