//! The program: run to its end, or left running.

use std::{
    io::{BufRead as _, BufReader, Read},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output},
    sync::{Arc, Condvar, Mutex},
    thread,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Client, PATIENCE, ended};

/// The program, running; killed with the test.
#[derive(Debug)]
pub struct Program {
    child: Child,
    log: Arc<Log>,
}

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; nothing if a signal has ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// What the program has logged so far, and whether that was all.
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

    /// Its standard input and output, once.
    pub fn pipes(&mut self) -> (ChildStdin, ChildStdout) {
        let stdin = self.child.stdin.take().expect("piped");
        let stdout = self.child.stdout.take().expect("piped");
        (stdin, stdout)
    }

    /// What the system knows it by.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with this in it, written since the start.
    pub fn wait_for(&self, needle: &str) -> String {
        self.log.wait_for(needle, 1)
    }

    /// Does something, and waits for another line with this in it than those before.
    pub fn until_it_says(&self, needle: &str, act: impl FnOnce()) -> String {
        let before = self.log();
        let before = before.lines().filter(|line| line.contains(needle)).count();
        act();
        self.log.wait_for(needle, before + 1)
    }

    /// All it ever writes to its log; waits for its end.
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

    /// All it has logged.
    pub fn log(&self) -> String {
        self.log.text.lock().expect("whole").0.clone()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("still running");
    }

    /// Waits for the end, and says how it ended.
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
        // Or whoever writes the log would be told of a panic that is not theirs.
        drop(text);
        line.unwrap_or_else(|| panic!("no `{needle}` in: {log}"))
    }
}
