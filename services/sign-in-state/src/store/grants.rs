//! Grants, and the codes for their first tokens.

use ziggurat_mcp_auth::{
    CONSOLE, Code, Consent, Digest, Grant, GrantId, Rotated, Rotation, Seconds, UsedCode, Why,
};
use ziggurat_state::{Row, StoreError, TablesTransaction};

use crate::store::{
    SignInStore,
    columns::{Columns as _, bytes, moment, origin},
};

/// Time in which the form of a consent may be sent again, in seconds.
const AGAIN: Seconds = 60;

// === impl SignInStore ===

impl SignInStore {
    pub(super) async fn insert_grant(
        &self,
        grant: &Grant,
        code: &Code,
        consent: Consent,
    ) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        if !use_form(&mut writing, grant.id, consent).await? {
            let young = made_by(&mut writing, consent, grant.made_at).await?;
            if let Some(id) = young {
                let delete = "DELETE FROM oauth_codes WHERE grant_id = $1";
                writing.rows(delete, [bytes(id)]).await?;
                write_code(&mut writing, id, code).await?;
            }
            writing.commit().await?;
            return Ok(young.is_some());
        }
        let kind = if grant.client == CONSOLE {
            "console"
        } else {
            "code"
        };
        let ended = keep(&mut writing, grant, kind).await?;
        write_code(&mut writing, grant.id, code).await?;
        writing.commit().await?;
        self.ended.add(&ended, grant.made_at);
        Ok(true)
    }

    pub(super) async fn consume_code(
        &self,
        hash: Digest,
        now: Seconds,
    ) -> Result<UsedCode, StoreError> {
        let mut writing = self.tables.write().await?;
        let used = writing
            .row(
                "UPDATE oauth_codes SET used_at = $2 WHERE hash = $1 AND used_at IS NULL \
                 RETURNING grant_id, redirect_uri, challenge, needs_proof, ends_at",
                [bytes(hash), moment(now)],
            )
            .await?;
        if let Some(row) = used {
            let code = Code {
                hash,
                grant: row.bytes(0)?,
                redirect_uri: row.get(1)?,
                challenge: row.get(2)?,
                needs_proof: row.flag(3)?,
                ends_at: row.moment(4)?,
            };
            let grant = live(&mut writing, code.grant, now).await?;
            writing.commit().await?;
            let grant = grant.filter(|_| code.ends_at > now);
            return Ok(grant.map_or(UsedCode::Unknown, |grant| {
                UsedCode::Good(Box::new((code, grant)))
            }));
        }
        let of_code = "SELECT grant_id FROM oauth_codes WHERE hash = $1";
        let Some(row) = writing.row(of_code, [bytes(hash)]).await? else {
            writing.commit().await?;
            return Ok(UsedCode::Unknown);
        };
        let id = row.bytes(0)?;
        end(&mut writing, id, Why::CodeReplayed, now).await?;
        writing.commit().await?;
        self.ended.add(&[id], now);
        Ok(UsedCode::Again(id))
    }

    pub(super) async fn next_generation(
        &self,
        id: GrantId,
        generation: u32,
        rules: Rotation,
    ) -> Result<Rotated, StoreError> {
        let mut writing = self.tables.write().await?;
        let next = writing
            .row(
                concat!(
                    "UPDATE oauth_grants SET generation = generation + 1, rotated_at = $3, \
                 used_at = $3 WHERE id = $1 AND generation = $2 AND ended_at IS NULL \
                 AND ends_at > $3 AND used_at + $4 > $3 \
                 RETURNING ",
                    grant_columns!()
                ),
                [
                    bytes(id),
                    i64::from(generation).into(),
                    moment(rules.now),
                    moment(rules.idle.as_secs()),
                ],
            )
            .await?;
        if let Some(row) = next {
            let grant = grant(&row)?;
            writing.commit().await?;
            return Ok(Rotated::To(Box::new(grant)));
        }
        let known = live(&mut writing, id, rules.now).await?;
        let verdict = known.map_or(Rotated::Unknown, |grant| judged(grant, generation, rules));
        if let Rotated::Reused(_) = verdict {
            end(&mut writing, id, Why::RefreshReused, rules.now).await?;
        }
        writing.commit().await?;
        if let Rotated::Reused(_) = verdict {
            self.ended.add(&[id], rules.now);
        }
        Ok(verdict)
    }

    /// Ends a grant. Returns whether it was there and had not ended.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn close_grant(
        &self,
        id: GrantId,
        why: Why,
        now: Seconds,
    ) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let was_there = end(&mut writing, id, why, now).await?;
        writing.commit().await?;
        if was_there {
            self.ended.add(&[id], now);
        }
        Ok(was_there)
    }

    /// Returns the grants of a person that have not ended, the last used first.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn grants_of(&self, person: &str, now: Seconds) -> Result<Vec<Grant>, StoreError> {
        let rows = self
            .tables
            .rows(
                concat!(
                    "SELECT ",
                    grant_columns!(),
                    " FROM oauth_grants WHERE person = $1 AND ended_at IS NULL AND ends_at > $2 \
                 ORDER BY used_at DESC, id"
                ),
                [person.into(), moment(now)],
            )
            .await?;
        rows.iter().map(grant).collect()
    }

    /// Returns the people who have a grant that has not ended, or a session.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn people(&self, now: Seconds) -> Result<Vec<String>, StoreError> {
        let select = "SELECT person FROM oauth_grants WHERE ended_at IS NULL AND ends_at > $1 \
                      UNION SELECT person FROM oauth_sessions WHERE ends_at > $1";
        let rows = self.tables.rows(select, [moment(now)]).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    pub(super) async fn close_grants_of(
        &self,
        person: &str,
        why: Why,
        now: Seconds,
    ) -> Result<Vec<Grant>, StoreError> {
        let mut writing = self.tables.write().await?;
        let rows = writing
            .rows(
                concat!(
                    "UPDATE oauth_grants SET ended_at = $2, why = $3 \
                 WHERE person = $1 AND ended_at IS NULL AND ends_at > $2 \
                 RETURNING ",
                    grant_columns!()
                ),
                [person.into(), moment(now), why.name().into()],
            )
            .await?;
        writing.commit().await?;
        let ended: Vec<_> = rows.iter().map(grant).collect::<Result<_, _>>()?;
        let ids: Vec<_> = ended.iter().map(|grant| grant.id).collect();
        self.ended.add(&ids, now);
        Ok(ended)
    }

    /// Returns the grants of a tenant that have not ended, the last used first.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn grants_in(&self, tenant: &str, now: Seconds) -> Result<Vec<Grant>, StoreError> {
        let rows = self
            .tables
            .rows(
                concat!(
                    "SELECT ",
                    grant_columns!(),
                    " FROM oauth_grants WHERE tenant = $1 AND ended_at IS NULL AND ends_at > $2 \
                     ORDER BY used_at DESC, id"
                ),
                [tenant.into(), moment(now)],
            )
            .await?;
        rows.iter().map(grant).collect()
    }

    /// Ends the grants of a person who left a tenant, of a person at all, or of a tenant.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn end_of(
        &self,
        person: Option<&str>,
        tenant: Option<&str>,
        now: Seconds,
    ) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        let rows = writing
            .rows(
                "UPDATE oauth_grants SET ended_at = $3, why = $4 \
                 WHERE person = COALESCE($1, person) AND ended_at IS NULL AND ends_at > $3 \
                 AND ($2 IS NULL OR tenant = $2) RETURNING id",
                [
                    person.into(),
                    tenant.into(),
                    moment(now),
                    Why::Person.name().into(),
                ],
            )
            .await?;
        writing.commit().await?;
        let ended: Vec<GrantId> = rows
            .iter()
            .map(|row| row.bytes(0))
            .collect::<Result<_, _>>()?;
        self.ended.add(&ended, now);
        Ok(())
    }

    /// Returns a grant that has not ended.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn find_grant(&self, id: GrantId, now: Seconds) -> Result<Option<Grant>, StoreError> {
        let mut reading = self.tables.read().await?;
        let found = live(&mut reading, id, now).await?;
        reading.commit().await?;
        Ok(found)
    }
}

/// Returns the result for a generation that is not the current one of a grant, or for a grant that
/// was not used for too long.
fn judged(grant: Grant, generation: u32, rules: Rotation) -> Rotated {
    let is_idle = grant.used_at + rules.idle.as_secs() <= rules.now;
    if is_idle || generation >= grant.generation {
        return Rotated::Unknown;
    }
    let is_recent = rules.now <= grant.rotated_at + rules.grace.as_secs();
    if generation + 1 == grant.generation && is_recent {
        Rotated::To(Box::new(grant))
    } else {
        Rotated::Reused(Box::new(grant))
    }
}

/// Returns a grant that has not ended.
pub(super) async fn live(
    session: &mut TablesTransaction,
    id: GrantId,
    now: Seconds,
) -> Result<Option<Grant>, StoreError> {
    let row = session
        .row(
            concat!(
                "SELECT ",
                grant_columns!(),
                " FROM oauth_grants WHERE id = $1 AND ended_at IS NULL AND ends_at > $2"
            ),
            [bytes(id), moment(now)],
        )
        .await?;
    row.as_ref().map(grant).transpose()
}

/// Ends a grant. Returns whether it had not ended before.
pub(super) async fn end(
    writing: &mut TablesTransaction,
    id: GrantId,
    why: Why,
    now: Seconds,
) -> Result<bool, StoreError> {
    let ended = writing
        .row(
            "UPDATE oauth_grants SET ended_at = $2, why = $3 \
             WHERE id = $1 AND ended_at IS NULL AND ends_at > $2 RETURNING id",
            [bytes(id), moment(now), why.name().into()],
        )
        .await?;
    Ok(ended.is_some())
}

/// Notes that a form makes this grant. Returns false if the form made one before. A form that
/// another request uses at the same time is waited for.
pub(super) async fn use_form(
    writing: &mut TablesTransaction,
    id: GrantId,
    form: Consent,
) -> Result<bool, StoreError> {
    let used = writing
        .row(
            "INSERT INTO oauth_seen (hash, grant_id, ends_at) VALUES ($1, $2, $3) \
             ON CONFLICT (hash) DO NOTHING RETURNING hash",
            [bytes(form.hash), bytes(id), moment(form.ends_at)],
        )
        .await?;
    Ok(used.is_some())
}

/// Returns the grant that a form made, if it did within a minute.
pub(super) async fn made_by(
    writing: &mut TablesTransaction,
    form: Consent,
    now: Seconds,
) -> Result<Option<GrantId>, StoreError> {
    let row = writing
        .row(
            "SELECT g.id FROM oauth_seen s JOIN oauth_grants g ON g.id = s.grant_id \
             WHERE s.hash = $1 AND g.ended_at IS NULL AND g.created_at + $3 >= $2",
            [bytes(form.hash), moment(now), moment(AGAIN)],
        )
        .await?;
    row.map(|row| row.bytes(0)).transpose()
}

/// Adds a grant, and returns the grants that ended for it.
pub(super) async fn keep(
    writing: &mut TablesTransaction,
    grant: &Grant,
    kind: &str,
) -> Result<Vec<GrantId>, StoreError> {
    let ended = make_room(writing, grant).await?;
    let note = "UPDATE oauth_clients SET has_grants = 1 WHERE id = $1 AND has_grants = 0";
    writing.rows(note, [(&grant.client).into()]).await?;
    write_grant(writing, grant, kind).await?;
    Ok(ended)
}

/// Prolongs the grant of assertions that the person has for this client and this resource, if there
/// is one that has not ended.
pub(super) async fn prolong(
    writing: &mut TablesTransaction,
    new: &Grant,
) -> Result<Option<Grant>, StoreError> {
    let databases = new.databases.as_ref().map(serde_json::to_string);
    let [provider, subject] = origin(new.origin.as_ref());
    let row = writing
        .row(
            concat!(
                "UPDATE oauth_grants SET alias = $5, scope = $6, databases = $7, amr = $8, \
                 signed_in_at = $9, used_at = $4, ends_at = $10, upstream = $11, subject = $12 \
                 WHERE id = (SELECT id FROM oauth_grants WHERE person = $1 AND client_id = $2 \
                 AND resource = $3 AND kind = 'assertion' AND ended_at IS NULL AND ends_at > $4 \
                 ORDER BY id LIMIT 1) RETURNING ",
                grant_columns!()
            ),
            [
                (&new.person).into(),
                (&new.client).into(),
                (&new.resource).into(),
                moment(new.made_at),
                new.alias.as_ref().into(),
                (&new.scope).into(),
                databases.transpose()?.into(),
                (&new.amr).into(),
                moment(new.signed_in_at),
                moment(new.ends_at),
                provider,
                subject,
            ],
        )
        .await?;
    row.as_ref().map(grant).transpose()
}

/// Ends the oldest grants of a person until there is room for one more: 500 of a person, 50 of them
/// for one client.
async fn make_room(
    writing: &mut TablesTransaction,
    grant: &Grant,
) -> Result<Vec<GrantId>, StoreError> {
    let of_client = writing
        .rows(
            "UPDATE oauth_grants SET ended_at = $3, why = 'room' WHERE id IN ( \
             SELECT id FROM oauth_grants WHERE person = $1 AND client_id = $2 \
             AND ended_at IS NULL AND ends_at > $3 \
             ORDER BY used_at DESC, id LIMIT 1000000 OFFSET 49) RETURNING id",
            [
                (&grant.person).into(),
                (&grant.client).into(),
                moment(grant.made_at),
            ],
        )
        .await?;
    let of_person = writing
        .rows(
            "UPDATE oauth_grants SET ended_at = $2, why = 'room' WHERE id IN ( \
             SELECT id FROM oauth_grants WHERE person = $1 \
             AND ended_at IS NULL AND ends_at > $2 \
             ORDER BY used_at DESC, id LIMIT 1000000 OFFSET 499) RETURNING id",
            [(&grant.person).into(), moment(grant.made_at)],
        )
        .await?;
    let ended = of_client.iter().chain(&of_person);
    ended.map(|row| row.bytes(0)).collect()
}

async fn write_grant(
    writing: &mut TablesTransaction,
    grant: &Grant,
    kind: &str,
) -> Result<(), StoreError> {
    let databases = grant.databases.as_ref().map(serde_json::to_string);
    let [provider, subject] = origin(grant.origin.as_ref());
    let written = writing.rows(
        "INSERT INTO oauth_grants (id, kind, person, client_id, resource, alias, scope, databases, \
         is_renewable, signed_in_at, created_at, used_at, ends_at, generation, rotated_at, amr, \
         upstream, subject, tenant) \
         VALUES ($1, $16, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $17, $18, \
         $19)",
        [
            bytes(grant.id),
            (&grant.person).into(),
            (&grant.client).into(),
            (&grant.resource).into(),
            grant.alias.as_ref().into(),
            (&grant.scope).into(),
            databases.transpose()?.into(),
            i64::from(grant.is_renewable).into(),
            moment(grant.signed_in_at),
            moment(grant.made_at),
            moment(grant.used_at),
            moment(grant.ends_at),
            i64::from(grant.generation).into(),
            moment(grant.rotated_at),
            (&grant.amr).into(),
            kind.into(),
            provider,
            subject,
            grant.tenant.as_ref().into(),
        ],
    );
    written.await.map(drop)
}

async fn write_code(
    writing: &mut TablesTransaction,
    id: GrantId,
    code: &Code,
) -> Result<(), StoreError> {
    let written = writing.rows(
        "INSERT INTO oauth_codes (hash, grant_id, redirect_uri, challenge, needs_proof, ends_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
        [
            bytes(code.hash),
            bytes(id),
            code.redirect_uri.as_ref().into(),
            (&code.challenge).into(),
            i64::from(code.needs_proof).into(),
            moment(code.ends_at),
        ],
    );
    written.await.map(drop)
}

pub(super) fn grant(row: &Row) -> Result<Grant, StoreError> {
    let databases: Option<String> = row.get(6)?;
    let databases = databases.as_deref().map(serde_json::from_str);
    let generation: i64 = row.get(12)?;
    Ok(Grant {
        id: row.bytes(0)?,
        person: row.get(1)?,
        client: row.get(2)?,
        resource: row.get(3)?,
        alias: row.get(4)?,
        scope: row.get(5)?,
        databases: databases.transpose()?,
        is_renewable: row.flag(7)?,
        signed_in_at: row.moment(8)?,
        made_at: row.moment(9)?,
        used_at: row.moment(10)?,
        ends_at: row.moment(11)?,
        generation: generation.try_into().unwrap_or(u32::MAX),
        rotated_at: row.moment(13)?,
        amr: row.get(14)?,
        origin: row.origin(15)?,
        tenant: row.get(17)?,
    })
}
