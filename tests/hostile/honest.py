"""Queries on the tables of `masked/tables.sql` that use no masked column in an expression."""

import random

# Columns without a mask by their kind, and columns with one.
TABLES = {
    "person": {"number": ["id"], "text": ["name", "region"], "date": ["born"]},
    "visit": {"number": ["id", "person"], "text": ["note"], "date": ["day"]},
    "note": {"number": ["id", "person", "amount"], "text": ["body", "ssn"], "date": []},
    "part": {"number": ["id"], "text": ["kind"], "date": []},
    "parent": {"number": ["id"], "text": [], "date": []},
    "hashed": {"number": ["id"], "text": [], "date": []},
    "shown": {"number": ["id"], "text": ["name"], "date": []},
    "kept": {"number": ["id"], "text": ["name"], "date": []},
}
MASKED = {
    "person": ["ssn", "email", "phone", "pin", "salary", "doc", "initial"],
    "visit": ["code", "score"],
    "part": ["ssn"],
    "parent": ["ssn"],
    "hashed": ["ssn"],
    "shown": ["number"],
    "kept": ["number"],
}
VALUES = {
    "number": ["1", "3", "7", "100", "(2 + 3)"],
    "text": ["'name3'", "'north'", "'note 7'", "'x'", "upper('a')"],
    "date": ["'1971-01-01'", "'2020-01-20'", "date '2020-02-02' + 3"],
}


class Maker:
    """Makes queries, the same ones for the same seed."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def table(self):
        return self.chance.choice(list(TABLES))

    def column(self, table, *kinds):
        kinds = [kind for kind in kinds or TABLES[table] if TABLES[table][kind]]
        kind = self.chance.choice(kinds)
        return kind, self.chance.choice(TABLES[table][kind])

    def condition(self, table, alias):
        kind, column = self.column(table)
        name, value = f"{alias}.{column}", self.chance.choice(VALUES[kind])
        other = self.table()
        forms = [
            f"{name} {self.chance.choice(['<', '>', '=', '<>', '<='])} {value}",
            f"{name} IN ({value}, {value})",
            f"{name} BETWEEN {value} AND {value}",
            f"{name} IS NOT NULL",
            f"NOT {name} = {value}",
            f"{alias}.id IN (SELECT id FROM {other} WHERE id > 2)",
            f"EXISTS (SELECT FROM {other} AS o WHERE o.id = {alias}.id)",
            f"{alias}.id > (SELECT avg(o.id) FROM {other} AS o)",
        ]
        if kind == "text":
            forms += [f"{name} LIKE 'n%'", f"length({name}) > 4", f"{name} ~ '^[a-n]'"]
        return self.chance.choice(forms)

    def where(self, table, alias):
        parts = [self.condition(table, alias) for _ in range(self.chance.randrange(3))]
        return f" WHERE {self.chance.choice([' AND ', ' OR ']).join(parts)}" if parts else ""

    def value(self, table, alias):
        kind, column = self.column(table)
        name = f"{alias}.{column}"
        forms = {
            "number": [name, f"{name} + 1", f"({name} % 3)", f"abs({name} - 5)"],
            "text": [name, f"upper({name})", f"left({name}, 3)", f"{name} || '!'"],
            "date": [name, f"extract(month FROM {name})", f"{name} + 1"],
        }
        return self.chance.choice(forms[kind])

    def aggregate(self, table, alias):
        _, column = self.column(table)
        _, number = self.column(table, "number")
        return self.chance.choice(
            [
                "count(*)",
                f"count(DISTINCT {alias}.{column})",
                f"max({alias}.{column})",
                f"sum({alias}.{number})",
                f"avg({alias}.{number})",
                f"array_agg({alias}.{number} ORDER BY {alias}.{number})",
                f"count(*) FILTER (WHERE {alias}.{number} > 3)",
            ]
        )

    def rows(self):
        """Rows, also with masked columns as they are."""
        table = self.table()
        columns = [self.value(table, "t") for _ in range(self.chance.randrange(1, 4))]
        masked = MASKED.get(table, [])
        columns += [f"t.{self.chance.choice(masked)}" for _ in range(2) if masked]
        self.chance.shuffle(columns)
        order = f" ORDER BY t.{self.column(table)[1]}, t.id" if self.chance.random() < 0.6 else ""
        limit = f" LIMIT {self.chance.randrange(1, 20)}" if self.chance.random() < 0.5 else ""
        return f"SELECT {', '.join(columns)} FROM {table} AS t{self.where(table, 't')}{order}{limit}"

    def joined(self):
        one, two = self.table(), self.table()
        kind = self.chance.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        columns = [self.value(one, "a"), self.value(two, "b")]
        if masked := MASKED.get(one):
            columns.append(f"a.{self.chance.choice(masked)}")
        limit = " ORDER BY a.id, b.id LIMIT 9" if self.chance.random() < 0.6 else ""
        return (
            f"SELECT {', '.join(columns)} FROM {one} AS a {kind} {two} AS b ON b.id = a.id"
            f"{self.where(one, 'a')}{limit}"
        )

    def grouped(self):
        table = self.table()
        key = self.value(table, "t")
        values = [self.aggregate(table, "t") for _ in range(self.chance.randrange(1, 3))]
        having = " HAVING count(*) > 1" if self.chance.random() < 0.3 else ""
        return (
            f"SELECT {key} AS k, {', '.join(values)} FROM {table} AS t{self.where(table, 't')}"
            f" GROUP BY {key}{having} ORDER BY 1 LIMIT 20"
        )

    def total(self):
        table = self.table()
        return f"SELECT {self.aggregate(table, 't')} FROM {table} AS t{self.where(table, 't')}"

    def window(self):
        table = self.table()
        _, number = self.column(table, "number")
        _, part = self.column(table)
        function = self.chance.choice(["row_number()", f"sum(t.{number})", f"lag(t.{number})"])
        parts = self.chance.choice(["", f"PARTITION BY t.{part} "])
        return (
            f"SELECT t.id, {function} OVER ({parts}ORDER BY t.{number}, t.id) AS w"
            f" FROM {table} AS t{self.where(table, 't')} LIMIT 12"
        )

    def united(self):
        one, two = self.table(), self.table()
        word = self.chance.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
        return (
            f"SELECT a.id FROM {one} AS a{self.where(one, 'a')} {word} SELECT b.id FROM {two} AS b"
            f"{self.where(two, 'b')} ORDER BY 1 LIMIT 15"
        )

    def nested(self):
        table = self.table()
        inner = f"SELECT t.id, {self.value(table, 't')} AS v FROM {table} AS t{self.where(table, 't')}"
        word = self.chance.choice(["", "MATERIALIZED ", "NOT MATERIALIZED "])
        return self.chance.choice(
            [
                f"WITH c AS {word}({inner}) SELECT count(*), max(v) FROM c WHERE id > 1",
                f"SELECT s.v, count(*) FROM ({inner} OFFSET 1) AS s GROUP BY s.v ORDER BY 1 LIMIT 9",
                f"SELECT DISTINCT s.v FROM ({inner}) AS s ORDER BY 1 LIMIT 9",
            ]
        )

    def query(self):
        forms = [self.rows, self.rows, self.joined, self.grouped, self.total, self.window]
        return self.chance.choice([*forms, self.united, self.nested])()


def made(count, seed=20_260_728):
    """Returns different queries, the same ones each time."""
    maker, found = Maker(seed), {}
    while len(found) < count:
        found[maker.query()] = None
    return list(found)
