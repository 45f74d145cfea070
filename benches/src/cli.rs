//! Shared code of the benches of the command line: the program, a signed-in home folder, and a
//! platform that answers at once.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use tempfile::TempDir;

use crate::tools::program;

/// The tenant of the platform.
pub const TENANT: &str = "5f0e8a0c-9f67-4a53-8d5b-2f7a4a0d9b6e";

/// `ziggurat` with a signed-in home folder.
#[derive(Debug)]
pub struct SignedInCli {
    program: PathBuf,
    home: TempDir,
}

// === impl SignedInCli ===

impl SignedInCli {
    /// Builds the program as for a release, starts a platform, and signs in.
    ///
    /// `ZIGGURAT_BENCH_CLI` names another build, to compare with.
    ///
    /// # Panics
    /// Panics when it does not build, or cannot sign in.
    #[must_use]
    pub fn new() -> Self {
        let shell = Self {
            program: env::var_os("ZIGGURAT_BENCH_CLI").map_or_else(
                || program::build_as("cli", "ziggurat-cli", "ziggurat"),
                PathBuf::from,
            ),
            home: tempfile::tempdir().expect("a folder"),
        };
        let folder = shell.home.path().join(".ziggurat");
        fs::create_dir(&folder).expect("a folder");
        let text = format!(
            "profiles:\n  default:\n    platform:\n      api_url: {}\n      client_id: bench\n      \
             client_secret: bench\n      login_id: bench\n",
            platform()
        );
        fs::write(folder.join("config.yaml"), text).expect("written");
        // The first call exchanges the credential; later ones use the cached token.
        let first = shell.run(&["platform", "tenant", "get", TENANT]);
        assert!(first.contains("Acme"), "{first}");
        shell
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs a command line, and returns its output.
    ///
    /// # Panics
    /// Panics when it fails.
    #[must_use]
    pub fn run(&self, words: &[&str]) -> String {
        let output = Command::new(&self.program)
            .args(words)
            .env_clear()
            .env("HOME", self.home.path())
            .env("ZIGGURAT_NO_KEYCHAIN", "1")
            .stdin(Stdio::null())
            .output()
            .expect("built");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }
}

impl Default for SignedInCli {
    fn default() -> Self {
        Self::new()
    }
}

/// Starts a platform with one tenant, and returns its address. It ends with the process.
fn platform() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client may close the connection early.
            let _ = answer(stream);
        }
    });
    format!("http://{address}")
}

fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line)?;
    let is_exchange = line.contains("/oauth/token");
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim_end().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let body = if is_exchange {
        r#"{"access_token":"bench","expires_in":86400,"token_type":"Bearer"}"#.to_owned()
    } else {
        format!(r#"{{"id":"{TENANT}","name":"Acme","created_at":"2026-01-02T03:04:05Z"}}"#)
    };
    write!(
        reader.get_mut(),
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n{body}",
        body.len()
    )
}
