-- Confirmations that were acted upon, until nobody could show them any more.
CREATE TABLE ziggurat.spent (
    ticket bytea PRIMARY KEY,
    ends_at timestamptz NOT NULL
);

CREATE INDEX spent_ends_at ON ziggurat.spent (ends_at);
