"""A database of tenants, and callers with a role and a setting each."""

import hashlib
import json
import subprocess
from contextlib import contextmanager

from another_program import connect
from callers import entry

# The rows of a tenant are found by its role and by its setting.
TABLES = """
CREATE TABLE orders (owner name, tenant text);
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON orders USING (owner = current_user
    AND tenant = nullif(current_setting('app.tenant', true), ''));
GRANT SELECT ON orders TO PUBLIC;
"""
STRICT = "REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;"
# One line: the role, the setting, and the rows.
WHO = (
    "SELECT current_user || ' ' || current_setting('app.tenant') || ' ' || "
    "(SELECT string_agg(owner || '/' || tenant, ',') FROM orders) AS who"
)

# The ways in which a database knows its callers, and which rows each of them shows.
MODES = {
    "connect_as": "owner = current_user",
    "set_role": "owner = current_user",
    "settings": "tenant = nullif(current_setting('app.tenant', true), '')",
    "sealed": "tenant = (SELECT ziggurat.claim('app.tenant'))",
}
# Modes that nothing in the database can break. The others need guards, and no function that runs texts.
FIRM = {"connect_as", "sealed"}
# The tables of each mode: one that callers may write to, and one with a row for each tenant.
MARKED = """
CREATE TABLE {table} (id int, owner name, tenant text, secret text);
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON {table} USING ({shows});
"""
OBJECTS = """
GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO PUBLIC;
GRANT SELECT ON marks TO PUBLIC;
CREATE VIEW fixed AS SELECT 1 AS one; GRANT SELECT ON fixed TO PUBLIC;
CREATE FUNCTION timed() RETURNS int LANGUAGE sql SET statement_timeout = '9s' AS 'SELECT 1';
"""
# What an operator should not have: they run any text.
CARELESS = """
CREATE FUNCTION run(sql text) RETURNS text LANGUAGE plpgsql AS
    'DECLARE result text; BEGIN EXECUTE sql INTO result; RETURN result; END';
CREATE FUNCTION do_all(sql text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE sql; END';
CREATE PROCEDURE commits(sql text) LANGUAGE plpgsql AS 'BEGIN COMMIT; EXECUTE sql; COMMIT; END';
"""
MARKS = "SELECT string_agg(secret, ',') AS seen FROM public.marks"


class Tenants:
    """Tenants with names of their own, since all databases of a server share roles."""

    def __init__(self, variables, count):
        mark = variables["PGDATABASE"]
        self.login = variables | {"PGUSER": f"{mark}_login", "PGPASSWORD": "secret"}
        self.roles = [f"{mark}_{number}" for number in range(count)]
        self.tokens = [f"token-of-tenant-{number}" for number in range(count)]

    def who(self, number):
        """The only line that a tenant may ever see."""
        role, tenant = self.roles[number], f"t{number}"
        return f"{role} {tenant} {role}/{tenant}"

    def entry(self, name, variables, mode=None, folder=None, **more):
        """A database that knows its callers, from the variables of a PostgreSQL client."""
        rule = {"claim": "role", "match": "^[a-z0-9_]+$", "role": "{}"}
        settings = [{"name": "app.tenant", "from": {"claim": "tenant"}}]
        identity = {"mode": "set_role", "roles": [rule], "settings": settings}
        if mode == "connect_as":
            identity = {"mode": mode, "roles": [rule], "credentials": str(folder)}
        elif mode == "set_role":
            identity = {"mode": mode, "roles": [rule]}
        elif mode == "settings":
            identity = {"settings": settings}
        elif mode == "sealed":
            identity = {"settings": settings, "seal_key_file": str(folder / "seal.key")}
        return entry(name, variables, identity=identity, **more)

    def records(self, database=None):
        """The records of the tokens, for one database or for the first of a server."""
        for number, token in enumerate(self.tokens):
            digest = hashlib.sha256(token.encode()).hexdigest()
            record = {"id": f"{self.roles[number]}", "hash": digest}
            record |= {"note": "a tenant", "created_at": "2026-01-01T00:00:00Z"}
            record["claims"] = {"role": self.roles[number], "tenant": f"t{number}"}
            yield record | ({"database": database} if database else {})

    def write_tokens(self, file):
        write_records(file, self.records())

    def write_passwords(self, folder):
        for role in self.roles:
            private(folder / f"{role}.password", "secret")

    def create(self, connection):
        """Makes the roles and the login."""
        login = self.login["PGUSER"]
        connection.execute(f"CREATE ROLE {login} LOGIN NOINHERIT PASSWORD 'secret'")
        for role in self.roles:
            connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")

    def drop(self, connection):
        for role in [*self.roles, self.login["PGUSER"]]:
            connection.execute(f"DROP ROLE IF EXISTS {role}")


def private(file, text):
    file.write_text(text)
    file.chmod(0o600)


def write_records(file, records):
    private(file, "\n".join(["tokens:", *[f"- {json.dumps(record)}" for record in records]]) + "\n")


@contextmanager
def tenants(variables, count):
    """Makes the tenants in a database; their roles are dropped at the end of the block."""
    made = Tenants(variables, count)
    with connect(variables) as connection:
        try:
            connection.execute(TABLES)
            connection.execute(STRICT)
            made.create(connection)
            for number, role in enumerate(made.roles):
                connection.execute(f"GRANT {role} TO {made.login['PGUSER']}")
                connection.execute(f"INSERT INTO orders VALUES ('{role}', 't{number}')")
            yield made
        finally:
            connection.execute("DROP TABLE IF EXISTS orders")
            made.drop(connection)


@contextmanager
def tenants_of_mode(variables, name, mode, rows, seal_sql="", is_careless=False):
    """Makes a database of a mode, with tenants of its own: a statement may change its role for good.

    `rows` has for each tenant the beginning of its secrets and their number.
    """
    place = variables | {"PGDATABASE": f"{variables['PGDATABASE']}_{name}"}
    made = Tenants(place, len(rows))
    made.tokens = [f"{token}-of-{name}" for token in made.tokens]
    with connect(variables) as owner:
        try:
            made.create(owner)
            owner.execute(f"CREATE DATABASE {place['PGDATABASE']}")
            with connect(place) as connection:
                fill(connection, made, mode, rows, seal_sql, mode in FIRM or is_careless)
            yield made
        finally:
            owner.execute(f"DROP DATABASE IF EXISTS {place['PGDATABASE']} WITH (FORCE)")
            made.drop(owner)


def fill(connection, made, mode, rows, seal_sql, is_careless):
    """Makes the tables of a mode and their rows."""
    if mode == "sealed":
        connection.execute(seal_sql)
    # The user may have the name of a schema.
    connection.execute("SET search_path = public")
    for table in ["orders", "marks"]:
        connection.execute(MARKED.format(table=table, shows=MODES[mode]))
    connection.execute(OBJECTS)
    if mode not in FIRM:
        connection.execute(STRICT)
    if is_careless:
        connection.execute(CARELESS)
    for number, (secret, count) in enumerate(rows):
        if mode == "set_role":
            connection.execute(f"GRANT {made.roles[number]} TO {made.login['PGUSER']}")
        owned = f"'{made.roles[number]}', 't{number}', '{secret}'"
        connection.execute(f"INSERT INTO marks VALUES (1, {owned})")
        connection.execute(
            f"INSERT INTO orders SELECT n, {owned} || n FROM generate_series(1, {count}) n"
        )
    connection.execute("ANALYZE")


def write_key(folder):
    """Writes a key of seals."""
    private(folder / "seal.key", "0123456789abcdef" * 2)


def seal_sql(program, arguments, name):
    """Asks a server for the SQL of its seals."""
    command = [program, *arguments, "-print-seal-sql", name]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
