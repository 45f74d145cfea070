"""Statements of a caller who wants to be another one: hand-written classes, each in many spellings.

In a template `<name>` is an identifier, `[text]` a string, and `{rows}` a query for the rows of all.
"""

import random
import re

SEED = 20_261_130
COUNT = 1000

# What a caller wants to see.
ROWS = [
    "SELECT secret FROM orders",
    "SELECT string_agg(secret, ',') FROM public.orders",
    "TABLE orders",
    "SELECT count(*) FROM orders",
    "SELECT o FROM orders o",
    "SELECT to_jsonb(o) FROM orders o ORDER BY id",
    "SELECT max(id), min(secret) FROM orders",
]
# Values that make a caller another one: a role, or the setting of a tenant.
ROLE = [
    "SET {scope} <role> = [{other}]",
    "SET {scope} <role> TO <{other}>",
    "SET {scope} ROLE <{other}>",
    "SET {scope} ROLE NONE",
    "SET {scope} ROLE <{login}>",
    "SET {scope} SESSION AUTHORIZATION <{other}>",
    "SET {scope} <session_authorization> = [{other}]",
    "SET {scope} SESSION AUTHORIZATION DEFAULT",
    "RESET ROLE",
    "RESET <role>",
    "RESET SESSION AUTHORIZATION",
    "RESET ALL",
    "RESET <session_authorization>",
]
SETTING = [
    "SET {scope} <app>.<tenant> = [{theirs}]",
    "SET {scope} <app>.<tenant> TO DEFAULT",
    "SET {scope} app.tenant TO [{theirs}], [t0]",
    "RESET <app>.<tenant>",
    "SET {scope} <ziggurat>.<claims> = [1|99999999999|{{\"app.tenant\": \"{theirs}\"}}]",
    "SET {scope} <ziggurat>.<seal> = [00]",
    "SET {scope} standard_conforming_strings = off",
    "SET {scope} client_encoding = [SQL_ASCII]",
    "SET {scope} NAMES [SJIS]",
    "SET {scope} row_security = off",
    "SET {scope} search_path = pg_temp, public",
    "SET {scope} search_path = [pg_temp]",
    "SET {scope} default_transaction_read_only = off",
    "SET {scope} session_replication_role = replica",
    "SET {scope} plan_cache_mode = force_generic_plan",
    "SET {scope} TIME ZONE [UTC]",
    "SET {scope} XML OPTION DOCUMENT",
]
CHANGE = ROLE + SETTING
# With a change in front of the rows, or around it.
AROUND = [
    "{change}; {rows}",
    "{change};; {rows};",
    "SELECT 1; {change}; {rows}",
    "COMMIT; {change}; {rows}",
    "COMMIT AND CHAIN; {change}; {rows}",
    "ROLLBACK; {rows}",
    "ROLLBACK AND CHAIN; {rows}",
    "ABORT; {change}; {rows}",
    "END; {rows}",
    "COMMIT; BEGIN; {change}; {rows}; COMMIT",
    "BEGIN; {change}; {rows}",
    "START TRANSACTION READ WRITE; {change}; {rows}",
    "SAVEPOINT s; {change}; ROLLBACK TO s; {rows}",
    "SAVEPOINT s; {change}; RELEASE s; {rows}",
    "SAVEPOINT s; SELECT 1 / 0; ROLLBACK TO SAVEPOINT s; {change}; {rows}",
    "PREPARE TRANSACTION 'x'; {rows}",
    "{change}; SELECT 1 / 0",
    "{change}; SELECT pg_sleep(3); {rows}",
    "DO [BEGIN {change}; END]; {rows}",
    "DO LANGUAGE plpgsql [BEGIN {change}; END]; {rows}",
    "DO [BEGIN EXECUTE 'RESET ROLE'; COMMIT; END]; {rows}",
    "CALL commits([{change}]); {rows}",
    "SELECT do_all([{change}]); {rows}",
    "SELECT run([{rows}]) FROM (SELECT do_all([{change}])) x",
    "SELECT do_all([{change}]), run([{rows}])",
    "WITH x AS MATERIALIZED (SELECT do_all([{change}])) SELECT run([{rows}]) FROM x",
    "PREPARE p AS {rows}; {change}; EXECUTE p",
    "CREATE FUNCTION pg_temp.f() RETURNS text LANGUAGE plpgsql AS [BEGIN {change}; RETURN 1; END]; SELECT pg_temp.f(); {rows}",
    "CREATE OR REPLACE FUNCTION pg_temp.f() RETURNS SETOF orders LANGUAGE sql SECURITY DEFINER AS [TABLE public.orders]; SELECT pg_temp.f()",
    "CREATE PROCEDURE pg_temp.p() LANGUAGE plpgsql AS [BEGIN COMMIT; {change}; END]; CALL pg_temp.p(); {rows}",
    "CREATE SCHEMA hidden CREATE VIEW v AS {rows}; TABLE hidden.v",
    "EXPLAIN ANALYZE {rows}; {change}",
]
# By themselves. `{computed}` is the name of what a caller wants to change.
ALONE = [
    "SELECT <set_config>([{name}], [{value}], false); {rows}",
    "SELECT <set_config>({computed}, [{value}], true), ({scalar})",
    "SELECT <pg_catalog>.<set_config>({computed}, [{value}], false) FROM (VALUES (1)) v; {rows}",
    "WITH c AS MATERIALIZED (SELECT <set_config>([{name}], [{value}], true) x) SELECT x, ({scalar}) FROM c",
    "SELECT ({computed}).set_config([{value}], true); {rows}",
    "SELECT * FROM set_config({computed}, [{value}], false), LATERAL ({rows}) r",
    "UPDATE <pg_settings> SET setting = [{value}] WHERE name = {computed}; {rows}",
    "UPDATE pg_catalog.<pg_settings> AS s SET setting = [{value}] WHERE s.name = [{name}] RETURNING ({scalar})",
    "WITH u AS (UPDATE <pg_settings> SET setting = [{value}] WHERE name = [{name}]) {rows}",
    "MERGE INTO pg_settings s USING (SELECT 1) x ON s.name = [{name}] WHEN MATCHED THEN UPDATE SET setting = [{value}]; {rows}",
    "SELECT query_to_xml([{rows}], true, true, '')",
    "SELECT <query_to_xml>([SET ROLE {other}], true, true, ''); {rows}",
    "SELECT table_to_xml('orders', true, true, '')",
    "SELECT schema_to_xml('public', true, true, '')",
    "SELECT cursor_to_xml('c', 5, true, true, '')",
    "SELECT ts_stat([{rows}])",
    "DISCARD ALL; {rows}", "DISCARD PLANS; {rows}", "DISCARD TEMP; {rows}", "DISCARD SEQUENCES",
    "DECLARE c CURSOR WITH HOLD FOR {rows}",
    "DECLARE c CURSOR FOR {rows}; FETCH ALL FROM c",
    "FETCH ALL FROM c", "MOVE ALL IN c", "CLOSE ALL; {rows}",
    "PREPARE p AS {rows}", "EXECUTE p", "DEALLOCATE ALL; {rows}",
    "CREATE TEMP TABLE orders AS SELECT * FROM public.orders; {rows}",
    "CREATE TEMP VIEW seen AS SELECT * FROM public.orders; TABLE seen",
    "CREATE VIEW pg_temp.seen WITH (security_invoker = false) AS {rows}; TABLE seen",
    "CREATE RULE r AS ON UPDATE TO orders DO ALSO SELECT 1; {rows}",
    "CREATE POLICY all_rows ON orders USING (true); {rows}",
    "ALTER TABLE orders DISABLE ROW LEVEL SECURITY; {rows}",
    "ALTER TABLE orders OWNER TO <{login}>; {rows}",
    "DROP POLICY own ON orders; {rows}",
    "ALTER ROLE <{login}> SET role = [{other}]; {rows}",
    "ALTER ROLE CURRENT_USER SET <app>.<tenant> = [{theirs}]; {rows}",
    "ALTER ROLE <{other}> PASSWORD [x]",
    "ALTER DATABASE {database} SET <app>.<tenant> = [{theirs}]",
    "ALTER FUNCTION timed() SET role = [{other}]; SELECT timed(); {rows}",
    "ALTER SYSTEM SET app.tenant = [{theirs}]",
    "GRANT <{other}> TO CURRENT_USER; {rows}", "GRANT <{login}> TO <{other}>; {rows}",
    "REASSIGN OWNED BY <{other}> TO CURRENT_USER; {rows}",
    "CREATE ROLE eve IN ROLE <{other}>; SET ROLE eve; {rows}",
    "CREATE TRIGGER t BEFORE INSERT ON orders EXECUTE FUNCTION run(); {rows}",
    "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION run()",
    "CREATE AGGREGATE pg_temp.a (text) (sfunc = set_config, stype = text)",
    "CREATE OPERATOR pg_temp.=== (function = set_config, leftarg = text, rightarg = text)",
    "CREATE CAST (text AS int) WITH INOUT", "CREATE LANGUAGE x HANDLER y", "CREATE EXTENSION dblink",
    "COPY orders TO STDOUT", "COPY ({rows}) TO STDOUT", "COPY orders FROM PROGRAM 'true'",
    "LOCK TABLE orders; {rows}", "SELECT * FROM orders FOR UPDATE",
    "INSERT INTO orders VALUES (9, [{other}], [{theirs}], 'forged')",
    "INSERT INTO orders SELECT * FROM orders ON CONFLICT DO NOTHING RETURNING *",
    "UPDATE orders SET owner = [{other}], tenant = [{theirs}]",
    "UPDATE orders SET secret = secret || '!' WHERE 1 / (length(secret) - 6) > 0 RETURNING secret",
    "DELETE FROM orders WHERE owner = [{other}] OR tenant = [{theirs}] RETURNING secret",
    "SELECT * FROM orders WHERE 1 / (length(secret) - 10) = 0 OR secret::int = 1",
    "SELECT * FROM orders ORDER BY (CASE WHEN secret LIKE 'Xk%' THEN 1 / 0 ELSE 1 END)",
    "SELECT * FROM orders WHERE secret ~ '^X(k|K)+' OR lower(secret) LIKE 'xk7%'",
    "SELECT most_common_vals, histogram_bounds FROM pg_stats WHERE tablename = 'orders'",
    "SELECT n_distinct, null_frac, avg_width FROM pg_stats WHERE tablename = 'marks'",
    "SELECT * FROM pg_statistic", "SELECT * FROM pg_stats_ext_exprs", "SELECT * FROM pg_authid",
    "SELECT query FROM pg_stat_activity WHERE query LIKE '%secret%' AND usename = [{other}]",
    "SELECT * FROM ziggurat.seal_key", "SELECT ziggurat.claim('app.tenant'), ({scalar})",
    "SELECT current_setting('ziggurat.nothing', true), ({scalar})",
    "SELECT set_masklen('1.2.3.4', 0), lo_get(1), pg_read_file('PG_VERSION')",
    "EXPLAIN {rows}", "EXPLAIN (ANALYZE, COSTS OFF) {rows}", "EXPLAIN (FORMAT JSON) {rows}",
    "EXPLAIN ANALYZE EXECUTE p", "ANALYZE orders; {rows}", "VACUUM orders", "CLUSTER orders",
    "SELECT pg_sleep(3), ({scalar})", "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE false",
    "SELECT dblink('dbname={database}', [{rows}])", "LISTEN x; NOTIFY x; {rows}", "SHOW ALL; {rows}",
    "SHOW role; {rows}", "SECURITY LABEL ON TABLE orders IS 'x'", "IMPORT FOREIGN SCHEMA x FROM SERVER y INTO z",
    "SELECT has_table_privilege([{other}], 'orders', 'SELECT'), ({scalar})",
    "SELECT row_security_active('orders'), ({scalar})", "VALUES (({scalar}))",
]
NAMES = ["role", "app.tenant", "session_authorization", "ziggurat.claims", "row_security"]


class Spelling:
    """One way of writing identifiers, strings and keywords, drawn at random."""

    def __init__(self, chance):
        self.chance = chance

    def identifier(self, name):
        def case(text):
            return "".join(self.chance.choice([c.lower(), c.upper()]) for c in text)

        escaped = "".join(self.chance.choice([c, f"\\{ord(c):04x}", f"\\+{ord(c):06x}"]) for c in name)
        return self.chance.choice(
            [
                name,
                case(name),
                f'"{name}"',
                f'U&"{escaped}"',
                f'u&"{escaped.replace(chr(92), "!")}" UESCAPE \'!\'',
                f"/* */{name}/*/**/*/",
                f"\n{case(name)} -- x\n",
            ]
        )

    def string(self, text):
        plain = text.replace("'", "''")
        hexadecimal = "".join(f"\\x{ord(c):02x}" for c in text)
        escaped = "".join(f"\\{ord(c):04x}" for c in text)
        return self.chance.choice(
            [f"'{plain}'", f"E'{hexadecimal}'", f"U&'{escaped}'", f"$${text}$$", f"$q${text}$q$"]
        )

    def computed(self, text):
        """An expression for a name that a reader of the text does not see."""
        numbers = " || ".join(f"chr({ord(c)})" for c in text)
        digits = text.encode().hex()
        half = len(text) // 2
        return self.chance.choice(
            [
                numbers,
                f"'{text[:half]}' || '{text[half:]}'",
                f"convert_from('\\x{digits}', 'UTF8')",
                f"reverse('{text[::-1]}')",
                f"format('%s%s', '{text[:half]}', '{text[half:]}')",
                f"(SELECT '{text[:half]}{text[half:]}'::text)",
                f"replace('{text}#', '#', '')",
            ]
        )


def corpus(names):
    """Returns the statements for these names, the same for equal names: each template once at least."""
    chance = random.Random(SEED)
    templates = [("alone", text) for text in ALONE] + [("around", text) for text in AROUND]
    templates += [("around", text) for text in AROUND] * 2
    texts = {}
    # Each change once by itself, and each template, before any comes again.
    for change in CHANGE:
        texts[filled("around", AROUND[0], names, chance, change)] = None
    while len(texts) < COUNT:
        chance.shuffle(templates)
        for kind, template in templates:
            texts[filled(kind, template, names, chance)] = None
    return list(texts)[:COUNT]


def filled(kind, template, names, chance, change=None):
    spelling = Spelling(chance)
    scope = chance.choice(["", "", "LOCAL", "SESSION"])
    name = chance.choice(NAMES)
    value = {"role": names["other"], "app.tenant": names["theirs"]}.get(name, "off")
    change = (change or chance.choice(CHANGE)).format(scope=scope, **names)
    text = template.format(
        change=change,
        rows=chance.choice(ROWS),
        scalar="SELECT string_agg(secret, ',') FROM orders",
        name=name,
        value=value,
        computed=spelling.computed(name),
        **names,
    )
    return written(text, spelling)


def written(text, spelling):
    """Writes identifiers and strings, the inner ones first."""
    text = re.sub(r"<([^<>]*)>", lambda found: spelling.identifier(found[1]), text)
    while found := re.search(r"\[([^\[\]]*)\]", text):
        text = text[: found.start()] + spelling.string(found[1]) + text[found.end() :]
    return text
