-- The database of ziggurat-rag, with a role that owns its tables.
\set password `cat /secrets/administrator/librarian`
CREATE ROLE librarian LOGIN PASSWORD :'password' CONNECTION LIMIT 40;
CREATE DATABASE docs OWNER librarian;
\connect docs
CREATE EXTENSION vector;
