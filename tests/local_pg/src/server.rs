//! One server, shared by every process that holds its lock.
//!
//! A server lives in a folder of its own:
//!
//! | Entry | What it is |
//! | --- | --- |
//! | `owners.lock` | locked shared by every process that uses the server |
//! | `start.lock` | locked by the one process that looks whether the server runs, or starts it |
//! | `watchdog.py`, `watchdog.lock` | the watchdog, and what it locks for as long as it lives |
//! | `port`, `password` | how to reach the server; for the eyes of the caller only |
//! | `clean` | names the boot of the machine in which the server last stopped in good order |
//! | `log` | what the server wrote since it was started |
//! | `data/`, `run/` | the data and the socket; the server's account alone can enter |
//!
//! The watchdog runs the server as its child and waits for the exclusive lock on `owners.lock`,
//! which the kernel grants when the last owner is gone, however it went. Whoever joins takes the
//! shared lock first: either the watchdog has not got its lock, and the server stays, or it
//! has, and the newcomer waits until the server is down and starts another.

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

/// How long a server may take to start: it can have a crash to recover from, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A start is tried again because the port may be taken before the server gets to it, and with
/// fresh data because those at hand may be broken.
const ATTEMPTS: u32 = 3;

/// Letters beyond ASCII fold and sort into words under this locale, which is always there.
const LOCALE: &str = if cfg!(target_os = "macos") {
    "en_US.UTF-8"
} else {
    "C.UTF-8"
};

/// What a server gives up for speed when its data are not to be kept.
const CARELESS: [&str; 4] = [
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    // Many test programs, each with pools.
    "max_connections=300",
];

/// Longest path of a socket (104 bytes on macOS, 108 on Linux, the last one zero).
const MAX_SOCKET_PATH: usize = 103;

/// A folder with a server in it, or to start one in.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) folder: PathBuf,
    pub(crate) installation: Installation,
    pub(crate) account: Option<Account>,
    /// Whether the data outlive the server.
    pub(crate) keeps_data: bool,
    /// What was looked at before the installation was chosen.
    pub(crate) tried: Tried,
}

/// A server that runs for as long as this is held.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) password: String,
    pub(crate) socket_dir: PathBuf,
    pub(crate) owner: File,
}

/// A server just joined. Until `turn` is dropped nobody else can join it.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) server: Server,
    /// Whether it was started by this process.
    pub(crate) is_new: bool,
    pub(crate) turn: File,
}

/// The major version of the server whose data are in the folder, if there are any.
pub(crate) fn major_of_data(folder: &Path) -> Option<u32> {
    let version = fs::read_to_string(folder.join("data/PG_VERSION")).ok()?;
    version.trim().parse().ok()
}

// === impl Site ===

impl Site {
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
        let turn = self.open("start.lock")?;
        turn.lock().map_err(self.unusable("start.lock"))?;

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
            turn,
        })
    }

    /// The port of the server, if it runs.
    fn running(&self) -> Result<Option<u16>, Error> {
        match self.last_port() {
            Some(port) if self.accepts(port)? => Ok(Some(port)),
            _ => Ok(None),
        }
    }

    /// The port of the server that runs, or ran last.
    fn last_port(&self) -> Option<u16> {
        let port = fs::read_to_string(self.folder.join("port")).ok()?;
        port.parse().ok()
    }

    /// Starts the server and returns its port.
    fn start(&self, socket_dir: &Path) -> Result<u16, Error> {
        folder::lend(socket_dir, self.account.as_ref())?;
        for attempt in 1..=ATTEMPTS {
            self.prepare_data(attempt > 1)?;
            // Whoever knew the server whose data are kept finds it where it was.
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

    /// Sees to it that there are data to start with.
    fn prepare_data(&self, is_retry: bool) -> Result<(), Error> {
        let unusable = || self.unusable("data");
        let data = self.folder.join("data");
        let clean = self.folder.join("clean");
        if !self.keeps_data {
            // Nothing was synced: after a crash of the machine, or when the server was not seen
            // to stop, the data can be broken in ways no start notices.
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

    /// Fills an empty folder with a cluster whose superuser has a fresh password.
    fn initdb(&self, data: &Path) -> Result<(), Error> {
        let unusable = || self.unusable("password");
        self.write("password", &hex::random(16).map_err(unusable())?)?;
        // A copy the server's account can read, for the moment it needs it.
        let copy = self.folder.join("password.initdb");
        let password = self.folder.join("password");
        remove_file(&copy)
            .and_then(|()| fs::copy(password, &copy))
            .and_then(|_| self.account.as_ref().map_or(Ok(()), |a| a.own(&copy)))
            .map_err(unusable())?;

        let mut initdb = Command::new(self.installation.bin.join("initdb"));
        initdb
            .args(["--encoding=UTF8", "--username", USER])
            // The folder of the socket is closed to everybody else; a port is open to all.
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
        // -1 leaves the account alone.
        let (uid, gid) = match &self.account {
            Some(account) => (account.uid.to_string(), account.gid.to_string()),
            None => ("-1".to_owned(), "-1".to_owned()),
        };
        // A file, so that a list of processes shows a name and not the text.
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
            watchdog.args(CARELESS.iter().flat_map(|setting| ["-c", setting]));
        }
        // The watchdog proper is a child of this one, which ends once it holds its lock.
        match watchdog.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(self.failed("its watchdog failed")),
            Err(error) => {
                let reason = format!("`python3`, which watches over it, does not run: {error}");
                Err(self.not_started(reason))
            }
        }
    }

    /// Waits until the server accepts connections; false if it ends instead.
    fn accepts(&self, port: u16) -> Result<bool, Error> {
        let deadline = Instant::now() + PATIENCE;
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

    /// Whether the server on that port says it is ready, and answers.
    fn is_ready(&self, port: u16) -> bool {
        // PostgreSQL's own tools read the same file; it can be an old one of another server.
        let state = fs::read_to_string(self.folder.join("data/postmaster.pid"));
        state.is_ok_and(|state| says_ready(&state, port))
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

    /// Writes a file for the eyes of the caller only.
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
fn says_ready(state: &str, port: u16) -> bool {
    let mut lines = state.lines().map(str::trim);
    lines.nth(3).is_some_and(|line| line.parse() == Ok(port)) && lines.nth(3) == Some("ready")
}

/// The setting is a list of folders; quotes make it one.
fn socket_setting(folder: &Path) -> String {
    let folder = folder.to_string_lossy().replace('"', "\"\"");
    format!("unix_socket_directories=\"{folder}\"")
}

/// Names this boot of the machine; empty where that cannot be told.
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
    fn only_the_server_that_was_started_is_taken_for_ready() {
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
            assert_eq!(says_ready(&state, 5433), expected, "{state:?}");
        }
    }
}
