CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE documents (id text PRIMARY KEY, title text, link text, content text, embedding vector(256));
INSERT INTO documents (id, title, link, content) VALUES
    ('wool', 'Wool', 'https://example.com/wool', 'Wool is washed by hand in cold water.'),
    ('ferns', 'Ferns', 'https://example.com/ferns', 'Ferns like shade and damp soil.');
