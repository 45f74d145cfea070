CREATE TABLE ware (id int PRIMARY KEY, name text NOT NULL, price numeric(8, 2));
COMMENT ON TABLE ware IS 'What the shop sells';
INSERT INTO ware VALUES (1, 'kettle', 34.50), (2, 'Gießkanne', 12.00), (3, 'lamp', NULL);
