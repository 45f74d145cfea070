//! Keeps the password that a program has printed, and renews it.
//!
//! One run serves all connections that wait for a password. A password with a known life is
//! renewed at 80 % of it, while connections go on using it.

use std::sync::{Arc, Mutex};

use tokio::{
    sync::watch::{self, Receiver, Sender},
    task::JoinSet,
    time::{self, Duration, Instant},
};
use tracing::warn;
use ziggurat_runtime::lock;

use crate::{
    LOG_TARGET,
    database::{
        CommandFailure,
        password::Account,
        password_command::{Issued, PasswordCommand},
    },
};

/// Age up to which a password that PostgreSQL refuses counts as wrong, not as expired.
const FRESH: Duration = Duration::from_secs(5);

/// Result of a run, once it has ended.
type Outcome = Option<Result<Issued, Box<CommandFailure>>>;

/// Password of one host that a program prints.
#[derive(Debug)]
pub(crate) struct PasswordKeeper {
    shared: Arc<Shared>,
    /// The run, or the wait for the renewal. It ends with the database.
    task: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
struct Shared {
    command: PasswordCommand,
    database: String,
    variables: [(&'static str, String); 4],
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of runs so far.
    runs: u64,
    current: Option<Issued>,
    running: Option<Receiver<Outcome>>,
}

// === impl PasswordKeeper ===

impl PasswordKeeper {
    pub(super) fn new(command: PasswordCommand, database: &str, account: Account<'_>) -> Self {
        let Account {
            host,
            user,
            database: name,
        } = account;
        Self {
            shared: Arc::new(Shared {
                command,
                database: database.to_owned(),
                variables: [
                    ("ZIGGURAT_DB_HOST", host.name.clone()),
                    ("ZIGGURAT_DB_PORT", host.port.to_string()),
                    ("ZIGGURAT_DB_USER", user.to_owned()),
                    ("ZIGGURAT_DB_NAME", name.to_owned()),
                ],
                state: Mutex::default(),
            }),
            task: Mutex::default(),
        }
    }

    /// Returns the password, and waits for a run if no password is kept.
    pub(crate) async fn password(&self, until: Instant) -> Result<Issued, Box<CommandFailure>> {
        let run = {
            let mut state = lock(&self.shared.state);
            if let Some(issued) = state.good() {
                return Ok(issued.clone());
            }
            self.join(&mut state)
        };
        self.wait(run, until).await
    }

    /// Returns another password after PostgreSQL has refused one, if there may be a better one.
    pub(crate) async fn replacement(
        &self,
        refused: &Issued,
        until: Instant,
    ) -> Option<Result<Issued, Box<CommandFailure>>> {
        let run = {
            let mut state = lock(&self.shared.state);
            let newer = state.good().filter(|issued| issued.run > refused.run);
            if let Some(newer) = newer {
                return Some(Ok(newer.clone()));
            }
            // A program that is running may have changed the password already.
            if state.running.is_none() && refused.since.elapsed() <= FRESH {
                return None;
            }
            state.current = None;
            self.join(&mut state)
        };
        Some(self.wait(run, until).await)
    }

    /// Makes the password look as old as this.
    #[cfg(test)]
    pub(crate) fn age(&self, age: Duration) {
        let mut state = lock(&self.shared.state);
        let issued = state.current.as_mut().expect("a password");
        let since = Instant::now().checked_sub(age);
        issued.since = since.expect("the machine is older");
    }

    /// Joins the run, or starts one.
    fn join(&self, state: &mut State) -> Receiver<Outcome> {
        if let Some(running) = &state.running {
            return running.clone();
        }
        let sender = state.begin();
        let mut task = lock(&self.task);
        // Ends the wait for the renewal of a password that was dropped.
        *task = JoinSet::new();
        task.spawn(Arc::clone(&self.shared).keep(state.runs, sender.clone()));
        sender.subscribe()
    }

    async fn wait(
        &self,
        mut run: Receiver<Outcome>,
        until: Instant,
    ) -> Result<Issued, Box<CommandFailure>> {
        let ended = time::timeout_at(until, run.wait_for(Option::is_some)).await;
        match ended {
            Ok(Ok(outcome)) => outcome
                .clone()
                .unwrap_or_else(|| Err(self.shared.failure("it was ended").into())),
            Ok(Err(_)) => Err(self.shared.failure("it was ended").into()),
            Err(_) => Err(self.shared.failure("no end within connect_timeout").into()),
        }
    }
}

// === impl Shared ===

impl Shared {
    /// Runs the program, and again whenever its password has to be renewed.
    async fn keep(self: Arc<Self>, mut number: u64, mut sender: Sender<Outcome>) {
        loop {
            let printed = self.command.run(&self.database, &self.variables).await;
            let outcome = printed
                .map(|issued| Issued {
                    run: number,
                    ..issued
                })
                .map_err(|why| self.failure(why.to_string()).into());
            let renewal = lock(&self.state).end(&outcome);
            if let Err(error) = &outcome
                && sender.is_closed()
            {
                let error = &**error as &dyn std::error::Error;
                warn!(target: LOG_TARGET, error, "a password was not renewed");
            }
            sender.send_replace(Some(outcome));
            let Some(renewal) = renewal else { return };
            time::sleep_until(renewal).await;
            let mut state = lock(&self.state);
            // A connection may have started another run meanwhile.
            if state.runs != number {
                return;
            }
            sender = state.begin();
            number = state.runs;
        }
    }

    fn failure(&self, why: impl Into<String>) -> CommandFailure {
        CommandFailure {
            key: "password_command",
            database: self.database.clone(),
            failed: "failed",
            why: why.into(),
        }
    }
}

// === impl State ===

impl State {
    /// Returns the password if it is still good.
    fn good(&self) -> Option<&Issued> {
        self.current.as_ref().filter(|issued| issued.is_good())
    }

    fn begin(&mut self) -> Sender<Outcome> {
        let (sender, receiver) = watch::channel(None);
        self.runs += 1;
        self.running = Some(receiver);
        sender
    }

    /// Records the end of a run, and returns the time of the next one. A password stays until it is
    /// replaced or expires.
    fn end(&mut self, outcome: &Result<Issued, Box<CommandFailure>>) -> Option<Instant> {
        self.running = None;
        let issued = outcome.as_ref().ok()?;
        self.current = Some(issued.clone());
        issued.renewal()
    }
}
