-- The same for SQLite and for PostgreSQL. Wrong passwords in a window of time, by the address they
-- come from and by the person they are for.
CREATE TABLE platform_failures (
    of_whom text PRIMARY KEY,
    failures bigint NOT NULL,
    ends_at bigint NOT NULL
);

CREATE INDEX platform_failures_ends_at ON platform_failures (ends_at);
