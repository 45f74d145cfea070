-- Queries and prompts of users.
CREATE TABLE library (
    id TEXT PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    database TEXT,
    -- A list in JSON.
    tags TEXT NOT NULL,
    -- 1 if other users may read it.
    shared INTEGER NOT NULL,
    version INTEGER NOT NULL,
    updated_at TEXT NOT NULL,
    text TEXT NOT NULL
);

CREATE INDEX library_owner ON library (owner, updated_at DESC, id DESC);
CREATE INDEX library_shared ON library (updated_at DESC, id DESC) WHERE shared = 1;
