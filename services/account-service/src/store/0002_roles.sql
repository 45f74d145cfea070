-- The same for SQLite and for PostgreSQL. Clients of before could do everything, and still can.
ALTER TABLE platform_clients ADD COLUMN role text NOT NULL DEFAULT 'admin'
    CHECK (role IN ('admin', 'reader'));
