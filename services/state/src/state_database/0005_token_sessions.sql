-- The API token that was exchanged for a session, as its digest. Such a session is not of a user.
ALTER TABLE ziggurat.sessions ADD COLUMN api_token bytea;
