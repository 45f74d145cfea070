//! Files of a server, and the program that uses them.

use std::{
    env, fs,
    io::Write as _,
    ops::{Deref, DerefMut},
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use ziggurat_black_box::{Client, Folder, Postgres, Program, Ran, output_of};

use super::StdioClient;

/// Folder with the files of one server: configuration, tokens, users.
pub(crate) struct Home(Folder);

impl Deref for Home {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

impl DerefMut for Home {
    fn deref_mut(&mut self) -> &mut Folder {
        &mut self.0
    }
}

impl Home {
    /// Creates an empty folder.
    pub(crate) fn new() -> Self {
        Self(Folder::new())
    }

    /// Creates a folder with a configuration that names this database `main`.
    pub(crate) fn with(postgres: &Postgres) -> Self {
        let home = Self::new();
        home.configure(&format!("databases:\n{}", postgres.entry("main")));
        home
    }

    pub(crate) fn configure(&self, yaml: &str) {
        fs::write(self.file("ziggurat-tools.yaml"), yaml).expect("written");
    }

    pub(crate) fn tokens(&self) -> PathBuf {
        self.file("tokens.yaml")
    }

    pub(crate) fn users(&self) -> PathBuf {
        self.file("users.yaml")
    }

    /// Returns a command with only these arguments, and only the environment of this folder.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = self
            .0
            .command(env!("CARGO_BIN_EXE_ziggurat-tools"), arguments);
        command.env("ZIGGURAT_DATA_DIR", self.file("data"));
        command
    }

    /// Returns a command that uses the files of this folder.
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

    /// Runs the program to its end, with this text on standard input.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("built");
        let mut stdin = child.stdin.take().expect("piped");
        // The program may end without reading all of it.
        stdin.write_all(input.as_bytes()).ok();
        drop(stdin);
        output_of(child)
    }

    /// Runs the program to its end, and returns its output and exit code.
    pub(crate) fn ran(&self, arguments: &[&str], input: &str) -> Ran {
        Ran::from(self.run(arguments, input))
    }

    /// Creates an API token, bound to this database or to none.
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

    /// Creates a user.
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

    /// Runs lines of a manual in this folder, in a shell that finds the program by its name.
    pub(crate) fn shell(&self, script: &str, variables: &[(&str, &str)]) -> Ran {
        let folder = self.file("bin");
        let name = folder.join("ziggurat-tools");
        if !name.exists() {
            fs::create_dir(&folder).expect("made");
            symlink(env!("CARGO_BIN_EXE_ziggurat-tools"), name).expect("made");
        }
        let path = env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-c", script])
            .current_dir(self.path())
            .env_clear()
            .env("PATH", format!("{}:{path}", folder.display()))
            .envs(variables.iter().copied())
            .output();
        Ran::from(output.expect("a shell"))
    }

    /// Runs the program with these words after the flags for the files of this folder.
    pub(crate) fn ran_before(&self, words: &[&str]) -> Ran {
        let output = self.command(&[]).args(words).output();
        Ran::from(output.expect("built"))
    }

    /// Starts a server on standard input and output with only these arguments.
    pub(crate) fn bare_stdio(&self, arguments: &[&str]) -> (Program, StdioClient) {
        let mut command = self.bare(arguments);
        Self::talking(&mut command)
    }

    /// Starts a server on standard input and output from a command.
    pub(crate) fn talking(command: &mut Command) -> (Program, StdioClient) {
        let mut program = Program::start(command.stdin(Stdio::piped()));
        let (stdin, stdout) = program.pipes();
        (program, StdioClient::new(stdin, stdout))
    }

    /// Starts a server on standard input and output.
    pub(crate) fn stdio(&self, arguments: &[&str]) -> (Program, StdioClient) {
        Self::talking(&mut self.command(arguments))
    }
}

/// Returns the peak and the current memory of a program in kilobytes; `None` if the system does not
/// show it.
pub(crate) fn memory(program: &Program) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{}/status", program.id())).ok()?;
    let number = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    Some((number("VmHWM:")?, number("VmRSS:")?))
}
