-- Calls of callers that replicas lease, so that they keep a limit together.
CREATE TABLE ziggurat.calls (
    -- A digest of the kind and the name of the caller.
    caller bytea PRIMARY KEY,
    -- Seconds since 1970 at which all calls of the window are available again.
    full_at double precision NOT NULL,
    -- Calls granted by the last statement that changed the row.
    granted integer NOT NULL
);

CREATE INDEX calls_full_at ON ziggurat.calls (full_at);
