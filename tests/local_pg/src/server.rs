//! One server, shared by every process that holds its lock.
//!
//! Each server has its own folder:
//!
//! | Entry | What it is |
//! | --- | --- |
//! | `owners.lock` | locked shared by every process that uses the server |
//! | `start.lock` | locked by the process that checks whether the server runs, or starts it |
//! | `watchdog.py`, `watchdog.lock` | the watchdog, and the lock it holds while it runs |
//! | `port`, `password` | the address of the server; only the caller can read them |
//! | `clean` | the boot id of the machine when the server last stopped cleanly |
//! | `log` | the log of the server since its last start |
//! | `data/`, `run/` | the data and the socket; the server's account alone can enter |
//!
//! The watchdog runs the server as its child and waits for the exclusive lock on `owners.lock`,
//! which the kernel grants when the last owner has ended or was killed. A process that joins takes
//! the shared lock first: either the watchdog does not hold its lock yet, and the server stays, or
//! it does, and the process waits until the server is down and starts another.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    account::Account,
    error::{Error, Tried, last_lines},
    folder, hex,
    installation::Installation,
};

/// The superuser of every server started here.
pub(crate) const USER: &str = "ziggurat";

const WATCHDOG: &str = include_str!("server/watchdog.py");

/// Time limit of a start, which may include crash recovery on a busy machine.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A start is repeated because the port may be taken before the server opens it, and with fresh
/// data because existing ones may be broken.
const ATTEMPTS: u32 = 3;

/// Non-ASCII letters fold and form words under this locale, which always exists.
const LOCALE: &str = if cfg!(target_os = "macos") {
    "en_US.UTF-8"
} else {
    "C.UTF-8"
};

/// Settings that trade durability for speed if the data are not kept.
const UNSYNCED: [&str; 4] = [
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    // Many test programs, each with its own pools.
    "max_connections=300",
];

/// Longest path of a socket (104 bytes on macOS, 108 on Linux, the last one zero).
const MAX_SOCKET_PATH: usize = 103;

/// The folder of a server that runs or can be started.
#[derive(Debug)]
pub(crate) struct ServerFolder {
    pub(crate) folder: PathBuf,
    pub(crate) installation: Installation,
    pub(crate) account: Option<Account>,
    /// True if the data outlive the server.
    pub(crate) keeps_data: bool,
    /// The places that were searched before the installation was chosen.
    pub(crate) tried: Tried,
}

/// A server that runs as long as this is held.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) password: String,
    pub(crate) socket_dir: PathBuf,
    pub(crate) owner: File,
}

/// A server that was just joined. Other processes can join after `start_lock` is dropped.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) server: Server,
    /// True if this process started it.
    pub(crate) is_new: bool,
    pub(crate) start_lock: File,
}

/// The major version of the data in the folder, if there are any.
pub(crate) fn major_of_data(folder: &Path) -> Option<u32> {
    let version = fs::read_to_string(folder.join("data/PG_VERSION")).ok()?;
    version.trim().parse().ok()
}

// === impl ServerFolder ===

impl ServerFolder {
    /// Joins the server, or starts it. Blocks until it accepts connections.
    pub(crate) fn join(&self) -> Result<Joined, Error> {
        let socket_dir = self.folder.join("run");
        if socket_dir.as_os_str().len() + "/.s.PGSQL.65535".len() > MAX_SOCKET_PATH {
            return Err(Error::Folder {
                path: socket_dir,
                reason: "its name is too long for a socket inside; choose a shorter one".to_owned(),
                source: None,
            });
        }
        let owner = self.open("owners.lock")?;
        owner.lock_shared().map_err(self.unusable("owners.lock"))?;
        let start_lock = self.open("start.lock")?;
        start_lock.lock().map_err(self.unusable("start.lock"))?;

        let (port, is_new) = match self.running()? {
            Some(port) => (port, false),
            None => (self.start(&socket_dir)?, true),
        };
        let password =
            fs::read_to_string(self.folder.join("password")).map_err(self.unusable("password"))?;
        Ok(Joined {
            server: Server {
                port,
                password,
                socket_dir,
                owner,
            },
            is_new,
            start_lock,
        })
    }

    /// The port of the server, if it runs.
    fn running(&self) -> Result<Option<u16>, Error> {
        match self.last_port() {
            Some(port) if self.accepts(port)? => Ok(Some(port)),
            _ => Ok(None),
        }
    }

    /// The port of the server that runs or ran last.
    fn last_port(&self) -> Option<u16> {
        let port = fs::read_to_string(self.folder.join("port")).ok()?;
        port.parse().ok()
    }

    /// Starts the server and returns its port.
    fn start(&self, socket_dir: &Path) -> Result<u16, Error> {
        folder::lend(socket_dir, self.account.as_ref())?;
        for attempt in 1..=ATTEMPTS {
            self.prepare_data(attempt > 1)?;
            // Kept data keep their port, so that clients find the server again.
            let last = self.last_port().filter(|_| self.keeps_data && attempt == 1);
            let port = match last.filter(|port| is_free(*port)) {
                Some(port) => port,
                None => free_port().map_err(self.unusable("port"))?,
            };
            self.write("port", &port.to_string())?;
            self.launch(socket_dir, port)?;
            if self.accepts(port)? {
                return Ok(port);
            }
        }
        Err(self.failed("it ended at once"))
    }

    /// Makes sure that there are usable data.
    fn prepare_data(&self, is_retry: bool) -> Result<(), Error> {
        let unusable = || self.unusable("data");
        let data = self.folder.join("data");
        let clean = self.folder.join("clean");
        if !self.keeps_data {
            // These data are not synced: after a crash of the machine, or if the server did not
            // stop cleanly, they can be broken in ways that a start does not notice.
            let is_clean = fs::read_to_string(&clean).is_ok_and(|boot| boot == boot_id());
            if is_retry || !is_clean {
                remove_tree(&data).map_err(unusable())?;
            }
        }
        remove_file(&clean).map_err(unusable())?;
        if data.exists() {
            return Ok(());
        }
        let fresh = self.folder.join("data.new");
        remove_tree(&fresh).map_err(unusable())?;
        folder::lend(&fresh, self.account.as_ref())?;
        self.initdb(&fresh)?;
        fs::rename(fresh, data).map_err(unusable())
    }

    /// Fills an empty folder with a cluster, and gives its superuser a fresh password.
    fn initdb(&self, data: &Path) -> Result<(), Error> {
        let unusable = || self.unusable("password");
        self.write("password", &hex::random(16).map_err(unusable())?)?;
        // A copy that the server's account can read, only during this call.
        let copy = self.folder.join("password.initdb");
        let password = self.folder.join("password");
        remove_file(&copy)
            .and_then(|()| fs::copy(password, &copy))
            .and_then(|_| self.account.as_ref().map_or(Ok(()), |a| a.own(&copy)))
            .map_err(unusable())?;

        let mut initdb = Command::new(self.installation.bin.join("initdb"));
        initdb
            .args(["--encoding=UTF8", "--username", USER])
            // Other accounts cannot enter the folder of the socket, but can connect to a port.
            .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
            .arg(format!("--locale={LOCALE}"))
            .arg("--pwfile")
            .arg(&copy)
            .arg("--pgdata")
            .arg(data)
            .env("TZ", "UTC")
            .current_dir(data);
        if !self.keeps_data {
            initdb.arg("--no-sync");
        }
        if let Some(account) = &self.account {
            account.demote(&mut initdb);
        }
        let output = initdb.output();
        remove_file(&copy).map_err(unusable())?;
        let reason = match output {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => last_lines(&String::from_utf8_lossy(&output.stderr)),
            Err(error) => error.to_string(),
        };
        Err(self.not_started(format!("initdb failed: {reason}")))
    }

    /// Starts the watchdog, which starts the server.
    fn launch(&self, socket_dir: &Path, port: u16) -> Result<(), Error> {
        self.write("log", "")?;
        let log = self.open("log")?;
        let errors = log.try_clone().map_err(self.unusable("log"))?;
        // -1 keeps the account.
        let (uid, gid) = match &self.account {
            Some(account) => (account.uid.to_string(), account.gid.to_string()),
            None => ("-1".to_owned(), "-1".to_owned()),
        };
        // A file, so that a list of processes shows its name and not the whole script.
        self.write("watchdog.py", WATCHDOG)?;
        let mut watchdog = Command::new("python3");
        watchdog
            .args(["-I", "-S"])
            .arg(self.folder.join("watchdog.py"))
            .arg(&self.folder)
            .args([uid, gid, boot_id()])
            .arg(self.installation.bin.join("postgres"))
            .arg("-D")
            .arg(self.folder.join("data"))
            .args(["-c", "listen_addresses=127.0.0.1", "-c"])
            .arg(format!("port={port}"))
            .arg("-c")
            .arg(socket_setting(socket_dir))
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        if !self.keeps_data {
            watchdog.args(UNSYNCED.iter().flat_map(|setting| ["-c", setting]));
        }
        // The real watchdog is a child of this process, which ends once the child holds its lock.
        match watchdog.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(self.failed("its watchdog failed")),
            Err(error) => {
                let reason = format!("`python3`, which watches over it, does not run: {error}");
                Err(self.not_started(reason))
            }
        }
    }

    /// Waits until the server accepts connections; returns false if it ends instead.
    fn accepts(&self, port: u16) -> Result<bool, Error> {
        let deadline = Instant::now() + START_TIMEOUT;
        while self.is_watched()? {
            if self.is_ready(port) {
                return Ok(true);
            }
            if Instant::now() > deadline {
                return Err(self.failed("it is not ready after a minute"));
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(false)
    }

    /// Returns whether the server on this port reports that it is ready, and answers.
    fn is_ready(&self, port: u16) -> bool {
        // PostgreSQL's own tools read the same file; it may be an old one of another server.
        let state = fs::read_to_string(self.folder.join("data/postmaster.pid"));
        state.is_ok_and(|state| is_ready_state(&state, port))
            && TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    }

    fn is_watched(&self) -> Result<bool, Error> {
        match self.open("watchdog.lock")?.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(self.unusable("watchdog.lock")(error)),
        }
    }

    fn open(&self, name: &str) -> Result<File, Error> {
        folder::open(&self.folder.join(name)).map_err(self.unusable(name))
    }

    /// Writes a file that only the caller can read.
    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.folder.join(name);
        remove_file(&path)
            .and_then(|()| folder::open(&path))
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(self.unusable(name))
    }

    fn unusable(&self, name: &str) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::folder(self.folder.join(name), "unusable")
    }

    fn failed(&self, what: &str) -> Error {
        let log = self.folder.join("log");
        let said = fs::read_to_string(&log).unwrap_or_default();
        self.not_started(format!(
            "{what}; the end of {}: {}",
            log.display(),
            last_lines(&said)
        ))
    }

    fn not_started(&self, reason: String) -> Error {
        Error::Start {
            reason,
            tried: self.tried.clone(),
        }
    }
}

/// Reads `postmaster.pid`: the fourth line is the port, the eighth the state.
fn is_ready_state(state: &str, port: u16) -> bool {
    let mut lines = state.lines().map(str::trim);
    lines.nth(3).is_some_and(|line| line.parse() == Ok(port)) && lines.nth(3) == Some("ready")
}

/// The setting is a list of folders; quotes make this one entry.
fn socket_setting(folder: &Path) -> String {
    let folder = folder.to_string_lossy().replace('"', "\"\"");
    format!("unix_socket_directories=\"{folder}\"")
}

/// Returns an id of this boot of the machine; empty if unknown.
fn boot_id() -> String {
    let id = if cfg!(target_os = "macos") {
        let sysctl = Command::new("/usr/sbin/sysctl")
            .args(["-n", "kern.bootsessionuuid"])
            .output();
        sysctl
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .ok()
    } else {
        fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
    };
    id.unwrap_or_default().trim().to_owned()
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn remove_file(path: &Path) -> io::Result<()> {
    unless_missing(fs::remove_file(path))
}

fn remove_tree(path: &Path) -> io::Result<()> {
    unless_missing(fs::remove_dir_all(path))
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_started_server_counts_as_ready() {
        let file = "42\n/data\n1700000000\n5433\n/run\n127.0.0.1\n  1 2\nready   \n";
        let cases = [
            (file.to_owned(), true),
            (file.replace("ready   ", "ready"), true),
            (file.replace("ready", "starting"), false),
            (file.replace("5433", "5432"), false),
            (file.replace("5433", "15433"), false),
            (file.replace("ready   \n", ""), false),
            ("42\n/data\n".to_owned(), false),
            (String::new(), false),
        ];
        for (state, expected) in cases {
            assert_eq!(is_ready_state(&state, 5433), expected, "{state:?}");
        }
    }
}
