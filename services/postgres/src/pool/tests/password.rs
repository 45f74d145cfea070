//! Tests of passwords that a program prints.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sqlx::{AssertSqlSafe, PgConnection};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
    task::JoinSet,
};

use super::{private::Private, *};
use crate::database::{CommandLine, Host, Password, PasswordCommand};

/// Server, and the program that prints the password of one role: it asks the test.
struct Bench {
    private: Private,
    admin: PgConnection,
    asked: pipe::Receiver,
    answers: pipe::Sender,
}

impl Bench {
    async fn new() -> Self {
        let private = Private::start().await;
        private.given(&["CREATE ROLE reader LOGIN"]).await;
        let names = ["asked", "answers"].map(|name| private.folder().join(name));
        let made = Command::new("mkfifo").args(&names).status();
        assert!(made.expect("mkfifo").success());
        let mut open = pipe::OpenOptions::new();
        // Open in both ways, so that it stays open between two programs.
        open.read_write(true);
        Self {
            admin: private.try_connect().await.expect("a connection"),
            asked: open.open_receiver(&names[0]).expect("a pipe"),
            answers: open.open_sender(&names[1]).expect("a pipe"),
            private,
        }
    }

    fn database(&self, lifetime: Duration) -> Arc<Database> {
        let script = "cd $0; echo -n $ZIGGURAT_DB_PORT:$ZIGGURAT_DB_USER:$ZIGGURAT_DB_NAME. >asked;
            read -r password <answers; echo $password";
        let folder = self.private.folder().display().to_string();
        let words = ["/bin/bash", "-c", script, &folder].map(str::to_owned);
        self.described(words.into(), lifetime)
    }

    fn described(&self, words: Vec<String>, lifetime: Duration) -> Arc<Database> {
        self.private.describe(|settings| {
            settings.hosts = vec![Host::new("127.0.0.1", self.private.pg.port())];
            settings.user = "reader".to_owned();
            settings.connect_timeout = Duration::from_secs(30);
            settings.password = Password::Command(PasswordCommand {
                command: CommandLine::new(words).expect("a program"),
                lifetime,
                timeout: Duration::from_secs(20),
            });
        })
    }

    /// Waits until the program asks.
    async fn asked(&mut self) {
        let expected = format!("{}:reader:postgres.", self.private.pg.port());
        let mut asked = vec![0; expected.len()];
        let read = self.asked.read_exact(&mut asked);
        let read = time::timeout(Duration::from_secs(20), read).await;
        read.expect("it asks in time").expect("a pipe");
        assert_eq!(String::from_utf8_lossy(&asked), expected);
    }

    /// Returns whether the program has asked again.
    fn was_asked_again(&self) -> bool {
        self.asked.try_read(&mut [0]).is_ok()
    }

    /// Gives the role a password.
    async fn set(&mut self, password: &str) {
        let sql = format!("ALTER ROLE reader PASSWORD '{password}'");
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut self.admin)
            .await
            .expect("a password");
    }

    /// Waits until the program asks, and answers.
    async fn answer(&mut self, password: &str) {
        self.asked().await;
        self.say(password).await;
    }

    async fn say(&mut self, password: &str) {
        let line = format!("{password}\n");
        self.answers.write_all(line.as_bytes()).await.expect("told");
    }
}

/// Opens a connection that is used once.
async fn enter(pools: &Pools, database: &Arc<Database>) -> Result<(), String> {
    let entered = pools.connect_once(database).await;
    entered.map(drop).map_err(|error| error.to_string())
}

/// Opens connections at the same time.
fn entering(bench: &Bench, database: &Arc<Database>, count: usize) -> JoinSet<Result<(), String>> {
    let (pools, database) = (&bench.private.pools, database);
    let one = |_| {
        let (pools, database) = (pools.clone(), Arc::clone(database));
        async move { enter(&pools, &database).await }
    };
    (0..count).map(one).collect()
}

#[tokio::test]
async fn one_run_serves_all_connections_that_wait() {
    let mut bench = Bench::new().await;
    bench.set("one").await;
    let database = bench.database(Duration::ZERO);
    let entering_all = entering(&bench, &database, 8);
    bench.asked().await;
    // The program ends only after the answer, so all of them can wait for it.
    bench.say("one").await;
    let entered = entering_all.join_all().await;
    assert_eq!(entered, vec![Ok(()); 8]);
    assert!(!bench.was_asked_again());

    // A password without a lifetime is not kept.
    bench.set("two").await;
    let entering_one = entering(&bench, &database, 1);
    bench.answer("two").await;
    assert_eq!(entering_one.join_all().await, [Ok(())]);
}

#[tokio::test]
async fn a_password_is_kept_for_its_lifetime_and_renewed_before() {
    let mut bench = Bench::new().await;
    bench.set("one").await;
    let database = bench.database(Duration::from_secs(5));
    let entering_one = entering(&bench, &database, 1);
    bench.answer("one").await;
    assert_eq!(entering_one.join_all().await, [Ok(())]);
    assert_eq!(
        entering(&bench, &database, 4).join_all().await,
        vec![Ok(()); 4]
    );
    assert!(!bench.was_asked_again());
    // The program asks without a connection that needs it; meanwhile the old password works.
    bench.asked().await;
    assert_eq!(enter(&bench.private.pools, &database).await, Ok(()));
    bench.set("two").await;
    bench.say("two").await;
    assert_eq!(enter(&bench.private.pools, &database).await, Ok(()));
}

#[tokio::test]
async fn a_password_that_postgresql_refuses_is_replaced_once_if_it_is_old() {
    let mut bench = Bench::new().await;
    bench.set("one").await;
    let database = bench.database(Duration::from_hours(1));
    let entering_one = entering(&bench, &database, 1);
    bench.answer("one").await;
    assert_eq!(entering_one.join_all().await, [Ok(())]);

    bench.set("two").await;
    let refused = enter(&bench.private.pools, &database).await;
    let error = refused.expect_err("a young password is not replaced");
    assert!(error.contains("28P01"), "{error}");
    assert!(!bench.was_asked_again());

    let keeper = database.targets()[0].keeper.as_ref().expect("a program");
    keeper.age(Duration::from_secs(6));
    let entering_all = entering(&bench, &database, 4);
    bench.answer("two").await;
    assert_eq!(entering_all.join_all().await, vec![Ok(()); 4]);
    assert!(!bench.was_asked_again());

    // The replacement is wrong as well.
    bench.set("three").await;
    keeper.age(Duration::from_secs(6));
    let entering_one = entering(&bench, &database, 1);
    bench.answer("wrong").await;
    let [Err(error)] = &entering_one.join_all().await[..] else {
        panic!("nobody gets in");
    };
    assert!(error.contains("28P01"), "{error}");
    assert!(!bench.was_asked_again());
}

#[tokio::test]
async fn no_caller_fails_while_passwords_die_young() {
    // `tests/long/run passwords` takes longer.
    let seconds = std::env::var("PASSWORD_SECONDS").ok();
    let seconds = seconds.map(|seconds| seconds.parse().expect("a number"));
    let (life, length) = match seconds {
        None => (Duration::from_millis(500), Duration::from_secs(3)),
        Some(seconds) => (Duration::from_secs(5), Duration::from_secs(seconds)),
    };
    let mut bench = Bench::new().await;
    let database = bench.database(life);
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..16 {
        let (pools, database) = (bench.private.pools.clone(), Arc::clone(&database));
        callers.spawn(async move {
            let mut count = 0;
            while began.elapsed() < length {
                enter(&pools, &database).await?;
                count += 1;
            }
            Ok::<u32, String>(count)
        });
    }
    let mut runs = VecDeque::new();
    let mut outcomes = Vec::new();
    while !callers.is_empty() {
        tokio::select! {
            Some(outcome) = callers.join_next() => outcomes.push(outcome.expect("no panic")),
            () = bench.asked() => {
                let password = format!("secret{}", runs.len());
                // The old password dies at once.
                bench.set(&format!("{password}' VALID UNTIL 'infinity")).await;
                bench.say(&password).await;
                runs.push_back(began.elapsed());
            }
        }
    }
    assert!(
        outcomes
            .iter()
            .all(|count| count.as_ref().is_ok_and(|count| *count > 1)),
        "{outcomes:?}"
    );
    let short = runs.iter().zip(runs.iter().skip(1));
    let short: Vec<_> = short
        .filter(|(one, next)| next.saturating_sub(**one) < life / 2)
        .collect();
    assert!(runs.len() > 3 && short.is_empty(), "{runs:?}");
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_with_the_programs_it_has_started() {
    let bench = Bench::new().await;
    let process: PathBuf = bench.private.folder().join("process");
    let script = "sleep 1000 & echo $! > $0; wait";
    let path = process.display().to_string();
    let words = ["/bin/sh", "-c", script, &path].map(str::to_owned);
    let mut settings = bench
        .described(words.into(), Duration::ZERO)
        .settings()
        .clone();
    let Password::Command(command) = &mut settings.password else {
        panic!("a program");
    };
    command.timeout = Duration::from_secs(1);
    let database = Arc::new(Database::try_from(settings).expect("valid"));
    let error = enter(&bench.private.pools, &database).await;
    let expected = "failed to connect to database 'main': password_command of 'main' failed: no \
                    end within 1s";
    assert_eq!(error, Err(expected.to_owned()));
    let sleeper = fs::read_to_string(process).expect("it was started");
    time::timeout(Duration::from_secs(10), async {
        while is_running(sleeper.trim()) {
            task::yield_now().await;
        }
    })
    .await
    .expect("it is killed");
}

/// Returns whether a process is there and has not ended.
fn is_running(process: &str) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

#[tokio::test]
async fn a_run_ends_with_its_database() {
    let mut bench = Bench::new().await;
    let database = bench.database(Duration::ZERO);
    let mut entering_one = entering(&bench, &database, 1);
    bench.asked().await;
    entering_one.abort_all();
    while entering_one.join_next().await.is_some() {}
    let keeper = Arc::downgrade(database.targets()[0].keeper.as_ref().expect("a program"));
    drop(database);
    time::timeout(Duration::from_secs(10), async {
        while keeper.strong_count() > 0 {
            task::yield_now().await;
        }
    })
    .await
    .expect("nothing holds it");
}
