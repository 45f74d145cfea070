CREATE TABLE parent (id int PRIMARY KEY, name text, doubled int GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE child (
    id int PRIMARY KEY,
    parent_id int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE,
    note text
);
CREATE TABLE leaf (
    id int PRIMARY KEY,
    child_id int REFERENCES child ON DELETE SET NULL ON UPDATE CASCADE,
    note text
);
CREATE TABLE part (region text, id int, note text, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a');
-- Its columns have another order.
CREATE TABLE part_b (note text, id int NOT NULL, region text NOT NULL);
ALTER TABLE part ATTACH PARTITION part_b FOR VALUES IN ('b');
CREATE TABLE loose (a int, b text, c text);
CREATE TABLE audit (tab text, op text, what text);
CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text);
CREATE TABLE line (id serial PRIMARY KEY, ord bigint REFERENCES orders, at timestamptz);
CREATE TABLE keyed (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), note text);

INSERT INTO parent (id, name) SELECT n, 'parent ' || n FROM generate_series(1, 60) AS n;
INSERT INTO child SELECT n, 1 + n % 60, 'child ' || n FROM generate_series(1, 180) AS n;
INSERT INTO leaf SELECT n, 1 + n % 180, repeat('leaf ' || n, 1 + n % 400) FROM generate_series(1, 400) AS n;
INSERT INTO part SELECT CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END, n, 'part ' || n FROM generate_series(1, 80) AS n;
INSERT INTO loose SELECT n % 7, 'b' || n % 3, NULL FROM generate_series(1, 100) AS n;
INSERT INTO orders (customer) VALUES ('first');

CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit VALUES (tg_table_name, tg_op, coalesce(new.note, old.note));
    RETURN NULL;
END $$;
CREATE TRIGGER note_child AFTER UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION note_change();
CREATE CONSTRAINT TRIGGER note_leaf AFTER UPDATE ON leaf DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION note_change();

-- A subtransaction for each row, of which each third is undone.
CREATE FUNCTION divided(low int, high int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN low..high LOOP
        BEGIN
            UPDATE child SET note = note || '!' WHERE id = n;
            DELETE FROM leaf WHERE child_id = n AND id % 2 = 0;
            IF n % 3 = 0 THEN RAISE EXCEPTION 'undone'; END IF;
        EXCEPTION WHEN raise_exception THEN
            INSERT INTO loose VALUES (n, 'undone', NULL);
        END;
    END LOOP;
END $$;

CREATE FUNCTION there_and_back(n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO loose VALUES (n, 'there', NULL);
    UPDATE loose SET c = 'changed' WHERE b = 'there';
    DELETE FROM loose WHERE b = 'there';
    UPDATE parent SET name = name || '?' WHERE id = n;
    UPDATE parent SET name = rtrim(name, '?') WHERE id = n;
    UPDATE parent SET name = name || '.' WHERE id = n + 1;
    UPDATE parent SET name = name || '.' WHERE id = n + 1;
END $$;

CREATE VIEW shown AS SELECT id, name FROM parent;
CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE parent SET name = new.name WHERE id = old.id;
    INSERT INTO audit VALUES ('shown', 'instead', new.name);
    RETURN new;
END $$;
CREATE TRIGGER instead INSTEAD OF UPDATE ON shown FOR EACH ROW EXECUTE FUNCTION instead();
CREATE VIEW ruled AS SELECT a, b FROM loose;
CREATE RULE ruled AS ON DELETE TO ruled DO INSTEAD UPDATE loose SET c = 'deleted' WHERE a = old.a AND b = old.b;

CREATE FUNCTION defines() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE made (a int); END $$;
CREATE FUNCTION empties() RETURNS void LANGUAGE plpgsql AS $$ BEGIN TRUNCATE loose; END $$;
