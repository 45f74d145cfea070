//! A machine for tests: a temporary home, and recorded streams.

mod fake;

use std::{
    fs,
    io::{self, Cursor, Write},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

pub(super) use self::fake::{Asked, Fake};
use crate::{
    context::Streams,
    environment::{Environment, Terminals},
    keychain::Keychain,
};

/// A home, variables, and the state of the streams.
pub(super) struct Fixture {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
    terminals: Terminals,
    input: String,
    keychain: Option<Arc<dyn Keychain>>,
    stdout_is_closed: bool,
}

/// A pipe without a reader.
struct Closed;

/// Outcome of a command line.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) exit: u8,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

// === impl Fixture ===

impl Fixture {
    /// Creates a machine without a keychain.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().to_str().expect("UTF-8").to_owned();
        Self {
            folder,
            variables: vec![
                ("HOME".to_owned(), home),
                ("ZIGGURAT_NO_KEYCHAIN".to_owned(), "1".to_owned()),
            ],
            terminals: Terminals::default(),
            input: String::new(),
            keychain: None,
            stdout_is_closed: false,
        }
    }

    /// Creates a machine that is signed in to a platform, under the default profile.
    pub(super) fn signed_in(fake: &Fake) -> Self {
        Self::new().with_config(&format!(
            "profiles:\n  default:\n    platform:\n      api_url: {}\n      client_id: \
             abcdefghijklmnopqrstuvwxyz012345\n      client_secret: hush\n      login_id: one\n",
            fake.url()
        ))
    }

    /// Sets the configuration file.
    pub(super) fn with_config(self, text: &str) -> Self {
        let path = self.config();
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        self
    }

    /// Sets a variable.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the keychain.
    pub(super) fn with_keychain(mut self, keychain: Arc<dyn Keychain>) -> Self {
        self.keychain = Some(keychain);
        self
    }

    /// Adds a user at the terminal who types this.
    pub(super) fn typing(mut self, input: &str) -> Self {
        self.terminals.stdin = true;
        self.terminals.stderr = true;
        input.clone_into(&mut self.input);
        self
    }

    /// Makes standard output a closed pipe.
    pub(super) fn unread(mut self) -> Self {
        self.stdout_is_closed = true;
        self
    }

    /// Returns the path of the configuration file.
    pub(super) fn config(&self) -> PathBuf {
        self.folder.path().join(".ziggurat/config.yaml")
    }

    /// Returns the home folder.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Runs a command line, split at spaces.
    pub(super) fn run(&self, line: &str) -> Done {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.words(&words)
    }

    /// Runs a command line.
    pub(super) fn words(&self, words: &[&str]) -> Done {
        let (stdout, stderr) = (Shared::default(), Shared::default());
        let mut streams = Streams {
            stdin: Box::new(Cursor::new(self.input.clone().into_bytes())),
            stdout: if self.stdout_is_closed {
                Box::new(Closed)
            } else {
                Box::new(stdout.clone())
            },
            stderr: Box::new(stderr.clone()),
        };
        let environment = Environment::new(self.variables.clone()).with_terminals(self.terminals);
        let environment = match &self.keychain {
            Some(keychain) => environment.with_keychain(Arc::clone(keychain)),
            None => environment,
        };
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let exit = super::run(&words, &environment, &mut streams);
        Done {
            exit,
            stdout: stdout.text(),
            stderr: stderr.text(),
        }
    }
}

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// === impl Shared ===

impl Shared {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(bytes.clone()).expect("UTF-8")
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
