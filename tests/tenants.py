"""A database of tenants, and callers with a role and a setting each."""

import hashlib
import json
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
REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;
"""
# One line: the role, the setting, and the rows.
WHO = (
    "SELECT current_user || ' ' || current_setting('app.tenant') || ' ' || "
    "(SELECT string_agg(owner || '/' || tenant, ',') FROM orders) AS who"
)


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

    def entry(self, name, variables, **more):
        """A database that knows its callers, from the variables of a PostgreSQL client."""
        rule = {"claim": "role", "match": "^[a-z0-9_]+$", "role": "{}"}
        settings = [{"name": "app.tenant", "from": {"claim": "tenant"}}]
        identity = {"mode": "set_role", "roles": [rule], "settings": settings}
        return entry(name, variables, identity=identity, **more)

    def write_tokens(self, file):
        lines = ["tokens:"]
        for number, token in enumerate(self.tokens):
            record = {"id": f"token-{number}", "hash": hashlib.sha256(token.encode()).hexdigest()}
            record |= {"note": "a tenant", "created_at": "2026-01-01T00:00:00Z"}
            record["claims"] = {"role": self.roles[number], "tenant": f"t{number}"}
            lines.append(f"- {json.dumps(record)}")
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o600)


@contextmanager
def tenants(variables, count):
    """Makes the tenants in a database; their roles are dropped at the end of the block."""
    made = Tenants(variables, count)
    login = made.login["PGUSER"]
    with connect(variables) as connection:
        try:
            connection.execute(TABLES)
            connection.execute(f"CREATE ROLE {login} LOGIN NOINHERIT PASSWORD 'secret'")
            for number, role in enumerate(made.roles):
                connection.execute(f"CREATE ROLE {role}")
                connection.execute(f"GRANT {role} TO {login}")
                connection.execute(f"INSERT INTO orders VALUES ('{role}', 't{number}')")
            yield made
        finally:
            connection.execute("DROP TABLE IF EXISTS orders")
            for role in [*made.roles, login]:
                connection.execute(f"DROP ROLE IF EXISTS {role}")
