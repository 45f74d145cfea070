-- Queries and prompts of users.
CREATE TABLE ziggurat.library (
    id text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    title text NOT NULL,
    database text,
    -- A list in JSON.
    tags text NOT NULL,
    -- 1 if other users may read it.
    shared bigint NOT NULL,
    version bigint NOT NULL,
    updated_at text COLLATE "C" NOT NULL,
    text text NOT NULL
);

CREATE INDEX library_owner ON ziggurat.library (owner, updated_at DESC, id DESC);
CREATE INDEX library_shared ON ziggurat.library (updated_at DESC, id DESC) WHERE shared = 1;
