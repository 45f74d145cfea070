"""PgBouncer in transaction mode, shared by ziggurat-tools and another program, which do not affect
each other."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import psycopg
from another_program import connect
from callers import Caller, entry, free_port, write_configuration, write_tokens
from faults import Faults
from impostor_calls import Proof
from processes import PATIENCE, database, listening, running
from tenants import WHO, tenants

CALLERS = 30
OTHERS = 4
TURNS = 6
TENANTS = 20
# One of so many statements of impostors is sent.
IMPOSTORS = int(os.environ.get("POOLERS_IMPOSTORS", "10"))
# Fewer than there are callers, so that they share connections.
CONNECTIONS = 8
GIVES_UP_AFTER = 0.5

# The settings of an unchanged session.
UNTOUCHED = {
    "default_transaction_read_only": "off",
    "transaction_read_only": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "search_path": '"$user", public',
    "role": "none",
}

# State that other programs would find on the connection.
SESSION_LEVEL = [
    "SET search_path = elsewhere",
    "SET SESSION statement_timeout = 1",
    "RESET ALL",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "PREPARE p AS SELECT 1",
    "LISTEN news",
    "DISCARD ALL",
    "CREATE TEMP TABLE mine (n int)",
    "SELECT 1 AS n INTO TEMP mine",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    "SELECT 1; SET search_path = elsewhere",
    "SELECT pg_advisory_lock(1)",
    "SELECT set_config('search_path', 'elsewhere', false)",
]


def pgbouncer(stack, folder, variables, mode="transaction", roles=()):
    """Starts PgBouncer in front of a database; returns the variables of its clients. With roles, it
    logs in as the one of its client; else as the user of the variables."""
    port = free_port()
    config = folder / f"pgbouncer-{mode}.ini"
    login = [("user", "PGUSER"), ("password", "PGPASSWORD")]
    target = " ".join(
        f"{key}={variables[name]}"
        for key, name in [
            ("host", "PGHOST"),
            ("port", "PGPORT"),
            ("dbname", "PGDATABASE"),
            *([] if roles else login),
        ]
    )
    auth = "any"
    if roles:
        users = config.with_suffix(".users")
        users.write_text("".join(f'"{role}" "{password}"\n' for role, password in roles))
        auth = f"trust\nauth_file = {users}"
    config.write_text(
        f"[databases]\nshop = {target}\n\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = {auth}\npool_mode = {mode}\n"
        f"default_pool_size = {CONNECTIONS}\nmax_client_conn = 500\n"
    )
    command = ["pgbouncer", "-q"]
    if os.geteuid() == 0:
        # It refuses to run as root.
        folder.chmod(0o755)
        command += ["-u", "nobody"]
    log = stack.enter_context(open(folder / f"pgbouncer-{mode}.log", "wb"))
    stack.enter_context(running([*command, config], stdout=log, stderr=log))
    user = variables["PGUSER"] if roles else "app"
    bouncer = variables | {"PGHOST": "127.0.0.1", "PGPORT": str(port)}
    bouncer |= {"PGDATABASE": "shop", "PGUSER": user}
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connect(bouncer).close()
            return bouncer
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                sys.exit(f"PgBouncer did not start: {error}")
            time.sleep(0.02)


def other_program(bouncer, stop, faults, done):
    """Reads the session's settings, writes, and runs statements that a late cancel would hit."""
    connection = connect(bouncer)
    while not stop.is_set():
        try:
            for setting, expected in UNTOUCHED.items():
                found = connection.execute(f"SHOW {setting}").fetchone()[0]
                faults.expect(f"the other program's {setting}", found, expected)
            rows = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
            faults.expect("prepared statements in the other program's session", rows[0], 0)
            temporary = "SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()"
            rows = connection.execute(temporary).fetchone()
            faults.expect("temporary tables in the other program's session", rows[0], 0)
            connection.execute("INSERT INTO written (at) VALUES (now())")
            connection.execute("SELECT pg_sleep(0.3)")
            with connection.transaction():
                connection.execute("SET LOCAL search_path = pg_catalog")
                connection.execute("SELECT pg_sleep(0.1)")
            done["statements"] += len(UNTOUCHED) + 6
        except psycopg.errors.QueryCanceled as error:
            faults.add("statements of the other program that were cancelled", str(error))
        except psycopg.Error as error:
            faults.add("errors of the other program", f"{type(error).__name__}: {error}")
            connection.close()
            connection = connect(bouncer)
    connection.close()


def caller(client, number, faults, done):
    """The calls of one caller, and the expected results."""

    def read(statement):
        answer = client.query(statement)
        done["calls"] += 1
        if answer.is_error:
            faults.add("a call that has to work", answer.said())
            return None
        return answer.text.splitlines()[-1]

    for turn in range(TURNS):
        mark = f"caller {number} turn {turn}"
        faults.expect("an answer", read(f"SELECT '{mark}' AS mark"), mark)
        # The outcome does not matter, but the next call must not be affected.
        client.query(f"SET search_path = of_{number}")
        client.query(f"SET statement_timeout = {1000 + number}")
        client.query(f"CREATE TEMP TABLE kept_{number} AS SELECT {number} AS n")
        client.query(f"PREPARE kept_{number} AS SELECT {number}")
        path = read("SELECT current_setting('search_path') AS path")
        faults.expect("the search path of a later call", path, UNTOUCHED["search_path"])
        kept = read("SELECT count(*) AS n FROM pg_class WHERE relname LIKE 'kept%'")
        faults.expect("temporary tables of an earlier call", kept, "0")
        kept = read("SELECT count(*) AS n FROM pg_prepared_statements WHERE name LIKE 'kept%'")
        faults.expect("prepared statements of an earlier call", kept, "0")
        try:
            answer = client.query("SELECT pg_sleep(20)", patience=GIVES_UP_AFTER)
            faults.add("a statement that was to be given up", answer.said())
        except TimeoutError:
            done["given up"] += 1


def refused(client, direct, faults):
    """Statements whose effect would outlive their transaction, where writes are allowed."""
    for statement in SESSION_LEVEL:
        answer = client.query(statement)
        if not answer.is_error or "query rejected" not in answer.text:
            faults.add(
                "a session-level statement that is not refused", f"{statement}: {answer.said()}"
            )
    answer = client.query("INSERT INTO written (at) VALUES (now())")
    if answer.is_error:
        faults.add("a write where writes are allowed", answer.said())
    answer = client.query("SET LOCAL statement_timeout = 5000; SELECT 1 AS n")
    if answer.is_error:
        faults.add("a setting for the transaction alone", answer.said())


def left(direct, faults):
    """The state of PostgreSQL after all clients have gone."""
    busy = (
        "SELECT query FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE '%pg_sleep(20)%'"
    )
    busy += " AND pid <> pg_backend_pid() AND datname = current_database()"
    deadline = time.monotonic() + 2
    while found := direct.execute(busy).fetchall():
        if time.monotonic() > deadline:
            faults.add("statements that were given up and run on", f"{len(found)} of them")
            break
        time.sleep(0.05)
    locks = "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database"
    locks += " WHERE locktype = 'advisory' AND datname = current_database()"
    faults.expect("advisory locks left", direct.execute(locks).fetchone()[0], 0)


def statement_mode(stack, folder, made, serve, faults):
    """Checks that a pooler that shares connections within a transaction is refused, for callers with
    roles of their own too."""
    bouncer = pgbouncer(stack, folder, made.login, "statement")
    home = folder / "statement"
    home.mkdir()
    arguments = write_configuration(home, databases=[entry("shop", bouncer)])
    command = [os.environ["POOLERS_PROGRAM"], "-check-config", "-connect", *arguments]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    expected = "database 'shop': the pooler does not keep transactions together\n"
    faults.expect("the answer to statement mode", (ran.returncode, ran.stdout), (1, expected))
    made.write_tokens(home / "tokens.yaml")
    address = serve(home, "statement", [made.entry("shop", bouncer)])
    answer = Caller(address, made.tokens[0]).query("SELECT 1")
    faults.expect("a caller in statement mode", answer.text, "This database is not open to you.")
    log = (folder / "statement.log").read_text().splitlines()
    for said in ["a database is not open to its callers", "a database is not open to a caller"]:
        lines = [line for line in log if said in line and "does not keep transactions" in line]
        faults.expect(said, bool(lines), True)


def known_callers(stack, folder, made, serve, faults):
    """Checks that callers with roles and settings of their own share connections, and nothing else."""
    home = folder / "known"
    home.mkdir()
    made.write_tokens(home / "tokens.yaml")
    address = serve(home, "known", [made.entry("shop", pgbouncer(stack, home, made.login))])

    def ask(number):
        for _ in range(TURNS):
            answer = Caller(address, made.tokens[number]).query(WHO)
            faults.expect("a tenant", answer.text.splitlines()[-1], made.who(number))

    threads = [
        threading.Thread(target=faults.watch, args=[ask, number]) for number in range(TENANTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def impostors(stack, folder, variables, faults):
    """Attacks databases behind poolers, each with one of its own; returns the number of statements."""
    home = folder / "impostors"
    home.mkdir()
    turns = iter(range(100))

    def through(made):
        place = home / f"{next(turns)}"
        place.mkdir()
        passwords = [(name, "secret") for name in [*made.roles, made.login["PGUSER"]]]
        return pgbouncer(stack, place, made.login, roles=passwords)

    # Seals are refused behind a pooler.
    modes = ["connect_as", "set_role", "settings"]
    proof = Proof(os.environ["POOLERS_PROGRAM"], variables, home, faults, modes, through)
    return proof.run(IMPOSTORS)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    begun = time.monotonic()
    faults, done = Faults(), Counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["POOLERS_DATABASE"]))
        direct = stack.enter_context(connect(variables))
        direct.execute("CREATE TABLE written (at timestamptz)")
        bouncer = pgbouncer(stack, folder, variables)
        home = folder / "tools"
        home.mkdir()
        tokens = write_tokens(home / "tokens.yaml", CALLERS)
        # The first detects the pooler by itself, the second is configured for it.
        shop = entry("shop", bouncer)
        writing = entry("writing", bouncer, allow_writes=True, pooler="transaction")
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        program = [os.environ["POOLERS_PROGRAM"], "-http", "-addr", "127.0.0.1:0"]

        def serve(home, name, entries, *flags):
            arguments = write_configuration(home, databases=entries)
            server = listening([*program, *flags, *arguments], environment, folder / f"{name}.log")
            return stack.enter_context(server)[0]

        address = serve(home, "shop", [shop])
        stop = threading.Event()
        others = [
            threading.Thread(target=faults.watch, args=[other_program, bouncer, stop, faults, done])
            for _ in range(OTHERS)
        ]
        clients = [
            threading.Thread(
                target=faults.watch, args=[caller, Caller(address, token), number, faults, done]
            )
            for number, token in enumerate(tokens)
        ]
        for thread in others + clients:
            thread.start()
        for thread in clients:
            thread.join()
        stop.set()
        for thread in others:
            thread.join()
        left(direct, faults)
        refused(Caller(serve(home, "writing", [writing], "-no-auth")), direct, faults)
        written = direct.execute("SELECT count(*) FROM written").fetchone()[0]
        made = stack.enter_context(tenants(variables, TENANTS))
        statement_mode(stack, folder, made, serve, faults)
        known_callers(stack, folder, made, serve, faults)
        attempts = impostors(stack, folder, variables, faults)
        if faults.kinds:
            print("--- log of PgBouncer, its end")
            print(*(folder / "pgbouncer-transaction.log").read_text().splitlines()[-10:], sep="\n")
    print(
        f"PgBouncer: {CALLERS} callers, {done['calls']} calls, {done['given up']} given up; "
        f"{OTHERS} connections of another program, {done['statements']} statements, "
        f"{written} rows written; {attempts} statements of impostors; {time.monotonic() - begun:.1f} s"
    )
    faults.end()


if __name__ == "__main__":
    main()
