//! Tests of writers of account files that are killed, or find the disk full.

use std::{
    collections::BTreeMap,
    fs, thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use ziggurat_accounts::{NewUser, UserChanges, UserFile};
use ziggurat_tokens::TokenFile;

use super::{
    clients::limited,
    load::{during, until},
    scaled,
};
use crate::support::{Client, Home, Postgres, Program, output, output_of};

const USERS: [&str; 4] = ["ada", "bob", "cyd", "dee"];

const PASSWORD: &str = "correct horse";

/// Files that may be in the folder of a server.
const FILES: [&str; 8] = [
    "data",
    "ziggurat-tools.yaml",
    "tokens.yaml",
    ".tokens.yaml.lock",
    ".tokens.yaml.new",
    "users.yaml",
    ".users.yaml.lock",
    ".users.yaml.new",
];

/// Pseudo-random times within a period, the same in every run.
struct Moments(u64);

impl Moments {
    fn next_within(&mut self, stretch: Duration) -> Duration {
        // The constants of Knuth's generator.
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        stretch.mul_f64(f64::from(u32::try_from(self.0 >> 32).expect("half")) / f64::from(u32::MAX))
    }
}

/// Creates users with the cheapest password hash, so that checks are fast and writes frequent.
fn users_of(home: &Home) -> UserFile {
    let users = UserFile::new(home.users()).with_cost(4);
    for name in USERS {
        let password = PASSWORD.into();
        let user = NewUser {
            note: "0",
            ..NewUser::new(name, &password)
        };
        let added = users.add(user, Timestamp::now());
        added.expect("written");
    }
    users
}

/// Returns a configuration that counts failed logins, but never blocks them.
fn counting(postgres: &Postgres) -> String {
    format!(
        "databases:\n{}http:\n  auth:\n    max_failed_attempts_before_lockout: 1000000\n    \
         rate_limit_max_attempts: 1000000\n",
        postgres.entry("main")
    )
}

fn assert_no_litter(home: &Home) {
    let entries = fs::read_dir(home.path()).expect("readable");
    for entry in entries {
        let name = entry.expect("readable").file_name();
        assert!(
            FILES.iter().any(|known| name == *known),
            "{}",
            name.display()
        );
    }
}

/// Runs a command, kills it after a while, and returns its output.
fn killed(home: &Home, arguments: &[&str], after: Duration) -> String {
    let mut child = home.command(arguments).spawn().expect("built");
    thread::sleep(after);
    child.kill().expect("a child");
    String::from_utf8(output_of(child).stdout).expect("text")
}

/// Measures about twice the duration of a command.
fn stretch(command: impl Fn()) -> Duration {
    let begun = Instant::now();
    for _ in 0..5 {
        command();
    }
    begun.elapsed() / 3
}

#[test]
fn commands_killed_at_any_time_leave_complete_files_with_all_acknowledged_changes() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let users = users_of(&home);
    let tokens = TokenFile::new(home.tokens());
    let stretch = stretch(|| drop(home.token("main")));
    let mut moments = Moments(1);
    let mut known: Vec<String> = tokens
        .list()
        .expect("whole")
        .into_iter()
        .map(|t| t.id)
        .collect();
    let mut notes: BTreeMap<_, _> = USERS.map(|name| (name, "0".to_owned())).into();
    let (mut acknowledged, mut unsaid) = (0, 0);
    for round in 0..scaled(100) {
        let arguments = ["-add-token", "-token-note", "", "-token-expiry", "never"];
        let arguments = [&arguments[..], &["-token-database", "main"]].concat();
        let said = killed(&home, &arguments, moments.next_within(stretch));
        let now: Vec<String> = tokens
            .list()
            .expect("whole")
            .into_iter()
            .map(|t| t.id)
            .collect();
        assert!(
            known.iter().all(|id| now.contains(id)),
            "lost: {known:?} {now:?}"
        );
        if let Some(id) = said.lines().find_map(|line| line.strip_prefix("ID: ")) {
            assert!(now.iter().any(|known| known == id), "{id} was acknowledged");
            acknowledged += 1;
        } else {
            unsaid += now.len() - known.len();
        }
        known = now;

        let name = USERS[round % USERS.len()];
        let note = round.to_string();
        let arguments = ["-update-user", "-username", name, "-user-note", &note];
        let said = killed(&home, &arguments, moments.next_within(stretch));
        let now = users.list().expect("whole");
        assert_eq!(now.len(), USERS.len());
        for user in now {
            let before = notes.insert(USERS[index(&user.name)], user.note.clone());
            let is_new = user.name == name && user.note == note;
            assert!(
                is_new || before == Some(user.note),
                "{}: {before:?}",
                user.name
            );
        }
        if said.contains("updated successfully") {
            assert_eq!(notes[name], note, "it was acknowledged");
            acknowledged += 1;
        }
        assert_no_litter(&home);
    }
    println!("{acknowledged} acknowledged, {unsaid} written but not said, within {stretch:?}");
    // The lock of a killed command does not block the next one.
    home.token("main");
}

fn index(name: &str) -> usize {
    let at = USERS.iter().position(|known| *known == name);
    at.unwrap_or_else(|| panic!("{name} came from nowhere"))
}

#[test]
fn a_server_killed_during_logins_has_written_all_answered_failures() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&counting(&postgres));
    home.token("main");
    let users = users_of(&home);
    let mut moments = Moments(2);
    let mut written = 0;
    for _ in 0..scaled(12) {
        let before = failures(&users);
        let (mut program, client) = home.serve(&[]);
        let answered = USERS.map(|_| std::sync::atomic::AtomicU64::new(0));
        let call = |who: usize| {
            if fail_to_log_in(&client, USERS[who]) {
                answered[who].fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        };
        during(USERS.len(), call, || {
            thread::sleep(moments.next_within(Duration::from_millis(300)));
            program.signal(Signal::KILL);
            program.ended();
        });
        let after = failures(&users);
        for (who, name) in USERS.iter().enumerate() {
            let answered = answered[who].load(std::sync::atomic::Ordering::SeqCst);
            let counted = after[who] - before[who];
            // A failure may be written without its answer having been sent.
            assert!(
                (answered..=answered + 1).contains(&counted),
                "{name}: {counted} {answered}"
            );
            written += counted;
        }
        assert_no_litter(&home);
    }
    println!("{written} failed logins written down");
    assert!(written > 0, "there was something to lose");
}

/// Fails to log in, and returns whether the server answered.
fn fail_to_log_in(client: &Client, name: &str) -> bool {
    let arguments = serde_json::json!({"username": name, "password": "wrong"});
    let body = super::wire::tool("authenticate_user", &arguments);
    let reply = super::wire::log_in(client.address(), &body);
    reply.is_ok_and(|reply| {
        let (text, is_error) = reply.said();
        assert!(
            is_error && text.contains("invalid username or password"),
            "{text}"
        );
        true
    })
}

fn failures(users: &UserFile) -> [u64; 4] {
    let users = users.list().expect("whole");
    USERS.map(|name| {
        let user = users.iter().find(|user| user.name == name);
        user.expect("not lost").failed_attempts
    })
}

/// Shell command that forbids files to grow, which has the effect of a full disk.
const FULL: &str = "trap '' XFSZ; ulimit -S -f 0";

#[test]
fn commands_that_find_the_disk_full_fail_and_lose_nothing() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    home.token("main");
    let users = users_of(&home);
    users
        .update(
            "ada",
            &UserChanges {
                note: Some("as it was"),
                ..UserChanges::default()
            },
        )
        .expect("written");
    let contents = || [home.tokens(), home.users()].map(|path| fs::read(path).expect("there"));
    let before = contents();
    let add = [
        "-add-token",
        "-token-note",
        "",
        "-token-expiry",
        "never",
        "-token-database",
        "",
    ];
    let commands: [&[&str]; 3] = [
        &add,
        &["-disable-user", "-username", "ada"],
        &["-update-user", "-username", "ada", "-user-note", "more"],
    ];
    for arguments in commands {
        let output = output(&mut limited(&home.command(arguments), FULL));
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.starts_with("ERROR: ") && said.contains(".yaml: File too large"),
            "{said}"
        );
        assert!(
            output.stdout.is_empty(),
            "{output:?}",
            output = output.stdout
        );
        assert!(contents() == before, "{arguments:?}");
        assert_no_litter(&home);
        assert!(!home.file(".tokens.yaml.new").exists() && !home.file(".users.yaml.new").exists());
    }
}

#[test]
fn a_server_with_a_full_disk_continues_and_writes_again_when_there_is_room() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    home.token("main");
    let users = users_of(&home);
    let before = fs::read(home.users()).expect("there");
    let command = home.command(&["-http", "-addr", "127.0.0.1:0"]);
    let (program, client) = Program::listening(&mut limited(&command, FULL));
    let ada = client.logged_in("ada", PASSWORD);
    ada.query("SELECT 1");
    program.wait_for("cannot write an account file");
    assert!(fs::read(home.users()).expect("there") == before);
    assert_no_litter(&home);

    if make_room(&program) {
        client.logged_in("bob", PASSWORD);
        until("the login is written down", || {
            let users = users.list().expect("whole");
            users
                .iter()
                .any(|user| user.name == "bob" && user.last_login.is_some())
        });
        ada.query("SELECT 1");
    }
}

/// Allows the files of a program to grow again, if the system supports it.
#[cfg(target_os = "linux")]
fn make_room(program: &Program) -> bool {
    let all = Rlimit {
        current: None,
        maximum: None,
    };
    let id = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
    rustix::process::prlimit(id, Resource::Fsize, all).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn make_room(_: &Program) -> bool {
    false
}
