//! Tests of a token file that changes while clients use their tokens.

use std::{
    fs,
    io::Write as _,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Instant,
};

use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use ziggurat_tokens::{CreatedToken, NewToken, TokenFile};

use super::{
    load::{during, until},
    scaled, wire,
};
use crate::support::{Client, Home, Postgres};

const CLIENTS: usize = 8;

fn add(file: &TokenFile) -> CreatedToken {
    file.add(NewToken::default(), Timestamp::now())
        .expect("written")
}

fn status(client: &Client, token: &str) -> u16 {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let reply = wire::ask(client.address(), token, body);
    reply.expect("answered").status
}

/// Writes a file in place, like editors do: first empty, then half of it, then all.
fn overwrite(path: &Path, text: &str) {
    let mut file = fs::File::create(path).expect("written");
    let (first, second) = text.split_at(text.len() / 2);
    for half in [first, second] {
        file.write_all(half.as_bytes()).expect("written");
        file.flush().expect("written");
    }
}

#[test]
fn a_valid_token_is_never_refused_however_often_its_file_is_replaced() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (_program, client) = home.serve(&[]);
    let file = TokenFile::new(home.tokens());
    let calls = AtomicUsize::new(0);
    let call = |_| {
        assert_eq!(status(&client, &token), 200);
        calls.fetch_add(1, SeqCst);
    };
    let begun = Instant::now();
    let [stays, goes] = during(CLIENTS, call, || {
        for _ in 0..scaled(480) {
            let other = add(&file);
            file.remove(&other.record.id).expect("written");
        }
        // The commands also replace the file, in another process.
        for _ in 0..20 {
            home.token("main");
        }
        let goes = add(&file);
        let stays = add(&file);
        let is_good = |made: &CreatedToken| status(&client, made.token.expose_secret()) == 200;
        until("a new token is good", || is_good(&stays) && is_good(&goes));
        home.run(&["-remove-token", &goes.record.id], "");
        until("a removed token is no good", || !is_good(&goes));
        [stays, goes]
    });
    let calls = calls.load(SeqCst);
    println!(
        "{} writes, {calls} calls in {:?}",
        scaled(960) + 23,
        begun.elapsed()
    );
    assert_eq!(status(&client, stays.token.expose_secret()), 200);
    assert_eq!(status(&client, goes.token.expose_secret()), 401);
}

#[test]
fn a_file_written_in_place_does_not_lock_out_valid_tokens_permanently() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (program, client) = home.serve(&[]);
    let other = add(&TokenFile::new(home.tokens()));
    let text = fs::read_to_string(home.tokens()).expect("readable");
    let answers = Mutex::new([0_usize; 2]);
    let call = |_| {
        let status = status(&client, &token);
        assert!([200, 401].contains(&status), "{status}");
        answers.lock().expect("whole")[usize::from(status == 401)] += 1;
    };
    during(CLIENTS, call, || {
        for round in 0..scaled(1000) {
            overwrite(&home.tokens(), &format!("{text}# {round}\n"));
        }
    });
    println!("{:?} accepted and refused", answers.lock().expect("whole"));
    for token in [&token, other.token.expose_secret()] {
        until("the token is good", || status(&client, token) == 200);
    }
    assert!(!program.log().contains("panicked"), "{}", program.log());
}
