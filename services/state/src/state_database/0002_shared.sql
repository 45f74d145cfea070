-- Who has logged in. A token is kept as its digest.
CREATE TABLE ziggurat.sessions (
    token bytea PRIMARY KEY,
    username text COLLATE "C" NOT NULL,
    -- When the account was made, in seconds: another of the same name is another account.
    account_made bigint,
    -- In seconds as well.
    ends_at bigint NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The database the session uses, once it has selected one.
    selection text
);

CREATE INDEX sessions_username ON ziggurat.sessions (username, opened_at);
CREATE INDEX sessions_ends_at ON ziggurat.sessions (ends_at);

-- Logins that failed, by the address they came from.
CREATE TABLE ziggurat.failed_logins (
    address text COLLATE "C" PRIMARY KEY,
    failures bigint NOT NULL,
    ends_at timestamptz NOT NULL
);

CREATE INDEX failed_logins_ends_at ON ziggurat.failed_logins (ends_at);

-- Logins that failed, by the account they were for, since the last that did not.
CREATE TABLE ziggurat.failed_accounts (
    username text COLLATE "C" PRIMARY KEY,
    account_made bigint,
    failures bigint NOT NULL,
    is_locked boolean NOT NULL
);
