DROP TRIGGER note_child ON child;
DROP TRIGGER note_leaf ON leaf;
ALTER TABLE loose ADD id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
ALTER TABLE audit ADD id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY;

CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree, label text UNIQUE);
INSERT INTO tree VALUES (1, NULL, 'one'), (2, 1, 'two'), (3, 1, 'three'), (4, 3, 'four');

CREATE SCHEMA elsewhere;
CREATE TYPE elsewhere."Mood" AS ENUM ('so so', 'good');
CREATE DOMAIN elsewhere.positive AS int CHECK (value > 0);
CREATE TYPE pair AS (a int, b text);
CREATE TABLE valued (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    label text,
    short character(4) DEFAULT 'ab',
    long character varying(20) DEFAULT ' spaces ',
    tiny "char" DEFAULT 'c',
    exact numeric(12, 3) DEFAULT 1.5,
    open numeric DEFAULT 'NaN',
    single real DEFAULT 0.1,
    twice double precision DEFAULT 1e-300 / 3,
    money money DEFAULT 1234.5,
    truth boolean DEFAULT false,
    day date DEFAULT '0044-03-15 BC',
    moment timestamptz DEFAULT '2024-10-27 02:30:00.123456+02',
    plain timestamp(3) DEFAULT 'infinity',
    clock timetz DEFAULT '12:00:00+05:30',
    span interval DEFAULT '-1 mon +2 days -00:00:01.5',
    bytes bytea DEFAULT '\x00ff5c27',
    data json DEFAULT '{"b" : 1, "b":2}',
    tree jsonb DEFAULT '{"a": [1, null, "\\"]}',
    list text[] DEFAULT '{"a,b",NULL,"NULL","\"q\""}',
    grid int[] DEFAULT '[0:1][2:3]={{1,2},{3,4}}',
    mood elsewhere."Mood" DEFAULT 'so so',
    moods elsewhere."Mood"[] DEFAULT '{"so so"}',
    counted elsewhere.positive DEFAULT 7,
    both_parts pair DEFAULT '(1,"x, \"y\"")',
    key uuid DEFAULT '00000000-0000-0000-0000-0000000000ff',
    address inet DEFAULT '10.0.0.1/8',
    bits bit(3) DEFAULT B'101',
    flags bit varying DEFAULT B'1',
    spot point DEFAULT '(0.1,-0)',
    during tstzrange DEFAULT '[2024-01-01,)',
    words tsvector DEFAULT 'a:1 ''b c'':2A',
    doubled text GENERATED ALWAYS AS (label || label) STORED
);
INSERT INTO valued (label) VALUES ('plain'), (''), (NULL), (E'tab\t new\nline ''quoted'' \\ "double"');
CREATE TABLE "Odd ""table" ("a b" int, "T" text, PRIMARY KEY ("T"));
INSERT INTO "Odd ""table" VALUES (1, 'x.y');
