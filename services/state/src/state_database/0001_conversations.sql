CREATE TABLE ziggurat.conversations (
    id text COLLATE "C" PRIMARY KEY,
    username text COLLATE "C" NOT NULL,
    title text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    connection text NOT NULL,
    preview text NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    updated_at text COLLATE "C" NOT NULL,
    messages text NOT NULL
);

CREATE INDEX conversations_username
    ON ziggurat.conversations (username, updated_at DESC, id DESC);
