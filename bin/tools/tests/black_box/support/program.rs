//! The program: run to its end, or left running.

use std::{
    fs::{self, Permissions},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Output, Stdio},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{Client, Postgres, Talk};

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with the files of one server: configuration, tokens, users.
pub(crate) struct Home {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

/// The program, running; killed with the test.
pub(crate) struct Program {
    child: Child,
    log: Arc<Log>,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What the program has written to standard error so far.
#[derive(Default)]
struct Log {
    text: Mutex<(String, bool)>,
    grown: Condvar,
}

impl Home {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            environment: Vec::new(),
        }
    }

    /// A folder whose configuration names this database `main`.
    pub(crate) fn with(postgres: &Postgres) -> Self {
        let home = Self::new();
        home.configure(&format!("databases:\n{}", postgres.entry("main")));
        home
    }

    pub(crate) fn configure(&self, yaml: &str) {
        fs::write(self.file("ziggurat-tools.yaml"), yaml).expect("written");
    }

    /// Sets a variable for whatever is started from now on.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn tokens(&self) -> PathBuf {
        self.file("tokens.yaml")
    }

    pub(crate) fn users(&self) -> PathBuf {
        self.file("users.yaml")
    }

    /// The program with nothing but these arguments, and no environment but ours.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ziggurat-tools"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("ZIGGURAT_DATA_DIR", self.file("data"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The program with the files of this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare(arguments);
        let config = self.file("ziggurat-tools.yaml");
        if config.exists() {
            command.arg("-config").arg(config);
        }
        command.arg("-token-file").arg(self.tokens());
        command.arg("-user-file").arg(self.users());
        command
    }

    /// Runs the program to its end, with this on standard input.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("built");
        let mut stdin = child.stdin.take().expect("piped");
        // It may end without reading all of it.
        stdin.write_all(input.as_bytes()).ok();
        drop(stdin);
        child.wait_with_output().expect("ended")
    }

    /// Runs the program to its end: what it printed, and how it ended.
    pub(crate) fn ran(&self, arguments: &[&str], input: &str) -> Ran {
        Ran::from(self.run(arguments, input))
    }

    /// Puts a file in the place of another, for its owner only.
    pub(crate) fn replace(&self, path: &Path, text: &str) {
        let new = self.file("new");
        fs::write(&new, text).expect("written");
        fs::set_permissions(&new, Permissions::from_mode(0o600)).expect("ours");
        fs::rename(&new, path).expect("renamed");
    }

    /// Makes an API token, bound to this database or to none.
    pub(crate) fn token(&self, database: &str) -> String {
        let arguments = [
            "-add-token",
            "-token-note",
            "test",
            "-token-expiry",
            "never",
            "-token-database",
            database,
        ];
        let output = self.run(&arguments, "");
        let text = String::from_utf8(output.stdout).expect("text");
        let line = text.lines().find_map(|line| line.strip_prefix("Token: "));
        line.unwrap_or_else(|| panic!("a token in {text} {:?}", output.stderr))
            .to_owned()
    }

    /// Makes a user.
    pub(crate) fn user(&self, name: &str, password: &str) {
        let arguments = [
            "-add-user",
            "-username",
            name,
            "-password",
            password,
            "-user-note",
            "",
        ];
        let output = self.run(&arguments, "");
        assert!(output.status.success(), "{output:?}");
    }

    /// Starts an HTTP server on a free port, and waits until it listens.
    pub(crate) fn serve(&self, arguments: &[&str]) -> (Program, Client) {
        let mut command = self.command(&["-http", "-addr", "127.0.0.1:0"]);
        Program::listening(command.args(arguments))
    }

    /// Starts a server on standard input and output.
    pub(crate) fn talk(&self, arguments: &[&str]) -> (Program, Talk) {
        let mut command = self.command(arguments);
        let mut program = Program::start(command.stdin(Stdio::piped()));
        let stdin = program.child.stdin.take().expect("piped");
        let stdout = program.child.stdout.take().expect("piped");
        (program, Talk::new(stdin, stdout))
    }
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
    /// Starts an HTTP server, and waits until it listens.
    pub(crate) fn listening(command: &mut Command) -> (Self, Client) {
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

    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("built");
        let log = Arc::new(Log::default());
        let stderr = child.stderr.take().expect("piped");
        let follower = Arc::clone(&log);
        thread::spawn(move || follower.follow(stderr));
        Self { child, log }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with this in it, written since the start.
    pub(crate) fn wait_for(&self, needle: &str) -> String {
        self.log.wait_for(needle, 1)
    }

    /// Does something, and waits for another line with this in it than those before.
    pub(crate) fn until_it_says(&self, needle: &str, act: impl FnOnce()) -> String {
        let before = self.log();
        let before = before.lines().filter(|line| line.contains(needle)).count();
        act();
        self.log.wait_for(needle, before + 1)
    }

    /// All it ever writes to standard error; waits for its end.
    pub(crate) fn whole_log(&self) -> String {
        let text = self.log.text.lock().expect("whole");
        let (text, timeout) = self
            .log
            .grown
            .wait_timeout_while(text, PATIENCE, |(_, is_over)| !*is_over)
            .expect("whole");
        assert!(!timeout.timed_out(), "still running: {}", text.0);
        text.0.clone()
    }

    /// All it has written to standard error.
    pub(crate) fn log(&self) -> String {
        self.log.text.lock().expect("whole").0.clone()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("still running");
    }

    /// Waits for the end, and says how it ended.
    pub(crate) fn ended(&mut self) -> std::process::ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                return status;
            }
            assert!(Instant::now() < deadline, "still running: {}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Log {
    fn follow(&self, stderr: ChildStderr) {
        let mut lines = BufReader::new(stderr);
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
