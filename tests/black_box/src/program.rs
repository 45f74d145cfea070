//! Running programs, and the output of finished ones.

use std::{
    io::{BufRead as _, BufReader, Read},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output},
    sync::{Arc, Condvar, Mutex},
    thread,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Client, PATIENCE, ended};

/// A running program; killed on drop.
#[derive(Debug)]
pub struct Program {
    child: Child,
    log: Arc<Log>,
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// The log of the program so far, and whether it is complete.
#[derive(Debug, Default)]
struct Log {
    text: Mutex<(String, bool)>,
    grown: Condvar,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Program {
    /// Starts an HTTP server that logs to standard error, and waits until it listens.
    pub fn listening(command: &mut Command) -> (Self, Client) {
        let program = Self::start(command);
        let line = program.wait_for("listening on ");
        let address = line
            .rsplit("listening on ")
            .next()
            .and_then(|rest| rest.split("://").nth(1))
            .and_then(|rest| rest.split_whitespace().next())
            .unwrap_or_else(|| panic!("an address in {line}"))
            .to_owned();
        (program, Client::new(address))
    }

    /// Starts a program that logs to standard error.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("built");
        let stderr = child.stderr.take().expect("piped");
        Self::following(child, stderr)
    }

    /// Starts a program that logs to standard output.
    pub fn start_on_stdout(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("built");
        let stdout = child.stdout.take().expect("piped");
        Self::following(child, stdout)
    }

    fn following(child: Child, log: impl Read + Send + 'static) -> Self {
        let program = Self {
            child,
            log: Arc::default(),
        };
        let follower = Arc::clone(&program.log);
        thread::spawn(move || follower.follow(log));
        program
    }

    /// Takes its standard input and output; works once.
    pub fn pipes(&mut self) -> (ChildStdin, ChildStdout) {
        let stdin = self.child.stdin.take().expect("piped");
        let stdout = self.child.stdout.take().expect("piped");
        (stdin, stdout)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that contains `needle`, also before this call.
    pub fn wait_for(&self, needle: &str) -> String {
        self.log.wait_for(needle, 1)
    }

    /// Runs `act`, and waits for another line that contains `needle` than those before.
    pub fn until_it_says(&self, needle: &str, act: impl FnOnce()) -> String {
        let before = self.log();
        let before = before.lines().filter(|line| line.contains(needle)).count();
        act();
        self.log.wait_for(needle, before + 1)
    }

    /// Waits for the end of the program, and returns the whole log.
    pub fn whole_log(&self) -> String {
        let text = self.log.text.lock().expect("whole");
        let (text, timeout) = self
            .log
            .grown
            .wait_timeout_while(text, PATIENCE, |(_, is_over)| !*is_over)
            .expect("whole");
        assert!(!timeout.timed_out(), "still running: {}", text.0);
        text.0.clone()
    }

    /// Returns the log so far.
    pub fn log(&self) -> String {
        self.log.text.lock().expect("whole").0.clone()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("still running");
    }

    /// Waits for the end of the program, and returns its status.
    pub fn ended(&mut self) -> ExitStatus {
        ended(&mut self.child)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Log {
    fn follow(&self, log: impl Read) {
        let mut lines = BufReader::new(log);
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
            self.text.lock().expect("whole").0.push_str(&line);
            self.grown.notify_all();
            line.clear();
        }
        self.text.lock().expect("whole").1 = true;
        self.grown.notify_all();
    }

    fn wait_for(&self, needle: &str, times: usize) -> String {
        let text = self.text.lock().expect("whole");
        let found = |text: &str| {
            let mut lines = text.lines().filter(|line| line.contains(needle));
            lines.nth(times - 1).map(str::to_owned)
        };
        let waiting = |state: &mut (String, bool)| found(&state.0).is_none() && !state.1;
        let (text, _) = self
            .grown
            .wait_timeout_while(text, PATIENCE, waiting)
            .expect("whole");
        let (line, log) = (found(&text.0), text.0.clone());
        // Released before the panic, so that the thread that writes the log does not panic, too.
        drop(text);
        line.unwrap_or_else(|| panic!("no `{needle}` in: {log}"))
    }
}
