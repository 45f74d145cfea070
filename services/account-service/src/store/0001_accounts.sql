-- The same for SQLite and for PostgreSQL. Moments are seconds since 1970, ids are texts.
CREATE TABLE platform_tenants (
    id text PRIMARY KEY,
    name text NOT NULL,
    domain text,
    external_id text,
    plan text,
    plan_expires_at bigint,
    plan_trial bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE TABLE platform_users (
    id text PRIMARY KEY,
    -- In small letters: two spellings of an address are one person.
    email text NOT NULL UNIQUE,
    first_name text,
    last_name text,
    picture text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE TABLE platform_memberships (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES platform_tenants (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES platform_users (id) ON DELETE CASCADE,
    is_owner bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    UNIQUE (tenant_id, user_id)
);

CREATE INDEX platform_memberships_user ON platform_memberships (user_id);

CREATE TABLE platform_clients (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES platform_tenants (id) ON DELETE CASCADE,
    name text NOT NULL,
    description text NOT NULL,
    credential_id text NOT NULL UNIQUE,
    -- The SHA-256 of 32 random bytes, in hexadecimal.
    secret_hash text NOT NULL,
    -- When the last of its tokens ends, or a little later.
    tokens_until bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE INDEX platform_clients_tenant ON platform_clients (tenant_id, created_at, id);

CREATE TABLE platform_invites (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES platform_tenants (id) ON DELETE CASCADE,
    email text NOT NULL,
    token_hash text NOT NULL,
    invited_by text,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    UNIQUE (tenant_id, email)
);

-- Clients that are gone, as long as some of their tokens have not ended. They outlive tenants.
CREATE TABLE platform_revocations (
    client_id text PRIMARY KEY,
    tenant_id text NOT NULL,
    ends_at bigint NOT NULL
);

CREATE INDEX platform_revocations_ends_at ON platform_revocations (ends_at);
CREATE INDEX platform_revocations_tenant ON platform_revocations (tenant_id);
