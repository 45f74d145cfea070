//! Programs of the operator that connections need.
//!
//! They run without a shell, each in a process group of its own, so that a program that is given up
//! ends together with the programs it has started.

use std::{
    fmt, io,
    os::unix::process::ExitStatusExt as _,
    process::{ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;
use tokio::process::{Child, Command};

/// Program and its arguments.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandLine {
    program: String,
    arguments: Vec<String>,
}

/// Failure of a program. `Display` shows nothing that the program has written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key} of '{database}' {failed}: {why}")]
pub struct CommandFailure {
    /// Key of the program in the configuration file.
    pub(crate) key: &'static str,
    /// Configured name of the database.
    pub(crate) database: String,
    /// Says in one or more words what did not happen.
    pub(crate) failed: &'static str,
    /// The reason.
    pub(crate) why: String,
}

/// Running program. Dropping it kills its process group.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    /// `None` when the program has ended.
    group: Option<Pid>,
}

// === impl CommandLine ===

impl CommandLine {
    /// Makes a command of a program and its arguments. Returns `None` if there is no word.
    #[must_use]
    pub fn new(words: Vec<String>) -> Option<Self> {
        let mut words = words.into_iter();
        Some(Self {
            program: words.next()?,
            arguments: words.collect(),
        })
    }

    /// Returns whether the program has a name.
    pub(crate) fn is_named(&self) -> bool {
        !self.program.is_empty()
    }

    /// Returns the command with the address in place of `{host}` and `{port}`.
    pub(crate) fn for_address(&self, host: &str, port: u16) -> Self {
        let port = port.to_string();
        let filled = |word: &String| word.replace("{port}", &port).replace("{host}", host);
        Self {
            program: self.program.clone(),
            arguments: self.arguments.iter().map(filled).collect(),
        }
    }

    /// Prepares the program with pipes for its output and its messages, and without input.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl fmt::Debug for CommandLine {
    /// Leaves out the arguments, since one may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CommandLine").field(&self.program).finish()
    }
}

// === impl Running ===

impl Running {
    /// Starts a program.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        Ok(Self {
            child,
            group: group.and_then(Pid::from_raw),
        })
    }

    /// Waits for the end of the program.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        // From now on the number may belong to another process.
        self.group = None;
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// Returns how a program has ended, in words.
pub(crate) fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "it ended".to_owned(),
    }
}
