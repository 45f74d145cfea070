//! A service with one tenant, and a machine that is signed in to it.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::mpsc,
    thread,
};

use serde_json::Value;
use tempfile::TempDir;
use ziggurat_black_box::{output, received};

/// The service, and the data that its first start created.
pub(crate) struct Platform {
    folder: PathBuf,
    url: String,
    made: Value,
}

/// A machine with a temporary home.
pub(crate) struct Machine {
    home: TempDir,
    variables: Vec<(&'static str, String)>,
}

/// Outcome of a command.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

// === impl Platform ===

impl Platform {
    /// Starts the service of a test, which ends with the process.
    ///
    /// Its folder stays until the next run of the test, because the running service needs it.
    pub(crate) fn of(test: &str) -> Self {
        Self::configured(test, "")
    }

    /// Starts the service of a test, at which people sign in.
    pub(crate) fn with_people(test: &str) -> Self {
        let yaml = "sign_in: {enabled: true, resources: [{uri: 'https://tools.example/mcp'}]}";
        Self::configured(test, yaml)
    }

    fn configured(test: &str, yaml: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the one of the last time");
        }
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("platform.yaml"), yaml).expect("written");
        let made = administer(&folder, &["init"]);
        let (tell, told) = mpsc::channel();
        let words = words(&folder, &["-addr", "127.0.0.1:0"]);
        thread::spawn(move || {
            ziggurat_platform::run(words, |address| {
                tell.send(address).expect("the test waits for it");
            })
        });
        let address = received(&told);
        Self {
            url: format!("http://{address}"),
            folder,
            made,
        }
    }

    /// Returns the address of the service.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns a member of the data that the first start created.
    pub(crate) fn made(&self, member: &str) -> &str {
        self.made[member].as_str().expect(member)
    }

    /// Runs an administrator's command on the machine of the service.
    pub(crate) fn administer(&self, what: &[&str]) -> Value {
        administer(&self.folder, what)
    }

    /// Returns a machine that is signed in with the first client.
    pub(crate) fn machine(&self) -> Machine {
        let machine = Machine::new();
        let login = self.login(self.made("client_secret"));
        let done = machine.run(&login);
        assert_eq!(
            (done.exit, done.stdout.as_str()),
            (0, ""),
            "{}",
            done.stderr
        );
        machine
    }

    /// Returns a command line that signs in as the first client.
    pub(crate) fn login(&self, secret: &str) -> String {
        format!(
            "platform auth login --api-url {} --client-id={} --client-secret={secret}",
            self.url,
            self.made("client_id")
        )
    }

    /// Returns a machine with the credential of a client in its environment.
    pub(crate) fn machine_with(&self, client_id: &str, secret: &str) -> Machine {
        let mut machine = Machine::new();
        machine.variables = vec![
            ("ZIGGURAT_API_URL", self.url.clone()),
            ("ZIGGURAT_CLIENT_ID", client_id.to_owned()),
            ("ZIGGURAT_CLIENT_SECRET", secret.to_owned()),
        ];
        machine
    }
}

fn administer(folder: &Path, what: &[&str]) -> Value {
    let out = folder.join("out.json");
    let mut what = what.to_vec();
    what.extend(["-out", out.to_str().expect("UTF-8")]);
    let code = ziggurat_platform::run(words(folder, &what), |_| {});
    assert_eq!(code, ExitCode::SUCCESS, "{what:?}");
    let text = fs::read_to_string(&out).expect("written");
    fs::remove_file(&out).expect("removed");
    serde_json::from_str(&text).expect("JSON")
}

fn words(folder: &Path, what: &[&str]) -> Vec<OsString> {
    let mut words: Vec<OsString> = what.iter().map(Into::into).collect();
    words.extend(["-data-dir".into(), folder.join("data").into()]);
    words.extend(["-config".into(), folder.join("platform.yaml").into()]);
    words
}

// === impl Machine ===

impl Machine {
    /// Returns a machine without any configuration.
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().expect("a folder"),
            variables: Vec::new(),
        }
    }

    /// Returns the home folder.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns the command of a command line, split at spaces.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ziggurat"));
        command.args(line.split_whitespace()).env_clear();
        command.env("HOME", self.home.path());
        command.env("ZIGGURAT_NO_KEYCHAIN", "1");
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.envs(variables);
        command
    }

    /// Runs a command line, split at spaces.
    pub(crate) fn run(&self, line: &str) -> Done {
        let output = output(&mut self.command(line));
        Done {
            exit: output.status.code().expect("it ended by itself"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Runs a command line that succeeds, and returns its output.
    pub(crate) fn done(&self, line: &str) -> String {
        let done = self.run(line);
        assert_eq!(done.exit, 0, "{line}: {}", done.stderr);
        done.stdout
    }

    /// Runs a command line that succeeds, and returns its output as JSON.
    pub(crate) fn json(&self, line: &str) -> Value {
        let printed = self.done(&format!("{line} -o json"));
        serde_json::from_str(&printed).expect("JSON")
    }
}
