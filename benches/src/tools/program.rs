//! The running program, as it is released.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with the files of a server, and the program that uses them.
#[derive(Debug)]
pub struct Home {
    program: PathBuf,
    folder: TempDir,
}

/// The program, running; killed when it is dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    // Held open, because the program writes its log to it.
    log: Option<BufReader<ChildStderr>>,
}

/// A conversation over standard input and output.
#[derive(Debug)]
pub struct StdioClient {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

// === impl Home ===

impl Home {
    /// Builds the program as for a release, and writes its configuration.
    ///
    /// `ZIGGURAT_BENCH_PROGRAM` names another build to compare with.
    ///
    /// # Panics
    /// Panics when it does not build.
    #[must_use]
    pub fn new(configuration: &str) -> Self {
        let home = Self {
            program: env::var_os("ZIGGURAT_BENCH_PROGRAM")
                .map_or_else(|| build("ziggurat-tools"), PathBuf::from),
            folder: tempfile::tempdir().expect("a folder"),
        };
        fs::write(home.file("ziggurat-tools.yaml"), configuration).expect("written");
        home
    }

    /// Makes an API token.
    ///
    /// # Panics
    /// Panics when the program makes none.
    #[must_use]
    pub fn token(&self) -> String {
        let words = "-add-token -token-note bench -token-expiry never -token-database bench";
        let output = self.command(words).output().expect("built");
        let text = String::from_utf8_lossy(&output.stdout);
        let token = text.lines().find_map(|line| line.strip_prefix("Token: "));
        token
            .unwrap_or_else(|| panic!("no token: {output:?}"))
            .to_owned()
    }

    /// Makes a user; neither argument may contain a space.
    ///
    /// # Panics
    /// Panics when the program makes none.
    pub fn user(&self, name: &str, password: &str) {
        let words = format!("-add-user -username {name} -password {password} -user-note bench");
        let output = self.command(&words).output().expect("built");
        assert!(output.status.success(), "no user: {output:?}");
    }

    /// Starts an HTTP server with authentication, and returns its address once it listens.
    ///
    /// # Panics
    /// Panics when it does not start.
    #[must_use]
    pub fn serve(&self) -> (Program, String) {
        let mut command = self.command("-http -addr 127.0.0.1:0");
        let mut child = command.spawn().expect("built");
        let mut log = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            let read = log.read_line(&mut line).expect("text");
            assert!(read > 0, "the server ended");
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().to_owned();
            }
        };
        let log = Some(log);
        (Program { child, log }, address)
    }

    /// Starts a server on standard input and output.
    ///
    /// # Panics
    /// Panics when it does not start.
    #[must_use]
    pub fn serve_stdio(&self) -> (Program, StdioClient) {
        let mut command = self.command("");
        let mut child = command.stdin(Stdio::piped()).spawn().expect("built");
        let client = StdioClient {
            input: child.stdin.take().expect("piped"),
            output: BufReader::new(child.stdout.take().expect("piped")),
        };
        let log = child.stderr.take().map(BufReader::new);
        (Program { child, log }, client)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words.split_whitespace())
            .arg("-config")
            .arg(self.file("ziggurat-tools.yaml"))
            .arg("-token-file")
            .arg(self.file("tokens.yaml"))
            .arg("-user-file")
            .arg(self.file("users.yaml"))
            .current_dir(self.folder.path())
            .env_clear()
            .env("ZIGGURAT_DATA_DIR", self.file("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Builds a program as for a package, and returns its path.
pub(crate) fn build(name: &str) -> PathBuf {
    build_as("dist", name, name)
}

/// Builds a program with a separate profile; its name differs from its package's.
pub(crate) fn build_as(profile: &str, package: &str, name: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--profile", profile, "--package", package])
        .args(["--bin", name])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo, which runs this");
    assert!(output.status.success(), "it does not build");
    let messages = String::from_utf8_lossy(&output.stdout);
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let program = message["executable"].as_str()?;
        let program = PathBuf::from(program);
        (program.file_stem()?.to_str()? == name).then_some(program)
    });
    program.expect("cargo says where it is")
}

// === impl Program ===

impl Program {
    /// Wraps a process and does not read its log.
    pub(crate) fn silent(child: Child) -> Self {
        Self { child, log: None }
    }

    /// Mebibytes of memory it uses now.
    ///
    /// # Panics
    /// Panics where there is no `/proc`.
    #[must_use]
    pub fn memory(&self) -> f64 {
        self.status("VmRSS:")
    }

    /// Maximum of the mebibytes of memory it has used.
    ///
    /// # Panics
    /// Panics where there is no `/proc`.
    #[must_use]
    pub fn peak_memory(&self) -> f64 {
        self.status("VmHWM:")
    }

    /// Seconds of processor time it has used.
    ///
    /// # Panics
    /// Panics where there is no `/proc`.
    #[must_use]
    pub fn processor_time(&self) -> f64 {
        ticks(self.child.id(), 2).expect("measured on Linux")
    }

    fn status(&self, label: &str) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix(label));
        let number = line.and_then(|line| line.split_whitespace().next());
        let kibibytes: u32 = number.and_then(|n| n.parse().ok()).expect("a number");
        f64::from(kibibytes) / 1024.0
    }

    fn proc(&self, file: &str) -> String {
        let path = Path::new("/proc").join(self.child.id().to_string());
        fs::read_to_string(path.join(file)).expect("measured on Linux")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        drop(self.log.take());
    }
}

// === impl StdioClient ===

impl StdioClient {
    /// Sends a line, and returns the answer.
    ///
    /// # Panics
    /// Panics when there is no answer.
    pub fn request(&mut self, line: &str) -> String {
        self.input.write_all(line.as_bytes()).expect("heard");
        let mut answer = String::new();
        let read = self.output.read_line(&mut answer).expect("text");
        assert!(read > 0, "the server hung up");
        answer
    }
}

/// Returns the seconds of processor time of a process. The first two fields are its own time, the
/// next two the time of the processes that it started and that have ended.
pub(super) fn ticks(process: u32, fields: usize) -> Option<f64> {
    let ticks = stat(process, 11, fields)?;
    // A clock tick is a hundredth of a second for every program on Linux.
    Some(f64::from(ticks.into_iter().sum::<u32>()) / 100.0)
}

/// Returns the process that started a process.
pub(super) fn parent(process: u32) -> Option<u32> {
    stat(process, 1, 1)?.first().copied()
}

/// Reads fields of a process that are numbers, counted from the one after its name.
fn stat(process: u32, first: usize, count: usize) -> Option<Vec<u32>> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may contain spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields = fields.split_whitespace().skip(first).take(count);
    fields.map(|field| field.parse().ok()).collect()
}
