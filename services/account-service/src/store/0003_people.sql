-- The same for SQLite and for PostgreSQL. What the sign-in of people needs.
ALTER TABLE platform_users ADD COLUMN is_disabled bigint NOT NULL DEFAULT 0;

-- JSON lists; NULL for none.
ALTER TABLE platform_memberships ADD COLUMN claim_groups text;
ALTER TABLE platform_memberships ADD COLUMN claim_roles text;

CREATE TABLE platform_passwords (
    user_id text PRIMARY KEY REFERENCES platform_users (id) ON DELETE CASCADE,
    -- bcrypt.
    hash text NOT NULL,
    set_at bigint NOT NULL
);

-- Addresses with which people set a new password, one for each person.
CREATE TABLE platform_resets (
    user_id text PRIMARY KEY REFERENCES platform_users (id) ON DELETE CASCADE,
    token_hash text NOT NULL UNIQUE,
    ends_at bigint NOT NULL
);
