-- What lists show stands before the messages, which may be megabytes.
CREATE TABLE conversations (
    id TEXT PRIMARY KEY NOT NULL,
    username TEXT NOT NULL,
    title TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    connection TEXT NOT NULL,
    preview TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    messages TEXT NOT NULL
);

CREATE INDEX conversations_username ON conversations (username, updated_at DESC, id DESC);
CREATE INDEX conversations_updated_at ON conversations (updated_at);
