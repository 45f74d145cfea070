-- The grant of a sign-in with a browser that a session was opened for, and the moment of that sign-in.
ALTER TABLE ziggurat.sessions ADD COLUMN grant_id bytea;
ALTER TABLE ziggurat.sessions ADD COLUMN signed_in_at bigint;
