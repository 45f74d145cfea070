-- The same for SQLite and for PostgreSQL. Moments are seconds since 1970, ids and digests are texts in
-- base64url. Secrets are here as digests, or not at all.
CREATE TABLE oauth_clients (
    id text PRIMARY KEY,
    kind text NOT NULL,
    -- Name, redirect addresses and ways of proof, as JSON.
    metadata text NOT NULL,
    -- Of clients that an administrator made.
    secret_hash text,
    has_grants bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    used_at bigint NOT NULL
);

CREATE INDEX oauth_clients_kind ON oauth_clients (kind, used_at);

CREATE TABLE oauth_grants (
    id text PRIMARY KEY,
    kind text NOT NULL,
    person text NOT NULL,
    tenant text,
    client_id text NOT NULL,
    resource text NOT NULL,
    alias text,
    scope text NOT NULL,
    -- A JSON list; NULL for all that the person may use.
    databases text,
    is_renewable bigint NOT NULL,
    signed_in_at bigint NOT NULL,
    amr text NOT NULL,
    -- The account at another provider, if the person signed in there.
    upstream text,
    subject text,
    generation bigint NOT NULL,
    rotated_at bigint NOT NULL,
    created_at bigint NOT NULL,
    used_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    ended_at bigint,
    why text
);

CREATE INDEX oauth_grants_person ON oauth_grants (person, client_id);
CREATE INDEX oauth_grants_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_ended ON oauth_grants (ended_at);
CREATE INDEX oauth_grants_ends ON oauth_grants (ends_at);

CREATE TABLE oauth_codes (
    hash text PRIMARY KEY,
    grant_id text NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    redirect_uri text,
    challenge text NOT NULL,
    needs_proof bigint NOT NULL,
    ends_at bigint NOT NULL,
    used_at bigint
);

CREATE INDEX oauth_codes_grant ON oauth_codes (grant_id);
CREATE INDEX oauth_codes_ends ON oauth_codes (ends_at);

CREATE TABLE oauth_sessions (
    hash text PRIMARY KEY,
    person text NOT NULL,
    auth_time bigint NOT NULL,
    amr text NOT NULL,
    upstream text,
    subject text,
    seen_at bigint NOT NULL,
    ends_at bigint NOT NULL
);

CREATE INDEX oauth_sessions_person ON oauth_sessions (person);
CREATE INDEX oauth_sessions_ends ON oauth_sessions (ends_at);

CREATE TABLE oauth_consents (
    person text NOT NULL,
    tenant text,
    client_id text NOT NULL,
    resource text NOT NULL,
    scope text NOT NULL,
    databases text,
    -- Digest of the name, the addresses and the keys of the client.
    client_digest text NOT NULL,
    given_at bigint NOT NULL,
    PRIMARY KEY (person, client_id, resource)
);

CREATE TABLE oauth_devices (
    hash text PRIMARY KEY,
    user_code_hash text NOT NULL,
    client_id text NOT NULL,
    resource text NOT NULL,
    alias text,
    scope text NOT NULL,
    -- waits, denied, approved, or given: its grant was given to it.
    state text NOT NULL,
    grant_id text,
    poll_interval bigint NOT NULL,
    polled_at bigint NOT NULL,
    ends_at bigint NOT NULL
);

CREATE INDEX oauth_devices_user_code ON oauth_devices (user_code_hash);
CREATE INDEX oauth_devices_ends ON oauth_devices (ends_at);

CREATE TABLE oauth_factors (
    person text PRIMARY KEY,
    totp_sealed text NOT NULL,
    last_step bigint NOT NULL
);

CREATE TABLE oauth_recovery_codes (
    person text NOT NULL REFERENCES oauth_factors (person) ON DELETE CASCADE,
    hash text NOT NULL,
    PRIMARY KEY (person, hash)
);

-- Forms and assertions that were used.
CREATE TABLE oauth_seen (
    hash text PRIMARY KEY,
    -- The grant that a form made.
    grant_id text,
    ends_at bigint NOT NULL
);

CREATE INDEX oauth_seen_ends ON oauth_seen (ends_at);

-- Documents of clients and their keys.
CREATE TABLE oauth_documents (
    url text PRIMARY KEY,
    -- The last good one, if there was one.
    document text,
    fetched_at bigint NOT NULL,
    fresh_until bigint NOT NULL,
    -- 0 if nothing failed since.
    failed_at bigint NOT NULL
);

-- Sign-ins that browsers have begun at other providers.
CREATE TABLE oauth_upstream_attempts (
    state_hash text PRIMARY KEY,
    -- Sealed, as the verifier is.
    flow text NOT NULL,
    -- A digest.
    nonce text NOT NULL,
    verifier text NOT NULL,
    ends_at bigint NOT NULL
);

CREATE INDEX oauth_upstream_attempts_ends ON oauth_upstream_attempts (ends_at);

-- People of accounts at other providers.
CREATE TABLE oauth_links (
    upstream text NOT NULL,
    subject text NOT NULL,
    person text NOT NULL,
    -- The name and the access of the person, as JSON.
    claims text NOT NULL,
    refresh_sealed text,
    -- 0 after the provider refused.
    checked_at bigint NOT NULL,
    -- One request has the turn to check until then.
    checking_until bigint NOT NULL,
    PRIMARY KEY (upstream, subject)
);

CREATE INDEX oauth_links_person ON oauth_links (person);
