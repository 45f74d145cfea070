//! The program in a home of its own.

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

/// Somebody at this machine: a home, and variables.
#[derive(Debug)]
pub(crate) struct User {
    home: TempDir,
    variables: Vec<(String, String)>,
}

// === impl User ===

impl User {
    /// Somebody without configuration. The keychain of whoever runs the tests is never asked.
    pub(crate) fn new() -> Self {
        let user = Self {
            home: tempfile::tempdir().expect("a home"),
            variables: Vec::new(),
        };
        user.with("ZIGGURAT_NO_KEYCHAIN", "1")
    }

    /// Somebody whose default profile is signed in at a server.
    pub(crate) fn of(server: &Server) -> Self {
        let user = Self::new();
        user.configure(&profile("default", &server.url()));
        user
    }

    /// With another variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without a variable.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self
    }

    /// With the pair of variables.
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

    /// The program, not started yet, with nothing of this machine's environment.
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

    /// Runs it with this on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.start(arguments);
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_owned();
        let writer = thread::spawn(move || {
            // It may not read all of it.
            let _ = stdin.write_all(input.as_bytes());
        });
        let ran = output_of(child).into();
        writer.join().expect("written");
        ran
    }

    /// Starts it, with a pipe to its standard input.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("started")
    }
}

/// A server that answers nothing but requests for a token, and somebody who has one of it: a short
/// deadline is then spent on the silence alone.
pub(crate) fn silence() -> (Server, User) {
    let server = Server::platform(|seen| match seen.target.as_str() {
        "/warm" => Reply::json(200, "{}"),
        _ => Reply::Hang,
    });
    let user = User::of(&server);
    ends(&user.platform(&["api", "GET", "/warm"]), 0, "{}\n", "");
    (server, user)
}

/// The configuration of a profile that is signed in, with the secret in the file.
pub(crate) fn profile(name: &str, url: &str) -> String {
    format!(
        "profiles:\n  {name}:\n    platform:\n      api_url: {url}\n      client_id: {ID}\n      \
         client_secret: {SECRET}\n"
    )
}

/// The one JSON document there is.
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

/// Its end is the exit code, what standard output has, and what standard error has.
#[track_caller]
pub(crate) fn ends(ran: &Ran, code: i32, stdout: &str, stderr: &str) {
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(code), stdout, stderr)
    );
}

/// It failed with this code, printed nothing, and said something that begins like this.
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
