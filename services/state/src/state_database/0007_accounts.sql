-- Id of the account that a row belongs to. Rows of before have none: their accounts have their names
-- as ids.
ALTER TABLE ziggurat.sessions ADD COLUMN account text COLLATE "C";
ALTER TABLE ziggurat.conversations ADD COLUMN account text COLLATE "C";
ALTER TABLE ziggurat.library ADD COLUMN account text COLLATE "C";
-- Title and text in lower case, for searches. Rows of before get it when they are changed.
ALTER TABLE ziggurat.library ADD COLUMN searched text;

DROP INDEX ziggurat.conversations_username;
DROP INDEX ziggurat.library_owner;
CREATE INDEX conversations_account
    ON ziggurat.conversations (coalesce(account, username), updated_at DESC, id DESC);
CREATE INDEX library_account
    ON ziggurat.library (coalesce(account, owner), updated_at DESC, id DESC);
