-- The role of ziggurat-tools in the database shop: it reads the tables of the schema public.
\set password `cat /secrets/administrator/reader`
CREATE ROLE reader LOGIN PASSWORD :'password'
    NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 20;
GRANT CONNECT ON DATABASE shop TO reader;
GRANT USAGE ON SCHEMA public TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
-- Tables that the same superuser creates later.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader;
-- Nothing to write to: not a table of its own, not a temporary one.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
REVOKE TEMPORARY ON DATABASE shop FROM PUBLIC;
-- A query may spill to the disk, up to here.
ALTER ROLE reader SET temp_file_limit = '1GB';
-- For connections with this role that do not go through the server.
ALTER ROLE reader SET default_transaction_read_only = on;
