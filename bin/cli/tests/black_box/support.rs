//! Runs the program with a temporary home.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::Value;
use tempfile::TempDir;
use ziggurat_black_box::{Ran, output, output_of};

use crate::server::{Reply, Server};

/// A client id and a secret that no other text contains.
pub(crate) const ID: &str = "credential-id-of-32-characters-x";
pub(crate) const SECRET: &str = "sup3r-s3cret-value-of-the-client";

/// A user of this machine: a home, and variables.
#[derive(Debug)]
pub(crate) struct User {
    home: TempDir,
    variables: Vec<(String, String)>,
}

// === impl User ===

impl User {
    /// Creates a user without configuration. The keychain of the developer is never used.
    pub(crate) fn new() -> Self {
        let user = Self {
            home: tempfile::tempdir().expect("a home"),
            variables: Vec::new(),
        };
        user.with("ZIGGURAT_NO_KEYCHAIN", "1")
    }

    /// Creates a user with a default profile that is signed in at a server.
    pub(crate) fn of(server: &Server) -> Self {
        let user = Self::new();
        user.configure(&profile("default", &server.url()));
        user
    }

    /// Sets a variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a variable.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self
    }

    /// Sets the pair of variables.
    pub(crate) fn with_pair(self) -> Self {
        self.with("ZIGGURAT_CLIENT_ID", ID)
            .with("ZIGGURAT_CLIENT_SECRET", SECRET)
    }

    /// Writes the configuration file.
    pub(crate) fn configure(&self, text: &str) {
        let path = self.config();
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        private(&path);
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.home.path().join(".ziggurat/config.yaml")
    }

    pub(crate) fn config_text(&self) -> String {
        fs::read_to_string(self.config()).unwrap_or_default()
    }

    pub(crate) fn cache(&self, profile: &str) -> PathBuf {
        let name = format!("{profile}-platform.json");
        self.home.path().join(".ziggurat/cache").join(name)
    }

    /// Returns the program, not started yet, with no variables of this process.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ziggurat"));
        command
            .env_clear()
            .env("HOME", self.home.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home.path())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `ziggurat platform …`.
    pub(crate) fn platform(&self, arguments: &[&str]) -> Ran {
        let all: Vec<&str> = ["platform"].iter().chain(arguments).copied().collect();
        self.run(&all)
    }

    /// Runs the program.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        output(&mut self.command(arguments)).into()
    }

    /// Runs the program with this on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.start(arguments);
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_owned();
        let writer = thread::spawn(move || {
            // The program may not read all of it.
            let _ = stdin.write_all(input.as_bytes());
        });
        let ran = output_of(child).into();
        writer.join().expect("written");
        ran
    }

    /// Starts the program, with a pipe to its standard input.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("started")
    }
}

/// Starts a server that answers only token exchanges, and a user with a cached token: a short
/// deadline then only covers the missing response.
pub(crate) fn silence() -> (Server, User) {
    let server = Server::platform(|seen| match seen.target.as_str() {
        "/warm" => Reply::json(200, "{}"),
        _ => Reply::Hang,
    });
    let user = User::of(&server);
    ends(&user.platform(&["api", "GET", "/warm"]), 0, "{}\n", "");
    (server, user)
}

/// Returns the configuration of a profile that is signed in, with the secret in the file.
pub(crate) fn profile(name: &str, url: &str) -> String {
    format!(
        "profiles:\n  {name}:\n    platform:\n      api_url: {url}\n      client_id: {ID}\n      \
         client_secret: {SECRET}\n"
    )
}

/// Parses a text that is one JSON document.
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

/// Checks the exit code, standard output and standard error.
#[track_caller]
pub(crate) fn ends(ran: &Ran, code: i32, stdout: &str, stderr: &str) {
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(code), stdout, stderr)
    );
}

/// Checks that it failed with this code, printed no result, and that its error begins like this.
#[track_caller]
pub(crate) fn fails(ran: &Ran, code: i32, message: &str) {
    let expected = format!("Error: {message}");
    assert!(
        ran.code == Some(code) && ran.stdout.is_empty() && ran.stderr.starts_with(&expected),
        "wanted {code} and {expected:?}, got {ran:#?}"
    );
}

#[cfg(unix)]
fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a mode");
}

#[cfg(not(unix))]
fn private(_: &Path) {}
