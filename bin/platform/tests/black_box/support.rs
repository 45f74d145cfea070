//! Helpers for all tests: the files of a service, the program that serves them, and a client with a
//! token.

use std::{
    fs,
    ops::{Deref, DerefMut},
    process::Command,
};

use serde_json::{Value, json};
use ziggurat_black_box::{Answer, Folder, Program, Ran, output};

pub(crate) use ziggurat_black_box::Client;

/// A folder with the files of one service.
pub(crate) struct Home {
    folder: Folder,
    /// Flags of every run.
    flags: Vec<String>,
}

/// A client of the service, with a token.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) token: String,
}

impl Deref for Home {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl DerefMut for Home {
    fn deref_mut(&mut self) -> &mut Folder {
        &mut self.folder
    }
}

impl Home {
    /// Makes an empty folder.
    pub(crate) fn new() -> Self {
        Self {
            folder: Folder::new(),
            flags: Vec::new(),
        }
    }

    /// Adds flags to every run.
    pub(crate) fn with_flags(mut self, flags: &[&str]) -> Self {
        self.flags
            .extend(flags.iter().map(|flag| (*flag).to_owned()));
        self
    }

    /// Builds a command with these arguments, the files of this folder, and no other environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_ziggurat-platform");
        let mut command = self.folder.command(program, arguments);
        command.arg("-data-dir").arg(self.folder.file("data"));
        command.args(&self.flags);
        let config = self.folder.file("platform.yaml");
        if config.exists() {
            command.arg("-config").arg(config);
        }
        command
    }

    /// Replaces the configuration.
    pub(crate) fn configure(&self, yaml: &str) {
        self.folder
            .replace(&self.folder.file("platform.yaml"), yaml);
    }

    /// Runs the program to its end and returns its output and exit code.
    pub(crate) fn ran(&self, arguments: &[&str]) -> Ran {
        Ran::from(output(&mut self.command(arguments)))
    }

    /// Runs the program, which must succeed, and returns its output.
    pub(crate) fn done(&self, arguments: &[&str]) -> Value {
        let ran = self.ran(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
        if ran.stdout.is_empty() {
            return Value::Null;
        }
        serde_json::from_str(&ran.stdout).expect("JSON")
    }

    /// Starts the server, and waits until it listens.
    pub(crate) fn serve(&self) -> (Program, Client) {
        Program::listening(&mut self.command(&["-addr", "127.0.0.1:0"]))
    }

    /// Makes the first tenant, serves it, and signs in as its client.
    pub(crate) fn started(&self) -> (Program, Session, Value) {
        let made = self.done(&["init"]);
        let (program, client) = self.serve();
        let session = Session::of(&client, &made["client_id"], &made["client_secret"]);
        (program, session, made)
    }

    /// Returns the mode of a file.
    pub(crate) fn mode(&self, name: &str) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;
        let about = fs::metadata(self.folder.file(name)).expect(name);
        about.permissions().mode() & 0o777
    }
}

impl Session {
    /// Exchanges a secret for a token.
    pub(crate) fn of(client: &Client, id: &Value, secret: &Value) -> Self {
        let answer = exchange(client, id, secret);
        assert_eq!(answer.status, 200, "{answer:?}");
        let token = answer.json()["access_token"]
            .as_str()
            .expect("a token")
            .to_owned();
        Self {
            client: client.bearing(&token),
            token,
        }
    }

    /// Sends a GET request to a path under `/account/v1`.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    /// Sends a request to a path under `/account/v1`.
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let path = format!("/account/v1{path}");
        request(&self.client, method, &path, body)
    }
}

/// Sends a request.
pub(crate) fn request(client: &Client, method: &str, path: &str, body: Option<&Value>) -> Answer {
    match body {
        Some(body) => {
            let kind = "content-type: application/json\r\n";
            client.send(method, path, kind, &body.to_string())
        }
        None => client.send(method, path, "", ""),
    }
}

/// Requests a token.
pub(crate) fn exchange(client: &Client, id: &Value, secret: &Value) -> Answer {
    let body = json!({"client_id": id, "client_secret": secret});
    request(client, "POST", "/account/v1/oauth/token", Some(&body))
}
