//! Tests of `-prove`.

mod holes;
mod manual;
mod rag;
mod shop;

use std::{collections::HashSet, fs, process::Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    prove::shop::{SOUND, Shop},
    support::Program,
};

/// A table that all callers read, by mistake.
const OPEN: &str = "CREATE TABLE orders (id int PRIMARY KEY, owner name, note text);
    GRANT SELECT ON orders TO PUBLIC;";

#[test]
fn nothing_is_written_without_the_mark_to_a_configured_database_or_beside_rows() {
    let shop = Shop::new(SOUND);
    let name = shop.copy.name();
    let refused = |why: &str| {
        let ran = shop.prove(&[]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(ran.stderr, format!("ERROR: refusing to write: {why}\n"));
        assert_eq!(ran.stdout, "");
    };
    shop.run("INSERT INTO orders VALUES (1, 'x', 'kept')");
    refused("public.orders has rows");
    assert_ne!(shop.bytes(), 0);
    shop.run("TRUNCATE orders");
    shop.copy
        .run(&format!("ALTER DATABASE \"{name}\" RESET ALL"));
    refused(&format!(
        "the database has no mark: ALTER DATABASE {name} SET ziggurat.throw_away = 'yes'"
    ));
    // A mark of the session counts as little as one of a role.
    let url = format!("{}?options=-cziggurat.throw_away=yes", shop.copy.url());
    assert_eq!(shop.ran(&["-copy", &url]).code, Some(1));
    assert_eq!(shop.bytes(), 0);
    let real = shop.real.name();
    shop.real.run(&format!(
        "ALTER DATABASE \"{real}\" SET ziggurat.throw_away = 'yes'; CREATE TABLE t (a int)"
    ));
    let ran = shop.ran(&["-copy", &shop.real.url()]);
    assert_eq!(
        ran.stderr,
        "ERROR: refusing to write: it is the configured database 'shop'\n"
    );
    assert_eq!(ran.code, Some(1));
}

#[test]
fn a_copy_with_a_partition_on_another_server_is_refused() {
    let shop = Shop::new(
        "CREATE TABLE orders (id int, owner name) PARTITION BY RANGE (id);
         CREATE FOREIGN DATA WRAPPER away; CREATE SERVER other FOREIGN DATA WRAPPER away;
         CREATE FOREIGN TABLE late PARTITION OF orders FOR VALUES FROM (1) TO (9) SERVER other",
    );
    let ran = shop.prove(&[]);
    let why = "ERROR: refusing to write: the rows of public.late are on another server\n";
    assert_eq!((ran.code, &*ran.stderr), (Some(1), why));
}

#[test]
fn a_table_that_takes_no_row_of_b_is_inconclusive() {
    let shop = Shop::new(
        "CREATE TABLE orders (id int, owner name, day date NOT NULL CHECK (day > now() + interval '100 years'));
         ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
         CREATE POLICY own ON orders USING (owner = current_user);
         GRANT SELECT ON orders TO PUBLIC;
         CREATE TABLE closed (id int, owner name);
         ALTER TABLE closed ENABLE ROW LEVEL SECURITY;
         CREATE POLICY own ON closed USING (false); GRANT SELECT ON closed TO PUBLIC",
    );
    let ran = shop.prove(&[]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let lines = ran.stdout.lines();
    let lines: Vec<_> = lines.filter(|line| line.contains("inconclusive")).collect();
    let beginning = "inconclusive: no canary of B could be planted in public";
    assert!(
        matches!(&lines[..], [one, two, last]
            if *one == format!("pg://shop/public/closed: {beginning}.closed: B does not read its own row")
                && two.starts_with(&format!("pg://shop/public/orders: {beginning}.orders: ERROR: "))
                && last.ends_with(" 2 inconclusive")),
        "{ran:?}"
    );
}

#[test]
fn rows_are_planted_with_the_settings_of_their_caller() {
    let shop = Shop::new(
        "CREATE TABLE orders (id int PRIMARY KEY, tenant text, note text);
         ALTER TABLE orders ENABLE ROW LEVEL SECURITY; GRANT SELECT ON orders TO PUBLIC;
         CREATE POLICY own ON orders USING (tenant = current_setting('app.tenant'));
         CREATE FUNCTION owned() RETURNS trigger LANGUAGE plpgsql
           AS $$BEGIN new.tenant := current_setting('app.tenant'); RETURN new; END$$;
         CREATE TRIGGER owns BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION owned()",
    );
    let ran = shop.prove(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn keys_and_sequences_tell_of_others_in_notes() {
    let schema = "CREATE TABLE orders (id serial PRIMARY KEY, owner name NOT NULL, code text UNIQUE);
        ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON orders USING (owner = current_user);
        CREATE TABLE line (ord int REFERENCES orders, owner name NOT NULL);
        ALTER TABLE line ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON line USING (owner = current_user);
        GRANT SELECT, INSERT ON orders, line TO PUBLIC; GRANT USAGE, SELECT ON orders_id_seq TO PUBLIC";
    let shop = Shop::with(schema, "    allow_writes: true\n", "");
    let ran = shop.prove(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in [
        "pg://shop/public/orders policy own: note unique-oracle: ",
        "pg://shop/public/line policy own: note foreign-key-oracle: ",
        "pg://shop/public/orders_id_seq: note sequence: ",
        "pg://shop/public/orders policy own: note size: ",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("error "), "{}", ran.stdout);
}

#[test]
fn plans_with_numbers_of_rows_are_errors() {
    let shop = Shop::with(SOUND, "", "identity: {explain: full}\n");
    let ran = shop.prove(&[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let line = "pg://shop/public/orders policy own: error plan: a plan depends on rows of B (execute_explain, case ";
    assert!(ran.stdout.starts_with(line), "{ran:?}");
}

#[test]
fn statements_of_b_that_a_reads_are_an_error() {
    let shop = Shop::new(&format!("{SOUND} GRANT pg_read_all_stats TO \"ONE\""));
    let ran = shop.prove(&[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let line = "pg://shop: error statistics: statistics depend on rows of B (query_database, case ";
    assert!(ran.stdout.starts_with(line), "{ran:?}");
}

#[test]
fn values_of_a_file_are_looked_for_and_nothing_is_written() {
    for (schema, code) in [(OPEN, 3), (SOUND, 0)] {
        let shop = Shop::new("");
        shop.run_in_real(&format!(
            "{schema} INSERT INTO orders VALUES (1, 'ONE', 'mine'), (2, 'TWO', 'Umbra-secret-7')"
        ));
        let values = shop.home.file("values.txt");
        fs::write(&values, "umbra-secret-7\n\nshort\n").expect("written");
        let ran = shop.ran(&["-canaries", values.to_str().expect("text")]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let line =
            "pg://shop/public/orders: error row: a row of B came back (query_database, case ";
        assert_eq!(ran.stdout.starts_with(line), code == 3, "{ran:?}");
        let changed = "SELECT sum(n_tup_upd + n_tup_del)::bigint FROM pg_stat_all_tables WHERE relname = 'orders'";
        assert_eq!(shop.real.count(changed), 0);
        assert_eq!(shop.real.count("SELECT count(*) FROM orders"), 2);
    }
}

#[test]
fn a_value_in_the_middle_of_a_large_table_is_found_and_functions_change_nothing() {
    let shop = Shop::with("", "    allow_writes: true\n", "");
    shop.run_in_real(&format!(
        "{OPEN} INSERT INTO orders SELECT n, 'TWO', CASE n WHEN 1500 THEN '100%_Umbra''s'
           ELSE (n % 26 + 97) || repeat('x', 40) || n END FROM generate_series(1, 3000) AS n;
         GRANT INSERT, DELETE ON orders TO PUBLIC;
         CREATE FUNCTION pruned() RETURNS void LANGUAGE sql AS 'DELETE FROM orders'"
    ));
    fs::write(shop.home.file("values.txt"), "  100%_Umbra's \n").expect("written");
    let ran = shop.ran(&["-canaries", "values.txt"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stdout
            .starts_with("pg://shop/public/orders: error row: "),
        "{ran:?}"
    );
    assert_eq!(shop.real.count("SELECT count(*) FROM orders"), 3000);
}

#[test]
fn a_file_without_a_value_to_look_for_is_an_error() {
    let shop = Shop::new("");
    shop.run_in_real("");
    for (text, why) in [
        (
            Some("short\n\n"),
            "ERROR: no line of the file has a value of 8 characters",
        ),
        (
            Some("ääääbbb\n"),
            "ERROR: no line of the file has a value of 8 characters",
        ),
        (None, "-canaries values.txt: No such file"),
    ] {
        match text {
            Some(text) => fs::write(shop.home.file("values.txt"), text).expect("written"),
            None => fs::remove_file(shop.home.file("values.txt")).expect("removed"),
        }
        let ran = shop.ran(&["-canaries", "values.txt"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
    }
    // Half of this value is no text by itself.
    fs::write(shop.home.file("values.txt"), "Ümläüt-ßß").expect("written");
    assert_eq!(shop.ran(&["-canaries", "values.txt"]).code, Some(0));
}

#[test]
fn a_proof_that_is_interrupted_leaves_no_rows() {
    let shop = Shop::new(OPEN);
    let url = shop.copy.url();
    let mut command = shop.command(&["-copy", &url]);
    let mut program = Program::start(command.stdout(Stdio::null()));
    shop.copy.wait_until("pg_relation_size('orders') > 0");
    program.signal(Signal::INT);
    assert_eq!(program.ended().code(), Some(1));
    program.wait_for("ERROR: interrupted");
    assert_eq!(shop.bytes(), 0);
}

#[test]
fn findings_are_written_as_sarif_with_fingerprints_that_stay() {
    let shop = Shop::new(OPEN);
    let path = shop.home.file("found.sarif");
    let words = ["-sarif", path.to_str().expect("text")];
    let written = || {
        let ran = shop.prove(&words);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let text = fs::read_to_string(&path).expect("written");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let document = written();
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "ziggurat-tools");
    let results = run["results"].as_array().expect("a list");
    assert!(results.len() > 1, "{document}");
    let mut prints = HashSet::new();
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("a number");
        let rule = &driver["rules"][usize::try_from(index).expect("small")];
        assert_eq!(rule["id"], result["ruleId"], "{result}");
        assert!(rule["shortDescription"]["text"].is_string(), "{rule}");
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("text")));
        assert!(result["message"]["text"].is_string(), "{result}");
        let place = &result["locations"][0];
        let file = &place["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(file, "pg/shop/public/orders.sql");
        assert_eq!(place["physicalLocation"]["region"]["startLine"], 1);
        assert_eq!(place["logicalLocations"][0]["name"], "public.orders");
        let print = result["partialFingerprints"]["ziggurat/v1"].as_str();
        assert_eq!(print.map(str::len), Some(32), "{result}");
        prints.insert(print.map(str::to_owned));
    }
    assert_eq!(prints.len(), results.len(), "{document}");
    assert_eq!(written(), document);
}
