"""Both programs together: a pipeline with row security is sound, and one without it is found.

`bash tests/prove/run`
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import psycopg
from callers import entry, write_tokens
from jsonschema import Draft4Validator
from processes import database

PROGRAMS = Path(os.environ["PROVE_PROGRAMS"])
SCHEMA = """
    CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE documents (id int PRIMARY KEY, owner text NOT NULL, content text, embedding vector(256));
    ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON documents USING (owner = current_user);
    REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;
    CREATE ROLE {role} LOGIN NOINHERIT PASSWORD '{role}';
    CREATE ROLE {role}_0;
    CREATE ROLE {role}_1;
    GRANT {role}_0, {role}_1 TO {role};
    GRANT SELECT ON documents TO {role}_0, {role}_1;
"""
# Each caller has the role of its claim.
IDENTITY = {"mode": "set_role", "roles": [{"claim": "owner", "match": "^[a-z0-9_]+$", "role": "{}"}]}
FOUND = "pg://shop/public/documents pipeline docs: error row: a row of B came back (ziggurat-rag, case "


def place(variables):
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password"}
    names |= {"PGDATABASE": "dbname"}
    return {name: variables[variable] for variable, name in names.items()}


class Shop:
    """A database, its copy, and the files of both programs."""

    def __init__(self, folder, variables, copied):
        self.folder, self.copied, self.role = folder, place(copied), f"{copied['PGDATABASE']}_login"
        with psycopg.connect(**self.copied, autocommit=True) as connection:
            connection.execute(SCHEMA.format(role=self.role))
            name = self.copied["dbname"]
            connection.execute(f"ALTER DATABASE \"{name}\" SET ziggurat.throw_away = 'yes'")
        self.variables = variables | {"PGUSER": self.role, "PGPASSWORD": self.role}
        shop = entry("shop", self.variables, identity=IDENTITY)
        self.write("tools.yaml", {"databases": [shop], "http": {"enabled": True}})
        write_tokens(folder / "tokens.yaml", 2)
        text = (folder / "tokens.yaml").read_text().replace('"note":', '"claims": {"owner": "OWNER"}, "note":')
        for number in range(2):
            text = text.replace("OWNER", f"{self.role}_{number}", 1)
        (folder / "tokens.yaml").write_text(text)

    def write(self, name, content):
        (self.folder / name).write_text(json.dumps(content))

    def pipelines(self, **database):
        """Writes the configuration of a pipeline for this login."""
        reached = {name: self.variables[name] for name in self.variables}
        reached = {"host": reached["PGHOST"], "port": int(reached["PGPORT"]), "database": reached["PGDATABASE"]}
        table = {"table": "documents", "text_column": "content", "vector_column": "embedding"}
        local = {"provider": "local"}
        pipeline = {"name": "docs", "database": reached | database, "tables": [table | {"id_column": "id"}]}
        pipeline |= {"embedding_llm": local, "rag_llm": local}
        server = {"auth": {"token_file": "tokens.yaml"}}
        self.write("rag.yaml", {"server": server, "pipelines": [pipeline]})

    def prove(self):
        """Runs the command; returns its exit code, its lines and its file."""
        copy = self.copied
        url = f"postgres://{copy['user']}:{copy['password']}@{copy['host']}:{copy['port']}/{copy['dbname']}"
        words = ["-config", "tools.yaml", "-token-file", "tokens.yaml", "-user-file", "users.yaml"]
        words += ["-prove", "-as", "token:token-0", "-against", "token:token-1", "-copy", url]
        words += ["-rag", "rag.yaml", "-sarif", "found.sarif"]
        done = subprocess.run(
            [PROGRAMS / "ziggurat-tools", *words],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=600,
        )
        print(done.stdout, done.stderr, file=sys.stderr)
        file = self.folder / "found.sarif"
        return done.returncode, done.stdout, json.loads(file.read_text()) if file.exists() else None


def main():
    schema = Draft4Validator(json.loads(Path(os.environ["PROVE_SCHEMA"]).read_text()))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sample = folder / "empty.sql"
        sample.write_text("SELECT 1;")
        keeper = os.environ["PROVE_DATABASE"]
        real, copied = (stack.enter_context(database(keeper, sample=sample)) for _ in range(2))
        shop = Shop(folder, real, copied)
        login = {"username": shop.role, "password": shop.role}
        owner = {"username": copied["PGUSER"], "password": copied["PGPASSWORD"]}
        for reached, code in [(login | {"identity": IDENTITY}, 0), (owner, 3)]:
            shop.pipelines(**reached)
            ended, lines, document = shop.prove()
            assert ended == code, ended
            assert (FOUND in lines) == (code == 3), lines
            schema.validate(document)
            assert document["runs"][0]["results"], document
        with psycopg.connect(**shop.copied, autocommit=True) as connection:
            [[left]] = connection.execute("SELECT count(*) FROM documents")
            assert left == 0, left
            roles = f"{shop.role}, {shop.role}_0, {shop.role}_1"
            connection.execute(f"DROP OWNED BY {roles}; DROP ROLE {roles}")
        # The schema finds faults.
        del document["runs"][0]["results"][0]["message"]
        assert not schema.is_valid(document)
    print("pipelines are proved, and the files are SARIF")


main()
