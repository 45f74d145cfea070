-- Id of the account that a row belongs to. Rows of before have none: their accounts have their names
-- as ids.
ALTER TABLE conversations ADD COLUMN account TEXT;
ALTER TABLE library ADD COLUMN account TEXT;
-- Title and text in lower case, for searches. Rows of before get it when they are changed.
ALTER TABLE library ADD COLUMN searched TEXT;

DROP INDEX conversations_username;
DROP INDEX library_owner;
CREATE INDEX conversations_account
    ON conversations (coalesce(account, username), updated_at DESC, id DESC);
CREATE INDEX library_account ON library (coalesce(account, owner), updated_at DESC, id DESC);
