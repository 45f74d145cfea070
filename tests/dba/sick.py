"""Databases that are sick on purpose: `bash tests/dba/run [version or folder of binaries…]`

Every sickness is named by the administrator's pack and nothing healthy is, for an ordinary role,
for one with pg_monitor and for the owner, with and without the extensions. A role that cannot see
something gets a row `unknown`, never an error. All of it is asked for over /mcp; for findings that
take hours the statements are also run alone, with durations replaced by the time since a moment of the
test.
"""

import shutil
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg
from pack import Pack, serving
from servers import server

OLD = ["interval '15 min'", "interval '5 min'", "interval '30 days'"]
ROLES = ["shop_owner", "monitor", "reader"]
COLUMNS = ["check", "status", "subject", "value", "threshold", "advice"]

MADE = [
    "CREATE ROLE shop_owner LOGIN",
    "CREATE ROLE reader LOGIN",
    "CREATE ROLE monitor LOGIN IN ROLE pg_monitor",
    "CREATE DATABASE shop OWNER shop_owner",
]

SHOP = """
CREATE SCHEMA shop;
SET search_path = shop;

-- Bloat of 100 MB and more, dead rows, and misses in the cache. Columns that need alignment must
-- not be taken for bloat.
CREATE TABLE bloated (id int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO bloated SELECT n, repeat(md5(n::text), 12) FROM generate_series(1, 400000) n;
CREATE UNIQUE INDEX bloated_index ON bloated (filler);
CREATE TABLE good_wide (a bool, b bigint, c bool, d bigint, e bool, f bigint, g bool, h bigint,
  filler text) WITH (autovacuum_enabled = off);
INSERT INTO good_wide SELECT true, n, true, n, true, n, true, n, 'x'
FROM generate_series(1, 1100000) n;
CREATE TABLE good_dead (id int) WITH (autovacuum_enabled = off);
INSERT INTO good_dead SELECT generate_series(1, 1000);
CREATE TABLE dead (id int) WITH (autovacuum_enabled = off, autovacuum_vacuum_threshold = 10);
INSERT INTO dead SELECT generate_series(1, 1000);
CREATE TABLE late (id int) WITH (autovacuum_enabled = off, autovacuum_vacuum_threshold = 10);
INSERT INTO late SELECT generate_series(1, 1000);

-- Indexes.
CREATE TABLE parent (id int PRIMARY KEY, a int, b int, c int, d int, good text UNIQUE);
INSERT INTO parent SELECT n, n, n, n, n, n::text FROM generate_series(1, 20000) n;
CREATE INDEX good_a ON parent (a);
CREATE INDEX duplicate_a ON parent (a);
CREATE INDEX good_a_desc ON parent (a DESC);
CREATE INDEX good_a_partial ON parent (a) WHERE b > 0;
CREATE INDEX duplicate_partial ON parent (a) WHERE b > 0;
CREATE INDEX duplicate_of_primary ON parent (id);
CREATE INDEX unused ON parent (c);
CREATE INDEX unused_expression ON parent ((c + d));
CREATE INDEX duplicate_expression ON parent ((c + d));
CREATE TABLE child (id int PRIMARY KEY, parent_id int CONSTRAINT slow_fk REFERENCES parent,
  good_id int CONSTRAINT good_fk REFERENCES parent, good_b int CONSTRAINT good_null_fk REFERENCES parent,
  other int);
CREATE INDEX good_fk_index ON child (good_id, other);
CREATE INDEX good_null_index ON child (good_b) WHERE good_b IS NOT NULL;
CREATE TABLE halves (id int, part int) PARTITION BY LIST (part);
CREATE TABLE halves_1 PARTITION OF halves FOR VALUES IN (1);
CREATE INDEX good_halves ON halves (id);

-- Sequences.
CREATE TABLE ending (id serial PRIMARY KEY, good_id bigserial, small smallserial);
SELECT setval('ending_id_seq', 2040109465), setval('ending_good_id_seq', 2040109465),
  setval('ending_small_seq', 25000);
CREATE SEQUENCE good_cycle AS smallint CYCLE;
CREATE SEQUENCE ending_down INCREMENT -1 MINVALUE -100 MAXVALUE -1;
SELECT setval('good_cycle', 32000), setval('ending_down', -96);

-- Constraints and triggers.
ALTER TABLE parent ADD CONSTRAINT unchecked CHECK (a > 0) NOT VALID;
ALTER TABLE parent ADD CONSTRAINT good_check CHECK (b > 0);
CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER silenced BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION quiet();
CREATE TRIGGER good_trigger BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION quiet();
ALTER TABLE parent DISABLE TRIGGER silenced;

CREATE TABLE rows (id int PRIMARY KEY, value int);
INSERT INTO rows SELECT n, 0 FROM generate_series(1, 10) n;
"""

AFTER = """
DELETE FROM shop.bloated WHERE id % 10 < 7;
VACUUM shop.bloated;
VACUUM shop.good_wide;
ANALYZE;
"""

# A session counts until it ends, so this is the work of another one.
COUNTED = """
SELECT pg_stat_reset();
DELETE FROM shop.good_dead WHERE id <= 100;
DELETE FROM shop.dead WHERE id <= 900;
DELETE FROM shop.late WHERE id <= 300;
SELECT count(*) FROM shop.bloated;
SELECT count(*) FROM shop.bloated;
SELECT count(*) FROM shop.bloated;
"""

BLOATED = ("bloat", "warn", "shop.bloated")
BLOATED_INDEX = ("bloat", "warn", "shop.bloated_index")
SEQUENCES = {
    ("sequences", "critical", "shop.ending_id_seq"),
    ("sequences", "critical", "shop.ending_down"),
    ("sequences", "warn", "shop.ending_small_seq"),
}
# What every role sees.
SEEN = {
    ("cache", "critical", "shop.bloated"),
    ("cache", "critical", "tables"),
    ("vacuum", "critical", "shop.dead"),
    ("vacuum", "warn", "shop.late"),
    ("indexes_invalid", "warn", "shop.broken"),
    ("indexes_duplicate", "warn", "shop.duplicate_a"),
    ("indexes_duplicate", "warn", "shop.duplicate_partial"),
    ("indexes_duplicate", "warn", "shop.duplicate_of_primary"),
    ("indexes_duplicate", "warn", "shop.duplicate_expression"),
    ("indexes_unused", "warn", "shop.unused"),
    ("indexes_unused", "warn", "shop.unused_expression"),
    ("indexes_unused", "warn", "shop.duplicate_a"),
    ("indexes_unused", "warn", "shop.duplicate_partial"),
    ("indexes_unused", "warn", "shop.duplicate_of_primary"),
    ("indexes_unused", "warn", "shop.duplicate_expression"),
    ("indexes_missing_fk", "warn", "slow_fk of shop.child"),
    ("checkpoints", "warn", "checkpoints"),
    ("constraints", "warn", "unchecked of shop.parent"),
    ("constraints", "warn", "trigger silenced of shop.parent"),
    ("long_transactions", "warn", "prepared transaction 'forgotten' (shop_owner on shop)"),
}
GOOD_INDEXES = ["good_a", "good_a_desc", "good_a_partial", "good_halves"]


def script(connection, text):
    """Runs statements one by one, so that VACUUM is in no transaction."""
    for statement in text.split(";\n"):
        if statement.strip():
            connection.execute(statement)


class Chain:
    """Five sessions, of which each waits for the one before, and the first for nothing."""

    def __init__(self, server):
        self.sessions = [server.connect("shop_owner") for _ in range(5)]
        self.pids = [session.info.backend_pid for session in self.sessions]
        self.threads = []
        for at, session in enumerate(self.sessions):
            session.execute("BEGIN")
            session.execute("UPDATE shop.rows SET value = 1 WHERE id = %s", [at + 1])
        for at, session in enumerate(self.sessions[1:]):
            self.threads.append(threading.Thread(target=self.wait, args=(session, at + 1)))
            self.threads[-1].start()
        with server.connect() as asked:
            while (
                asked.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()[0] < 4
            ):
                pass

    @staticmethod
    def wait(session, row):
        try:
            session.execute("UPDATE shop.rows SET value = 2 WHERE id = %s", [row])
        except psycopg.Error:
            pass

    def close(self):
        for session in self.sessions:
            session.cancel()
        for thread in self.threads:
            thread.join(60)
        for session in self.sessions:
            session.close()


def make_sick(server):
    with server.connect(database="postgres") as admin:
        for statement in MADE:
            admin.execute(statement)
    with server.connect("shop_owner") as owner:
        script(owner, SHOP)
        try:
            owner.execute("CREATE UNIQUE INDEX CONCURRENTLY broken ON shop.rows (value)")
        except psycopg.errors.UniqueViolation:
            pass
        owner.execute("BEGIN")
        owner.execute("UPDATE shop.rows SET value = 3 WHERE id = 10")
        owner.execute("PREPARE TRANSACTION 'forgotten'")
    with server.connect() as admin:
        script(admin, AFTER)
    with server.connect() as admin:
        script(admin, COUNTED)
        for _ in range(10):
            admin.execute("CHECKPOINT")


def use_good_indexes(server):
    with server.connect("shop_owner") as owner:
        owner.execute("SET enable_seqscan = off")
        for index in GOOD_INDEXES:
            # Hides the rest, so that each index is used in turn.
            owner.execute("BEGIN")
            others = owner.execute(
                "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class c ON c.oid = indexrelid"
                " WHERE indrelid = 'shop.parent'::regclass AND NOT indisunique AND c.relname <> %s",
                [index],
            ).fetchall()
            for (other,) in others:
                owner.execute(f"DROP INDEX {other}")
            table, column = ("halves", "id") if index == "good_halves" else ("parent", "a")
            owner.execute(
                f"SELECT * FROM shop.{table} WHERE {column} = 5 AND 1 = 1"
                + (" AND b > 0" if table == "parent" else "")
            )
            # An aborted transaction counts its scans, too.
            owner.execute("ROLLBACK")


def named(rows):
    return {
        (row["check"], row["status"], row["subject"])
        for row in rows
        if row["status"] in ("warn", "critical")
    }


def unknown(rows):
    return {row["check"]: row["advice"] for row in rows if row["status"] == "unknown"}


def same(what, found, expected):
    assert found == expected, (
        f"{what}: too many {sorted(found - expected)}, missing {sorted(expected - found)}"
    )


def check_health(server, since, role, expected, hidden):
    replaced = {old: f"(now() - timestamptz '{since}')" for old in OLD}
    pack = Pack(server.conninfo(role), replaced)
    rows = pack.health()
    assert pack.used == set(OLD), "a duration is written differently"
    assert all(
        list(row) == COLUMNS and all(isinstance(v, str) for v in row.values()) for row in rows
    ), rows
    checks = [row["check"] for row in rows]
    assert len(set(checks)) == 16, checks
    same(role, named(rows), expected)
    # The commas of remedies separate no statements.
    same(f"{role} cannot see", set(unknown(rows)), hidden)
    assert all(" TO " in advice or ":" in advice for advice in unknown(rows).values()), unknown(
        rows
    )
    other = pack.health(schema="public")
    same(
        f"{role} in another schema",
        {n for n in named(other) if "shop." in n[2] and n[0] != "long_transactions"},
        set(),
    )
    same(
        f"{role} in no schema",
        set(unknown(pack.health(schema="nosuch", checks=["vacuum", "settings"]))),
        {"vacuum"},
    )
    pack.close()
    return rows


def check_served_health(served, role, expected, hidden):
    """What is named without waiting: a server knows nothing of the durations of the test."""
    rows = served.call(role, "db_health")
    assert all(list(row) == COLUMNS for row in rows), rows
    timed = {"indexes_unused", "long_transactions", "connections"}
    same(f"{role}, served", named(rows), {it for it in expected if it[0] not in timed})
    same(f"{role} cannot see, served", set(unknown(rows)), hidden | {"indexes_unused"})
    rows = served.call(role, "db_health", schema="nosuch", checks=["vacuum", "settings"])
    same(f"{role} in no schema, served", set(unknown(rows)), {"vacuum"})


def check_sessions(served, role, chain, sees):
    tree = served.call(role, "lock_tree")
    lines = [line["pid"] for line in tree if line["pid"] != "unknown"]
    same(
        f"{role}: lines",
        set(lines),
        {"  " * depth + str(pid) for depth, pid in enumerate(chain.pids)},
    )
    assert lines == ["  " * depth + str(pid) for depth, pid in enumerate(chain.pids)], lines
    assert all(line["object"].endswith("of shop.rows") for line in tree[1:5]), tree
    assert all(line["mode"] for line in tree[:5]), tree
    assert ("unknown" in [line["pid"] for line in tree]) != sees, tree
    sessions = served.call(role, "active_sessions")
    blocked = {line["pid"]: line["blocked_by"] for line in sessions}
    expected = (
        {str(pid): str(before) for before, pid in zip(chain.pids, chain.pids[1:])} if sees else {}
    )
    same(f"{role}: blocked", set(expected.items()), {(p, b) for p, b in blocked.items() if b})
    assert ("unknown" in blocked) != (role == "monitor"), sessions
    rows = served.call(role, "active_sessions", min_seconds=100000, state="active")
    same(f"{role}: old sessions", {row["pid"] for row in rows} - {"unknown"}, set())


def check_queries(served, role, installed):
    for by in ["total_time", "mean_time", "calls", "io", "wal", "temp"]:
        rows = served.call(role, "top_queries", by=by, limit=5)
        sentences = [row["query"] for row in rows if row["queryid"] == "unknown"]
        if installed:
            assert len(rows) == 5 + len(sentences) or role == "reader", rows
            assert bool(sentences) == (role != "monitor"), rows
            assert not sentences or sentences[0].endswith(f"GRANT pg_read_all_stats TO {role};"), (
                rows
            )
        else:
            assert len(rows) == 1 and sentences[0].startswith(
                "pg_stat_statements is not installed: "
            ), rows


def check_shop(binaries):
    settings = {
        "shared_buffers": "16MB",
        "max_prepared_transactions": "5",
        "autovacuum": "off",
        "fsync": "off",
        "max_wal_size": "4GB",
    }
    contrib = any(binaries.parent.rglob("pg_stat_statements.so"))
    if contrib:
        settings["shared_preload_libraries"] = "pg_stat_statements"
    with server(binaries, settings) as shop, ExitStack() as stack:
        make_sick(shop)
        old = stack.enter_context(shop.connect("shop_owner"))
        old.execute("BEGIN")
        old.execute("SELECT 1")
        # A session that only some roles see; and a moment at which the old one was idle already.
        admin = stack.enter_context(shop.connect())
        version = admin.execute("SHOW server_version").fetchone()[0]
        since = admin.execute("SELECT clock_timestamp()::text").fetchone()[0]
        use_good_indexes(shop)
        chain = Chain(shop)
        stack.callback(chain.close)

        seen = SEEN | {("settings", "critical", name) for name in ["fsync", "autovacuum"]}
        pid = f"pid {old.info.backend_pid} (shop_owner on shop)"
        sessions = {("connections", "warn", pid), ("long_transactions", "warn", pid)}
        own = seen | sessions | {BLOATED, BLOATED_INDEX} | SEQUENCES
        most = {"connections", "long_transactions"}
        unread = {"bloat", "sequences"}
        expected = {
            "shop_owner": (own, most),
            "monitor": (seen | sessions, unread),
            "reader": (seen, most | unread),
        }
        served = stack.enter_context(serving(shop.folder, ROLES, "shop"))
        check_roles(shop, served, since, chain, expected, False)
        if contrib:
            admin.execute("CREATE EXTENSION pgstattuple")
            admin.execute("CREATE EXTENSION pg_stat_statements")
            expected["monitor"] = (seen | sessions | {BLOATED}, unread)
            check_roles(shop, served, since, chain, expected, True)
            rows = served.call("monitor", "db_health", checks=["bloat"])
            assert any(row["value"].startswith("measured 7") for row in rows), rows
        check_young(shop)
        print(f"{version}: sick and found{'' if contrib else ', without extensions'}")


def check_roles(server, served, since, chain, expected, installed):
    for role, (findings, hidden) in expected.items():
        check_health(server, since, role, findings, hidden)
        check_served_health(served, role, findings, hidden)
        check_sessions(served, role, chain, role != "reader")
        check_queries(served, role, installed)


def check_young(server):
    """As they are written, durations name nothing of a test that takes seconds."""
    pack = Pack(server.conninfo("monitor"))
    rows = pack.health(checks=["connections", "long_transactions", "indexes_unused"])
    same("young", named(rows), set())
    assert "indexes_unused" in unknown(rows), rows
    pack.close()


def wear(server):
    """Moves the transaction ids on, without the work of using them up."""
    server.run("pg_resetwal", "-x", str(1049 << 20), "-D", server.data)
    segment = server.data / "pg_xact" / f"{1049:04X}"
    segment.write_bytes(bytes(256 << 10))
    shutil.chown(segment, server.account.get("user"), server.account.get("group"))


def check_worn(binaries):
    wear_out = wear if (binaries / "pg_resetwal").exists() else None
    settings = {
        "autovacuum": "off",
        "full_page_writes": "off",
        "track_counts": "off",
        "max_connections": "13",
        "autovacuum_freeze_max_age": "2000000000",
    }
    with server(binaries, settings, wear_out) as worn, ExitStack() as stack:
        admin = stack.enter_context(worn.connect(database="postgres"))
        admin.execute("CREATE ROLE reader LOGIN")
        for _ in range(7):
            stack.enter_context(worn.connect("reader", "postgres"))
        pack = Pack(worn.conninfo("reader", "postgres"))
        rows = pack.health()
        found = named(rows)
        expected = {("connections", "warn", "connections")}
        expected |= {
            ("settings", "critical", name)
            for name in ["autovacuum", "full_page_writes", "track_counts"]
        }
        same("worn", {row for row in found if row[0] != "wraparound"}, expected)
        same(
            "uncounted",
            set(unknown(rows)),
            {"cache", "vacuum", "indexes_unused", "connections", "long_transactions"},
        )
        assert bool(wear_out) == (("wraparound", "warn", "database postgres") in found), found
        pack.close()


def copied(primary, standby):
    """Makes a standby of a copy of a stopped server."""
    shutil.rmtree(standby.data)
    shutil.copytree(primary.data, standby.data)
    for slot in (standby.data / "pg_replslot").iterdir():
        shutil.rmtree(slot)
    (standby.data / "standby.signal").touch()
    with open(standby.data / "postgresql.auto.conf", "a") as file:
        file.write(f"primary_conninfo = 'host={primary.folder} user=postgres'\n")
        file.write("primary_slot_name = 'used'\n")
    if standby.account:
        for path in [standby.data, *standby.data.rglob("*")]:
            shutil.chown(path, standby.account["user"], standby.account["group"])


def until(connection, statement):
    """Asks until the answer is true; each round trip is a wait, and a minute the limit."""
    end = time.monotonic() + 60
    while not connection.execute(statement).fetchone()[0]:
        assert time.monotonic() < end, statement


def check_standby(binaries):
    behind = {"bytes > 10737418240": "bytes > 1e15", "bytes > 1073741824": "bytes > 1e6"}
    with server(binaries) as primary, ExitStack() as stack:
        with primary.connect(database="postgres") as admin:
            admin.execute("CREATE ROLE reader LOGIN")
            admin.execute("CREATE ROLE monitor LOGIN IN ROLE pg_monitor")
            admin.execute("SELECT pg_create_physical_replication_slot('used', true)")
            admin.execute("SELECT pg_create_physical_replication_slot('left', true)")
        primary.run("pg_ctl", "-D", primary.data, "-w", "-m", "fast", "stop")
        standby = stack.enter_context(server(binaries, prepare=lambda new: copied(primary, new)))
        primary.start()
        admin = stack.enter_context(primary.connect(database="postgres"))
        until(admin, "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'")
        other = stack.enter_context(standby.connect(database="postgres"))
        until(other, "SELECT count(*) = 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'")

        def replication(at, role):
            pack = Pack(at.conninfo(role, "postgres"), behind)
            rows = pack.health()
            pack.close()
            assert pack.used == set(behind), "a size is written differently"
            found = {
                (row["status"], row["subject"].split(" (")[0])
                for row in rows
                if row["check"] == "replication"
            }
            return found, {
                check: text for check, text in unknown(rows).items() if "standby: " in text
            }

        slots = {("ok", "slot used"), ("ok", "slot left")}
        same("primary", replication(primary, "monitor")[0], slots | {("ok", "standby walreceiver")})
        same("hidden", replication(primary, "reader")[0], slots | {("unknown", "1 standbys")})
        for role in ["monitor", "reader"]:
            found, sentences = replication(standby, role)
            same(f"standby, {role}", found, {("ok", "this standby")})
            same(f"unknown, {role}", set(sentences), {"vacuum", "indexes_unused"})
            assert (
                sentences["vacuum"]
                == "this is a standby: the work of autovacuum is known on its primary"
            )

        # From version 17 on PostgreSQL knows since when a slot is idle.
        pack = Pack(
            primary.conninfo("reader", "postgres"),
            {"since < now() - interval '1 day'": "since < now()"},
        )
        left = {
            row["status"] for row in pack.health(checks=["replication"]) if "left" in row["subject"]
        }
        same("left", left, {"critical" if admin.info.server_version >= 170000 else "ok"})
        pack.close()

        other.execute("SELECT pg_wal_replay_pause()")
        until(other, "SELECT pg_get_wal_replay_pause_state() = 'paused'")
        admin.execute("CREATE TABLE written AS SELECT generate_series(1, 100000)")
        admin.execute("SELECT pg_switch_wal()")
        until(
            other,
            "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) > 2e6",
        )
        late = {("ok", "slot used"), ("warn", "slot left"), ("warn", "standby walreceiver")}
        # What the standby has received, its own slot need not keep.
        found = replication(primary, "monitor")[0] - {("warn", "slot used")} | {("ok", "slot used")}
        same("late", found, late)
        same("paused", replication(standby, "monitor")[0], {("warn", "this standby")})
    print("standby: late and found")


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        check_shop(Path(folder))
        check_worn(Path(folder))
        check_standby(Path(folder))
