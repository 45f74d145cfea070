-- Rows and bytes that callers were sent, by the replica that sent them.
CREATE TABLE ziggurat.usage (
    -- Days since 1970, in UTC.
    day bigint NOT NULL,
    -- A digest of the kind and the name of the caller.
    caller bytea NOT NULL,
    -- A random number of the process, new on each day.
    replica bytea NOT NULL,
    -- Totals of the day.
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    -- The last transaction that changed the totals.
    written xid8 NOT NULL DEFAULT pg_catalog.pg_current_xact_id(),
    PRIMARY KEY (day, caller, replica)
);

CREATE INDEX usage_written ON ziggurat.usage (written);
