//! Program that prints the password of a role.

use std::{borrow::Cow, time::Duration};

use jiff::Timestamp;
use secrecy::{SecretString, zeroize::Zeroizing};
use serde::Deserialize;
use thiserror::Error;
use tokio::{
    io::{self, AsyncRead, AsyncReadExt as _},
    time::{self, Instant},
};
use tracing::debug;
use ziggurat_runtime::redact::Redactor;

use crate::{
    LOG_TARGET,
    driver::{CommandLine, Running, ending},
};

/// Maximum length of the output. Of the messages on standard error as much is logged.
const MAX_OUTPUT: usize = 64 << 10;

/// Longest life of a password that is counted.
const MAX_LIFE: Duration = Duration::from_hours(24 * 365);

/// Program that prints the password of a role, and the use of what it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordCommand {
    /// The program.
    pub command: CommandLine,
    /// Time for which a password is kept; zero to ask for each connection that needs one.
    pub lifetime: Duration,
    /// Maximum time that the program may take.
    pub timeout: Duration,
}

/// Password, and the time for which it is good.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) password: SecretString,
    /// Number of the run that has printed it.
    pub(super) run: u64,
    pub(super) since: Instant,
    /// `None` for a password that is not kept.
    pub(super) life: Option<Duration>,
}

/// Reason why there is no password. It has nothing of the output.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(super) struct Reason(Cow<'static, str>);

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// Output in JSON.
#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    password: Cow<'a, str>,
    #[serde(borrow)]
    expires_at: Option<Cow<'a, str>>,
}

// === impl PasswordCommand ===

impl PasswordCommand {
    /// Runs the program. A failure is a text that has nothing of its output.
    pub(super) async fn run(
        &self,
        database: &str,
        variables: &[(&'static str, String)],
    ) -> Result<Issued, Reason> {
        let mut command = self.command.command();
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let running = Running::start(&mut command)
            .map_err(|error| format!("it cannot be started: {}", error.kind()))?;
        let ended = time::timeout(self.timeout, self.finish(running, database)).await;
        ended.unwrap_or_else(|_| Err(format!("no end within {:?}", self.timeout).into()))
    }

    async fn finish(&self, mut running: Running, database: &str) -> Result<Issued, Reason> {
        let (output, messages) = (running.child.stdout.take(), running.child.stderr.take());
        let (Some(output), Some(messages)) = (output, messages) else {
            return Err("it has no output".into());
        };
        let read = tokio::try_join!(read(output, true), read(messages, false));
        let (output, messages) = read.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => "more than 64 KiB of output".to_owned(),
            kind => format!("its output cannot be read: {kind}"),
        })?;
        let status = running.wait().await;
        let status = status.map_err(|error| error.kind().to_string())?;
        if tracing::enabled!(target: LOG_TARGET, tracing::Level::DEBUG) {
            log(database, &ending(status), &output, &messages);
        }
        if !status.success() {
            return Err(ending(status).into());
        }
        self.issued(&output)
    }

    /// Reads the output: one line, or JSON.
    fn issued(&self, output: &[u8]) -> Result<Issued, Reason> {
        let text = str::from_utf8(output).map_err(|_| "its output is not UTF-8")?;
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let mut life = (!self.lifetime.is_zero()).then_some(self.lifetime);
        let password = if text.trim_start().starts_with('{') {
            // The error of the parser shows a part of the text.
            let output: Output<'_> =
                serde_json::from_str(text).map_err(|_| "its output is not JSON with a password")?;
            if let Some(end) = &output.expires_at {
                let left = left(end)?;
                life = Some(life.map_or(left, |life| life.min(left)));
            }
            SecretString::from(Zeroizing::new(output.password.into_owned()).as_str())
        } else {
            SecretString::from(text)
        };
        let is_one_line = |text: &str| !text.is_empty() && !text.contains(['\n', '\0']);
        if !is_one_line(secrecy::ExposeSecret::expose_secret(&password)) {
            return Err("its output is not one line".into());
        }
        Ok(Issued {
            password,
            run: 0,
            since: Instant::now(),
            life: life.map(|life| life.min(MAX_LIFE)),
        })
    }
}

// === impl Issued ===

impl Issued {
    pub(super) fn is_good(&self) -> bool {
        self.life.is_some_and(|life| self.since.elapsed() < life)
    }

    /// Returns the time at which another one should be there.
    pub(super) fn renewal(&self) -> Option<Instant> {
        Some(self.since + self.life?.mul_f64(0.8))
    }
}

/// Returns the time until a password expires.
fn left(end: &str) -> Result<Duration, Reason> {
    let end: Timestamp = end.parse().map_err(|_| "its expires_at is not RFC 3339")?;
    let left = end.duration_since(Timestamp::now());
    let left = Duration::try_from(left).ok();
    left.filter(|left| !left.is_zero())
        .ok_or_else(|| "its password has expired".into())
}

/// Reads a stream to its end. One that is longer than the limit is an error, or is cut.
async fn read(stream: impl AsyncRead + Unpin, is_limited: bool) -> io::Result<Zeroizing<Vec<u8>>> {
    // With room for all, since a buffer that grows leaves a copy behind.
    let mut text = Zeroizing::new(Vec::with_capacity(MAX_OUTPUT + 1));
    let mut stream = stream.take(MAX_OUTPUT as u64 + 1);
    while text.len() <= MAX_OUTPUT && stream.read_buf(&mut *text).await? > 0 {}
    if text.len() > MAX_OUTPUT && is_limited {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // A program that can write no more would not end.
    io::copy(&mut stream.into_inner(), &mut io::sink()).await?;
    Ok(text)
}

/// Logs what the program has written on standard error, without what it has printed.
fn log(database: &str, ending: &str, output: &[u8], messages: &[u8]) {
    let mut redactor = Redactor::default();
    redactor.add(output.trim_ascii());
    let stderr = redactor.hide(String::from_utf8_lossy(messages).trim());
    debug!(target: LOG_TARGET, database, ending, stderr, "password_command has ended");
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn shell(script: &str) -> PasswordCommand {
        let words = ["/bin/sh", "-c", script].map(str::to_owned);
        PasswordCommand {
            command: CommandLine::new(words.into()).expect("a program"),
            lifetime: Duration::ZERO,
            timeout: Duration::from_secs(20),
        }
    }

    async fn printed(script: &str) -> Result<String, String> {
        let variables = [("ZIGGURAT_DB_HOST", "db.example".to_owned())];
        let issued = shell(script).run("main", &variables).await;
        let issued = issued.map_err(|reason| reason.to_string())?;
        Ok(issued.password.expose_secret().to_owned())
    }

    #[tokio::test]
    async fn the_output_is_one_line_or_json() {
        for (script, expected) in [
            ("echo swordfish", "swordfish"),
            ("printf swordfish", "swordfish"),
            ("printf 'sword fish\\r\\n'", "sword fish"),
            ("echo $ZIGGURAT_DB_HOST", "db.example"),
            (r#"echo '{"password":"a\"b","other":1}'"#, "a\"b"),
            (
                r#"echo '{"password": "p", "expires_at": "2999-01-31T12:00:00+01:00"}'"#,
                "p",
            ),
            // The program is not read from standard input.
            ("cat; echo swordfish", "swordfish"),
        ] {
            assert_eq!(printed(script).await.as_deref(), Ok(expected), "{script}");
        }
    }

    #[tokio::test]
    async fn a_failure_says_how_the_program_ended_and_nothing_that_it_printed() {
        for (script, expected) in [
            ("echo swordfish; exit 1", "exit status 1"),
            ("echo swordfish >&2; exit 255", "exit status 255"),
            ("echo swordfish; kill -TERM $$", "signal 15"),
            ("echo swordfish; echo trout", "its output is not one line"),
            ("true", "its output is not one line"),
            ("printf '\\377'", "its output is not UTF-8"),
            (
                "echo '{swordfish'",
                "its output is not JSON with a password",
            ),
            (
                r#"echo '{"secret":"swordfish"}'"#,
                "its output is not JSON with a password",
            ),
            (
                r#"echo '{"password":"swordfish","expires_at":"soon"}'"#,
                "its expires_at is not RFC 3339",
            ),
            (
                r#"echo '{"password":"swordfish","expires_at":"2001-01-01T00:00:00Z"}'"#,
                "its password has expired",
            ),
            ("head -c 65537 /dev/zero", "more than 64 KiB of output"),
            // A program that writes without end is killed.
            ("yes swordfish", "more than 64 KiB of output"),
        ] {
            assert_eq!(printed(script).await, Err(expected.to_owned()), "{script}");
        }
        let mut missing = shell("");
        missing.command = CommandLine::new(vec!["/no/such/program".into()]).expect("a program");
        let error = missing.run("main", &[]).await.expect_err("no program");
        assert_eq!(error.to_string(), "it cannot be started: entity not found");
    }

    #[tokio::test]
    async fn messages_without_end_do_not_hold_up_the_program() {
        let script = "head -c 1000000 /dev/zero >&2; echo swordfish";
        assert_eq!(printed(script).await.as_deref(), Ok("swordfish"));
    }

    #[tokio::test]
    async fn a_password_lives_until_the_earlier_of_both_times() {
        let end = Timestamp::now() + Duration::from_mins(10);
        let script = format!(r#"echo '{{"password":"p","expires_at":"{end}"}}'"#);
        let mut command = shell(&script);
        for (lifetime, seconds) in [(0, 590..=600), (60, 60..=60), (6000, 590..=600)] {
            command.lifetime = Duration::from_secs(lifetime);
            let issued = command.run("main", &[]).await.expect("a password");
            let life = issued.life.expect("limited").as_secs();
            assert!(seconds.contains(&life), "{lifetime}: {life}");
        }
        let issued = shell("echo p").run("main", &[]).await.expect("a password");
        assert_eq!(issued.life, None);
    }
}
