//! Test of a PostgreSQL server that is killed and restarted.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Instant,
};

use super::{
    load::{during, until},
    mortal::Mortal,
    scaled, wire,
};
use crate::support::Home;

const CONTENT: &str = "
    CREATE TABLE plants AS
        SELECT id, 'plant ' || id AS name FROM generate_series(1, 1000) AS id;
    CREATE TABLE journal (entry bigint)";

const READERS: usize = 6;

/// The readers, one client that writes, and one with results too large to buffer.
const CLIENTS: usize = READERS + 2;

/// Errors that a client may get while PostgreSQL is down.
const CLEAR: [&str; 2] = [
    "Failed to get database client: failed to connect to database '",
    "Error iterating rows: the connection to the database was lost",
];

/// Counts of the clients' answers.
#[derive(Default)]
struct Answers {
    /// Number of starts and kills: odd while PostgreSQL is up.
    era: AtomicUsize,
    calls: AtomicUsize,
    right: [AtomicUsize; CLIENTS],
    wrong: AtomicUsize,
    complaints: Mutex<BTreeSet<String>>,
    written: Mutex<Vec<usize>>,
}

impl Answers {
    /// Sends a query and returns whether the answer was correct; otherwise it must be an error or
    /// cut off.
    fn take(&self, address: &str, token: &str, question: &str, expected: &str) -> bool {
        let era = self.era.load(SeqCst);
        let reply = wire::ask(address, token, &wire::query(question));
        let is_up = era % 2 == 1 && self.era.load(SeqCst) == era;
        let Ok(reply) = reply else {
            assert!(!is_up, "cut off: {question}");
            return false;
        };
        let (text, is_error) = reply.said();
        if is_error {
            assert!(!is_up, "PostgreSQL is there, and yet: {}", end_of(&text));
            // If a large result is cut off, the error comes after the rows.
            let complaint = text.lines().rfind(|line| is_clear(line));
            let complaint = complaint.unwrap_or_else(|| panic!("not clear: {}", end_of(&text)));
            let mut complaints = self.complaints.lock().expect("whole");
            complaints.insert(complaint.to_owned());
            return false;
        }
        assert!(text.ends_with(expected), "{question}: {}", end_of(&text));
        true
    }

    fn call(&self, client: usize, address: &str, token: &str) {
        let call = self.calls.fetch_add(1, SeqCst);
        let is_right = match client {
            READERS => {
                let question = format!("INSERT INTO journal VALUES ({call})");
                let is_right = self.take(address, token, &question, "Rows affected: 1");
                if is_right {
                    self.written.lock().expect("whole").push(call);
                }
                is_right
            }
            client if client > READERS => {
                let rows: Vec<_> = (1..=3000).map(|n| format!("{n}\tplant {n}")).collect();
                let expected = format!("id\tname\n{}", rows.join("\n"));
                let question = "SELECT n AS id, 'plant ' || n AS name \
                                FROM generate_series(1, 3000) AS n";
                self.take(address, token, question, &expected)
            }
            _ => {
                let id = call % 1000 + 1;
                // Some statements take a while, so that the kill interrupts them for sure.
                let nap = if client == 0 { ", pg_sleep(0.02)" } else { "" };
                let nothing = if client == 0 { "\t" } else { "" };
                let question = format!("SELECT id, name{nap} FROM plants WHERE id = {id}");
                self.take(
                    address,
                    token,
                    &question,
                    &format!("\n{id}\tplant {id}{nothing}"),
                )
            }
        };
        let counter = if is_right {
            &self.right[client]
        } else {
            &self.wrong
        };
        counter.fetch_add(1, SeqCst);
    }

    /// Waits until every client has got this many further correct answers.
    fn until_right(&self, times: usize) {
        let before = self.right.each_ref().map(|right| right.load(SeqCst));
        until("everybody is answered", || {
            let counters = self.right.iter().zip(before);
            counters
                .into_iter()
                .all(|(right, before)| right.load(SeqCst) >= before + times)
        });
    }
}

fn is_clear(line: &str) -> bool {
    // PostgreSQL may send an error while it shuts down.
    let is_farewell = line.contains(": FATAL: ") && line.contains("(SQLSTATE 57P0");
    is_farewell || CLEAR.iter().any(|clear| line.starts_with(clear))
}

/// Returns the last lines, which contain the error.
fn end_of(text: &str) -> String {
    let lines: Vec<_> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

#[test]
fn postgresql_killed_under_load_is_a_clear_error_until_it_is_back() {
    let mut postgres = Mortal::with(CONTENT);
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}{}{}",
        postgres.entry("main", ""),
        postgres.entry("journal", "    allow_writes: true\n"),
        postgres.entry("large", "    row_limit: 5000\n"),
    ));
    let tokens: Vec<_> = (0..CLIENTS)
        .map(|client| match client {
            READERS => home.token("journal"),
            client if client > READERS => home.token("large"),
            _ => home.token("main"),
        })
        .collect();
    let (program, client) = home.serve(&[]);
    let answers = Answers::default();
    answers.era.store(1, SeqCst);

    let call = |who: usize| answers.call(who, client.address(), &tokens[who]);
    during(CLIENTS, call, || {
        for _ in 0..scaled(2) {
            answers.until_right(5);
            answers.era.fetch_add(1, SeqCst);
            postgres.kill();
            let before = answers.wrong.load(SeqCst);
            until("its loss is noticed", || {
                answers.wrong.load(SeqCst) >= before + 20
            });
            let begun = Instant::now();
            postgres.start_again();
            answers.era.fetch_add(1, SeqCst);
            answers.until_right(1);
            println!("there again in {:?}", begun.elapsed());
        }
    });

    let calls = answers.calls.load(SeqCst);
    println!("{calls} calls, {} failed", answers.wrong.load(SeqCst));
    let complaints = answers.complaints.lock().expect("whole");
    println!("{complaints:#?}");
    let mut written = answers.written.lock().expect("whole").clone();
    written.sort_unstable();
    let list = written.iter().map(ToString::to_string).collect::<Vec<_>>();
    let kept = postgres.count(&format!(
        "SELECT count(DISTINCT entry) FROM journal WHERE entry IN ({})",
        list.join(",")
    ));
    assert_eq!(
        usize::try_from(kept),
        Ok(written.len()),
        "what was written is there"
    );
    let twice = postgres.count("SELECT count(*) - count(DISTINCT entry) FROM journal");
    assert_eq!(twice, 0, "nothing was written twice");
    assert!(!program.log().contains("panicked"), "{}", program.log());
}
