CREATE EXTENSION IF NOT EXISTS vector;

CREATE TYPE category AS ENUM ('kitchen', 'garden', 'study', 'outdoors');
CREATE TYPE order_state AS ENUM ('paid', 'shipped', 'delivered', 'cancelled');

CREATE TABLE customers (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL UNIQUE,
    city text NOT NULL,
    country char(2) NOT NULL,
    joined_on date NOT NULL
);
COMMENT ON TABLE customers IS 'People who have bought something';
COMMENT ON COLUMN customers.country IS 'ISO 3166-1 code of two letters';

CREATE TABLE products (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    category category NOT NULL,
    price numeric(8, 2) NOT NULL CHECK (price > 0),
    in_stock int NOT NULL CHECK (in_stock >= 0)
);
COMMENT ON TABLE products IS 'What the shop sells';
COMMENT ON COLUMN products.price IS 'Price today, in euros';

CREATE TABLE orders (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id int NOT NULL REFERENCES customers,
    ordered_at timestamptz NOT NULL,
    state order_state NOT NULL
);
CREATE INDEX ON orders (customer_id);
CREATE INDEX ON orders (ordered_at);
COMMENT ON TABLE orders IS 'One row per purchase';

CREATE TABLE order_items (
    order_id int NOT NULL REFERENCES orders,
    product_id int NOT NULL REFERENCES products,
    quantity int NOT NULL CHECK (quantity > 0),
    unit_price numeric(8, 2) NOT NULL,
    PRIMARY KEY (order_id, product_id)
);
COMMENT ON TABLE order_items IS 'What was in each order';
COMMENT ON COLUMN order_items.unit_price IS 'Price at the time of the order, in euros';

CREATE VIEW revenue_by_month AS
SELECT date_trunc('month', ordered_at AT TIME ZONE 'UTC')::date AS month,
       count(DISTINCT orders.id) AS orders,
       sum(quantity * unit_price) AS revenue
FROM orders JOIN order_items ON order_id = orders.id
WHERE state <> 'cancelled'
GROUP BY 1;
COMMENT ON VIEW revenue_by_month IS 'Orders and revenue in euros, without cancelled orders';

CREATE TABLE handbook (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    section text NOT NULL,
    title text NOT NULL UNIQUE,
    body text NOT NULL,
    embedding vector(256) NOT NULL
);
CREATE INDEX handbook_embedding ON handbook USING hnsw (embedding vector_cosine_ops);
CREATE INDEX handbook_words ON handbook USING gin (to_tsvector('english', title || ' ' || body));
COMMENT ON TABLE handbook IS 'What the shop tells its customers: returns, shipping, payment, care';
COMMENT ON COLUMN handbook.section IS 'Returns, Shipping, Payment, Care, Growing or The shop';
COMMENT ON COLUMN handbook.body IS 'The answer, in two or three sentences';
COMMENT ON COLUMN handbook.embedding IS 'Hashed words of title and body, of length 1; compare with <=>';
