//! The servers: what they are called, how they are started, and what their processes use.

use std::{
    env, fs, io,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tokio::{net::TcpStream, time::sleep};

/// A server program with its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// The name in the tables and for `--only`.
    pub(crate) name: &'static str,
    /// The framework's crate.
    pub(crate) framework: &'static str,
    /// The package and program of the server.
    pub(crate) package: &'static str,
    argument: Option<&'static str>,
}

/// All servers, in the order of their turns.
pub(crate) const CONTENDERS: [Contender; 7] = [
    Contender::new("ziggurat-mcp", "ziggurat-mcp", "with-ziggurat"),
    Contender::new("rmcp", "rmcp", "with-rmcp"),
    Contender {
        argument: Some("--sessions"),
        ..Contender::new("rmcp-default", "rmcp", "with-rmcp")
    },
    Contender::new("tower-mcp", "tower-mcp", "with-tower-mcp"),
    Contender::new("turbomcp", "turbomcp", "with-turbomcp"),
    Contender::new("rust-mcp-sdk", "rust-mcp-sdk", "with-rust-mcp-sdk"),
    // No framework: the cost of HTTP and JSON.
    Contender::new("by-hand", "hyper", "with-nothing"),
];

/// A server in a process; killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

// === impl Contender ===

impl Contender {
    const fn new(name: &'static str, framework: &'static str, package: &'static str) -> Self {
        Self {
            name,
            framework,
            package,
            argument: None,
        }
    }

    /// The path of the program: beside this one.
    pub(crate) fn program(&self) -> io::Result<PathBuf> {
        Ok(env::current_exe()?.with_file_name(self.package))
    }

    /// Starts the server with so many threads of its runtime, or as many as Tokio chooses, and
    /// waits until it listens.
    pub(crate) async fn start(&self, threads: Option<u32>) -> io::Result<Server> {
        let address = free_address()?.to_string();
        let child = Command::new(self.program()?)
            .arg(&address)
            .args(self.argument)
            .envs(threads.map(|threads| ("TOKIO_WORKER_THREADS", threads.to_string())))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let server = Server { child, address };
        let begun = Instant::now();
        while TcpStream::connect(&server.address).await.is_err() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err(io::Error::other(format!("{} does not listen", self.name)));
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }
}

// === impl Server ===

impl Server {
    /// Seconds of processor time that the process has used.
    pub(crate) fn processor_time(&self) -> io::Result<f64> {
        let stat = self.proc("stat")?;
        // The name of the program may contain spaces; the fields after it are numbers.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u32 = ticks
            .map(|field| field.parse::<u32>().unwrap_or_default())
            .sum();
        // A clock tick is a hundredth of a second for every program on Linux.
        Ok(f64::from(ticks) / 100.0)
    }

    /// Mebibytes of memory that the process uses now.
    pub(crate) fn memory(&self) -> io::Result<f64> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok());
        let kibibytes = number.ok_or_else(|| io::Error::other("no VmRSS"))?;
        Ok(f64::from(kibibytes) / 1024.0)
    }

    fn proc(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// An address on which nothing listens.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind(("127.0.0.1", 0))?.local_addr()
}
