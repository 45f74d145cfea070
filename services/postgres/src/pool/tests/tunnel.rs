//! Tests of connections through the standard streams of a program.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::database::{CommandLine, Settings};

/// Program that connects as `nc` does, and writes its process into a file.
const PROXY: &str = "
import os, selectors, socket, sys
with open(sys.argv[1], 'a') as file:
    print(os.getpid(), file=file)
sock = socket.create_connection((sys.argv[2], int(sys.argv[3])))
ways = {0: sock.fileno(), sock.fileno(): 1}
selector = selectors.DefaultSelector()
for source in ways:
    selector.register(source, selectors.EVENT_READ)
while True:
    for key, _ in selector.select():
        data = os.read(key.fd, 65536)
        if not data:
            sys.exit(0)
        while data:
            data = data[os.write(ways[key.fd], data):]
";

fn words(words: &[&str]) -> Option<CommandLine> {
    CommandLine::new(words.iter().map(|word| (*word).to_owned()).collect())
}

/// Makes a pool that connects through the program.
fn tunneled(fixture: &Fixture, file: &Path, change: impl FnOnce(&mut Settings)) -> Pool {
    let file = file.display().to_string();
    fixture.pool(|settings| {
        let command = ["python3", "-c", PROXY, &file, "{host}", "{port}"];
        settings.connect_command = words(&command);
        settings.connect_timeout = Duration::from_secs(30);
        change(settings);
    })
}

/// Returns the processes that have been started.
fn processes(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn is_running(process: &str) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

async fn until_ended(process: &str) {
    time::timeout(Duration::from_secs(10), async {
        while is_running(process) {
            task::yield_now().await;
        }
    })
    .await
    .expect("it ends in time");
}

fn kill(process: &str) {
    let process = process.parse().ok().and_then(Pid::from_raw);
    kill_process(process.expect("a process"), Signal::KILL).expect("it runs");
}

#[tokio::test]
async fn a_connection_runs_through_a_program_and_ends_with_it() {
    let fixture = Fixture::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("processes");
    let pool = tunneled(&fixture, &file, |_| {});
    let long = "SELECT length(repeat('x', 300000)), repeat('y', 300000)";
    let (answer, _) = ask(&pool, long).await.expect("an answer");
    assert!(answer.contains("300000") && answer.len() > 300_000);
    let [process] = &processes(&file)[..] else {
        panic!("one program");
    };
    assert!(is_running(process));

    // The next statement notices that the program is gone, and connects again.
    kill(process);
    until_ended(process).await;
    assert_eq!(value(&pool, "SELECT 1").await, "1");
    let started = processes(&file);
    assert_eq!(started.len(), 2, "{started:?}");

    fixture.pools.close_all();
    drop(pool);
    until_ended(&started[1]).await;
}

#[tokio::test]
async fn a_statement_is_cancelled_through_a_program_of_its_own() {
    let mut fixture = Fixture::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("processes");
    let pool = tunneled(&fixture, &file, |_| {});
    {
        let sleep = ask(&pool, "SELECT pg_sleep(1000)");
        let mut sleep = pin!(sleep);
        let is_asleep = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000)%' \
                         AND state = 'active' AND pid <> pg_backend_pid()";
        time::timeout(Duration::from_secs(20), async {
            loop {
                tokio::select! {
                    biased;
                    _ = &mut sleep => panic!("it ended"),
                    count = fixture.count(is_asleep) => if count == 1 { break },
                }
            }
        })
        .await
        .expect("it runs in time");
    }
    until_connected(&mut fixture, 0).await;
    let started = processes(&file);
    assert!(started.len() >= 2, "{started:?}");
    for process in started {
        until_ended(&process).await;
    }
}

#[tokio::test]
async fn a_program_that_does_not_connect_is_named_with_its_end() {
    let fixture = Fixture::new().await;
    let failed = async |command: &[&str], timeout: u64| {
        let database = fixture.describe(|settings| {
            settings.connect_command = words(command);
            settings.connect_timeout = Duration::from_secs(timeout);
        });
        let entered = fixture.pools.connect_once(&database).await;
        entered.expect_err("nobody connects").to_string()
    };
    let message = |why: &str| {
        format!(
            "failed to connect to database 'main': connect_command of 'main' did not connect: {why}"
        )
    };
    for (command, why) in [
        (
            &["/bin/sh", "-c", "echo no >&2; exit 255"][..],
            "exit status 255",
        ),
        (&["/bin/sh", "-c", "kill -KILL $$"], "signal 9"),
        (
            &["/no/such/program"],
            "it cannot be started: entity not found",
        ),
    ] {
        assert_eq!(failed(command, 30).await, message(why), "{command:?}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("process").display().to_string();
    let command = ["/bin/sh", "-c", "sleep 1000 & echo $! > $0; wait", &file];
    let late = failed(&command, 1).await;
    assert_eq!(late, message("no answer within connect_timeout"));
    let sleeper = processes(Path::new(&file)).remove(0);
    until_ended(&sleeper).await;
}

#[tokio::test]
async fn a_pool_is_well_again_each_time_its_programs_are_killed() {
    let fixture = Fixture::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("processes");
    let pool = tunneled(&fixture, &file, |_| {});
    for round in 0..10 {
        assert_eq!(value(&pool, "SELECT 1").await, "1", "{round}");
        let process = processes(&file).pop().expect("a program");
        kill(&process);
        until_ended(&process).await;
    }
}
