//! A shop: products, customers, orders, invoices. Every relation has comments and foreign keys.

use super::Database;

/// Returns the database.
pub(super) fn database() -> Database {
    Database {
        scripts: vec![CATALOG.to_owned(), SALES.to_owned(), ROWS.to_owned()],
        ..Database::new("shop", include_str!("../../questions/shop.yaml"))
    }
}

const CATALOG: &str = "
CREATE SCHEMA catalog;
COMMENT ON SCHEMA catalog IS 'Products, stock and suppliers';
CREATE TYPE catalog.availability AS ENUM ('in_stock', 'backorder', 'discontinued');
COMMENT ON TYPE catalog.availability IS 'Whether a product can be ordered';

CREATE TABLE catalog.category (
    id int PRIMARY KEY,
    name text NOT NULL UNIQUE,
    parent_id int REFERENCES catalog.category
);
COMMENT ON TABLE catalog.category IS 'Tree of product categories';
COMMENT ON COLUMN catalog.category.parent_id IS 'The category above; null for the top ones';

CREATE TABLE catalog.brand (
    id int PRIMARY KEY,
    name text NOT NULL,
    country_code char(2) NOT NULL
);
COMMENT ON TABLE catalog.brand IS 'Makers of products';

CREATE TABLE catalog.product (
    id int PRIMARY KEY,
    sku text NOT NULL UNIQUE,
    name text NOT NULL,
    brand_id int NOT NULL REFERENCES catalog.brand,
    category_id int NOT NULL REFERENCES catalog.category,
    price numeric(10, 2) NOT NULL CHECK (price >= 0),
    weight_grams int,
    availability catalog.availability NOT NULL DEFAULT 'in_stock',
    tags text[] NOT NULL DEFAULT '{}',
    attributes jsonb NOT NULL DEFAULT '{}',
    listed_on date NOT NULL
);
COMMENT ON TABLE catalog.product IS 'Articles for sale';
COMMENT ON COLUMN catalog.product.price IS 'List price in euros with tax';
COMMENT ON COLUMN catalog.product.tags IS 'Marketing labels such as new, eco, sale';
COMMENT ON COLUMN catalog.product.attributes IS 'Free attributes as JSON: color, material, size';
COMMENT ON COLUMN catalog.product.listed_on IS 'Day on which it was added to the shop';
CREATE INDEX product_tags ON catalog.product USING gin (tags);

CREATE TABLE catalog.warehouse (
    id int PRIMARY KEY,
    name text NOT NULL,
    city text NOT NULL
);
CREATE TABLE catalog.stock_level (
    warehouse_id int REFERENCES catalog.warehouse,
    product_id int REFERENCES catalog.product,
    on_hand int NOT NULL CHECK (on_hand >= 0),
    reserved int NOT NULL DEFAULT 0,
    reorder_point int NOT NULL,
    PRIMARY KEY (warehouse_id, product_id)
);
COMMENT ON TABLE catalog.stock_level IS 'Pieces of each product in each warehouse';
COMMENT ON COLUMN catalog.stock_level.reorder_point IS 'Order more when fewer are on hand';

CREATE TABLE catalog.supplier (
    id int PRIMARY KEY,
    name text NOT NULL,
    contact_email text
);
COMMENT ON TABLE catalog.supplier IS 'Companies we buy from';
CREATE TABLE catalog.product_supplier (
    product_id int REFERENCES catalog.product,
    supplier_id int REFERENCES catalog.supplier,
    purchase_price numeric(10, 2) NOT NULL,
    lead_time_days int NOT NULL,
    PRIMARY KEY (product_id, supplier_id)
);
COMMENT ON TABLE catalog.product_supplier IS 'Who supplies a product, at which price';
";

const SALES: &str = "
CREATE SCHEMA sales;
CREATE SCHEMA billing;
COMMENT ON SCHEMA sales IS 'Customers and orders';
COMMENT ON SCHEMA billing IS 'Invoices and payments';
CREATE TYPE sales.order_status AS ENUM
    ('open', 'paid', 'packed', 'shipped', 'delivered', 'cancelled', 'returned');
CREATE TYPE billing.payment_method AS ENUM ('card', 'paypal', 'bank_transfer', 'gift_card');

CREATE TABLE sales.customer (
    id int PRIMARY KEY,
    email text NOT NULL UNIQUE,
    first_name text NOT NULL,
    last_name text NOT NULL,
    birth_date date,
    newsletter boolean NOT NULL DEFAULT false,
    loyalty_tier text NOT NULL CHECK (loyalty_tier IN ('bronze', 'silver', 'gold')),
    registered_at timestamptz NOT NULL
);
COMMENT ON TABLE sales.customer IS 'People with an account in the shop';
COMMENT ON COLUMN sales.customer.newsletter IS 'True if they subscribed to the newsletter';

CREATE TABLE sales.customer_address (
    id int PRIMARY KEY,
    customer_id int NOT NULL REFERENCES sales.customer,
    kind text NOT NULL CHECK (kind IN ('billing', 'shipping')),
    street text NOT NULL,
    city text NOT NULL,
    postcode text NOT NULL,
    country_code char(2) NOT NULL
);
CREATE TABLE sales.coupon (
    id int PRIMARY KEY,
    code text NOT NULL UNIQUE,
    percent_off int NOT NULL CHECK (percent_off BETWEEN 1 AND 90),
    valid_from date NOT NULL,
    valid_until date NOT NULL
);
COMMENT ON TABLE sales.coupon IS 'Voucher codes that lower the price of an order';

CREATE TABLE sales.orders (
    id int PRIMARY KEY,
    customer_id int NOT NULL REFERENCES sales.customer,
    status sales.order_status NOT NULL,
    ordered_at timestamptz NOT NULL,
    shipping_address_id int NOT NULL REFERENCES sales.customer_address,
    coupon_id int REFERENCES sales.coupon,
    shipping_fee numeric(6, 2) NOT NULL DEFAULT 0
);
COMMENT ON TABLE sales.orders IS 'One row per order';
COMMENT ON COLUMN sales.orders.shipping_fee IS 'What the customer pays for delivery, in euros';
CREATE INDEX orders_customer ON sales.orders (customer_id, ordered_at);

CREATE TABLE sales.order_item (
    order_id int REFERENCES sales.orders,
    line_no int CHECK (line_no > 0),
    product_id int NOT NULL REFERENCES catalog.product,
    quantity int NOT NULL CHECK (quantity > 0),
    unit_price numeric(10, 2) NOT NULL,
    discount_percent int NOT NULL DEFAULT 0,
    PRIMARY KEY (order_id, line_no)
);
COMMENT ON TABLE sales.order_item IS 'Lines of an order';
COMMENT ON COLUMN sales.order_item.unit_price IS 'Price of one piece when it was ordered';

CREATE TABLE sales.shipment (
    id int PRIMARY KEY,
    order_id int NOT NULL REFERENCES sales.orders,
    carrier text NOT NULL CHECK (carrier IN ('DHL', 'UPS', 'POST')),
    tracking_code text,
    shipped_at timestamptz NOT NULL,
    delivered_at timestamptz
);
COMMENT ON TABLE sales.shipment IS 'Parcels on their way to a customer';

CREATE TABLE sales.return_request (
    id int PRIMARY KEY,
    order_id int NOT NULL,
    line_no int NOT NULL,
    reason text NOT NULL CHECK (reason IN ('damaged', 'wrong_item', 'not_as_described', 'regret')),
    requested_on date NOT NULL,
    FOREIGN KEY (order_id, line_no) REFERENCES sales.order_item (order_id, line_no)
);
COMMENT ON TABLE sales.return_request IS 'Lines of orders that customers send back';

CREATE TABLE catalog.product_review (
    id int PRIMARY KEY,
    product_id int NOT NULL REFERENCES catalog.product,
    customer_id int NOT NULL REFERENCES sales.customer,
    rating int NOT NULL CHECK (rating BETWEEN 1 AND 5),
    body text,
    written_at timestamptz NOT NULL
);
COMMENT ON COLUMN catalog.product_review.rating IS 'Stars, 5 is best';

CREATE TABLE billing.invoice (
    id int PRIMARY KEY,
    order_id int NOT NULL UNIQUE REFERENCES sales.orders,
    number text NOT NULL UNIQUE,
    issued_on date NOT NULL,
    due_on date NOT NULL,
    total numeric(12, 2) NOT NULL
);
CREATE TABLE billing.payment (
    id int PRIMARY KEY,
    invoice_id int NOT NULL REFERENCES billing.invoice,
    method billing.payment_method NOT NULL,
    amount numeric(12, 2) NOT NULL,
    paid_at timestamptz NOT NULL,
    is_refund boolean NOT NULL DEFAULT false
);
COMMENT ON COLUMN billing.payment.amount IS 'Euros; positive for refunds, too';

CREATE VIEW billing.overdue_invoice AS
    SELECT i.id, i.number, i.due_on, i.total, i.order_id
    FROM billing.invoice i LEFT JOIN billing.payment p ON p.invoice_id = i.id
    WHERE p.id IS NULL AND i.due_on < date '2024-12-31';
COMMENT ON VIEW billing.overdue_invoice IS 'Invoices past their due date without any payment';
CREATE MATERIALIZED VIEW sales.monthly_revenue AS
    SELECT date_trunc('month', o.ordered_at)::date AS month,
           sum(i.quantity * i.unit_price) AS revenue, count(DISTINCT o.id) AS orders
    FROM sales.orders o JOIN sales.order_item i ON i.order_id = o.id
    WHERE o.status <> 'cancelled' GROUP BY 1 WITH NO DATA;
COMMENT ON MATERIALIZED VIEW sales.monthly_revenue IS 'Revenue by month without cancelled orders';
";

const ROWS: &str = "
INSERT INTO catalog.category VALUES (1, 'Home', NULL), (2, 'Garden', NULL), (3, 'Kitchen', 1),
    (4, 'Lighting', 1), (5, 'Tools', 2), (6, 'Outdoor furniture', 2), (7, 'Cookware', 3);
INSERT INTO catalog.brand VALUES (1, 'Norra', 'SE'), (2, 'Lumo', 'DE'), (3, 'Casa Bella', 'IT'),
    (4, 'Greenfield', 'NL');
INSERT INTO catalog.product
    SELECT n, 'SKU-' || lpad(n::text, 4, '0'), (ARRAY['Lamp', 'Pan', 'Spade', 'Chair'])[n % 4 + 1]
        || ' ' || n, n % 4 + 1, n % 7 + 1, 9.9 + n * 3, 200 + n * 10,
        (ARRAY['in_stock', 'in_stock', 'backorder', 'discontinued'])[n % 4 + 1]::catalog.availability,
        CASE n % 3 WHEN 0 THEN ARRAY['eco', 'new'] WHEN 1 THEN ARRAY['sale'] ELSE '{}'::text[] END,
        jsonb_build_object('color', (ARRAY['red', 'black', 'white'])[n % 3 + 1], 'size', n % 5),
        date '2023-01-01' + n * 9
    FROM generate_series(1, 60) n;
INSERT INTO catalog.warehouse VALUES (1, 'North hub', 'Hamburg'), (2, 'South hub', 'Munich');
INSERT INTO catalog.stock_level
    SELECT w, p, p % 30, p % 4, 10 FROM generate_series(1, 2) w, generate_series(1, 60) p;
INSERT INTO catalog.supplier VALUES (1, 'Bergmann Trading', 'sales@bergmann.example'),
    (2, 'Ostsee Import', 'info@ostsee.example'), (3, 'Villa Foods', NULL);
INSERT INTO catalog.product_supplier
    SELECT p, p % 3 + 1, p * 1.5 + 4, 3 + p % 20 FROM generate_series(1, 60) p;
INSERT INTO sales.customer
    SELECT n, 'c' || n || '@mail.example', (ARRAY['Ada', 'Ben', 'Cleo', 'Dan', 'Eva'])[n % 5 + 1],
        (ARRAY['Meyer', 'Novak', 'Rossi', 'Smith'])[n % 4 + 1], date '1960-01-01' + n * 300,
        n % 2 = 0, (ARRAY['bronze', 'bronze', 'silver', 'gold'])[n % 4 + 1],
        timestamptz '2023-01-05 10:00+00' + n * interval '9 days'
    FROM generate_series(1, 50) n;
INSERT INTO sales.customer_address
    SELECT n, (n + 1) / 2, (ARRAY['billing', 'shipping'])[n % 2 + 1], 'Street ' || n,
        (ARRAY['Berlin', 'Rome', 'Paris', 'Vienna'])[n % 4 + 1], (10000 + n)::text,
        (ARRAY['DE', 'IT', 'FR', 'AT'])[n % 4 + 1]
    FROM generate_series(1, 100) n;
INSERT INTO sales.coupon VALUES (1, 'SPRING10', 10, '2024-03-01', '2024-05-31'),
    (2, 'SUMMER20', 20, '2024-06-01', '2024-08-31'), (3, 'WELCOME', 5, '2023-01-01', '2025-12-31');
INSERT INTO sales.orders
    SELECT n, n % 50 + 1, (ARRAY['open', 'paid', 'packed', 'shipped', 'delivered', 'delivered',
        'cancelled', 'returned'])[n % 8 + 1]::sales.order_status,
        timestamptz '2024-01-01 08:00+00' + n * interval '29 hours', (n % 50 + 1) * 2 - n % 2,
        CASE WHEN n % 5 = 0 THEN n % 3 + 1 END, n % 3 * 2.5
    FROM generate_series(1, 300) n;
INSERT INTO sales.order_item
    SELECT o, l, (o * 7 + l * 11) % 60 + 1, (o + l) % 4 + 1, 10 + (o * l) % 90, (o % 4) * 5
    FROM generate_series(1, 300) o, generate_series(1, 3) l WHERE (o + l) % 3 > 0;
INSERT INTO sales.shipment
    SELECT n, n, (ARRAY['DHL', 'UPS', 'POST'])[n % 3 + 1], 'TR' || n,
        timestamptz '2024-01-02 08:00+00' + n * interval '30 hours',
        CASE WHEN n % 4 > 0 THEN timestamptz '2024-01-04 08:00+00' + n * interval '30 hours' END
    FROM generate_series(3, 300, 2) n;
INSERT INTO sales.return_request
    SELECT row_number() OVER (ORDER BY order_id, line_no), order_id, line_no,
        (ARRAY['damaged', 'wrong_item', 'not_as_described', 'regret'])[order_id % 4 + 1],
        date '2024-02-01' + order_id
    FROM sales.order_item WHERE order_id % 7 = 0;
INSERT INTO catalog.product_review
    SELECT n, n % 60 + 1, n % 50 + 1, n % 5 + 1, 'Review ' || n,
        timestamptz '2024-02-01 12:00+00' + n * interval '2 days'
    FROM generate_series(1, 120) n;
INSERT INTO billing.invoice
    SELECT n, n, 'INV-' || n, date '2024-01-03' + n, date '2024-01-17' + n, 40 + n
    FROM generate_series(1, 250) n;
INSERT INTO billing.payment
    SELECT n, n, (ARRAY['card', 'paypal', 'bank_transfer', 'gift_card'])[n % 4 + 1]
        ::billing.payment_method, 40 + n, timestamptz '2024-01-10 09:00+00' + n * interval '1 day',
        n % 11 = 0
    FROM generate_series(1, 220) n;
REFRESH MATERIALIZED VIEW sales.monthly_revenue;
";
