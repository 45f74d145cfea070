CREATE TYPE order_status AS ENUM ('open', 'paid', 'cancelled');
CREATE TABLE customers (id bigint PRIMARY KEY, name text NOT NULL, code varchar(8));
CREATE TABLE orders (
    id integer PRIMARY KEY,
    reference uuid NOT NULL,
    customer bigint REFERENCES customers,
    placed_at timestamptz NOT NULL,
    shipped_on date,
    total numeric NOT NULL,
    weight double precision,
    status order_status NOT NULL DEFAULT 'open',
    tags text[] NOT NULL DEFAULT '{}',
    attributes jsonb NOT NULL DEFAULT '{}'
);
INSERT INTO customers VALUES (7, 'Ada', 'A7'), (8, 'Bert', 'B8');
INSERT INTO orders VALUES
    (1, '0199a5f0-0001-7000-8000-000000000001', 7, '2026-01-31 09:00Z', '2026-02-01', 19.90, 1.5,
     'paid', '{gift,red}', '{"colour": "red"}'),
    (2, '0199a5f0-0002-7000-8000-000000000002', 7, '2026-01-31 10:30Z', NULL, 5.00, 0.2, 'open',
     '{blue}', '{"colour": "blue"}'),
    (3, '0199a5f0-0003-7000-8000-000000000003', 8, '2026-02-01 12:00Z', NULL, 42.00, 12, 'open',
     '{gift}', '{}');
CREATE FUNCTION notes() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM orders';
