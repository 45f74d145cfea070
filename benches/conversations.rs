//! How fast conversations are kept, and whether all that was acknowledged is there when the
//! server is killed in the middle of it.
//!
//! The program runs as a release does. Writers keep one conversation after another, each of them
//! new; then the server is killed and started again, and everything that was acknowledged is
//! read. `cargo bench -p ziggurat-benches --bench conversations` builds it;
//! `ZIGGURAT_BENCH_PROGRAM` names another build, `ZIGGURAT_BENCH_WRITERS` another number of
//! writers than 200, and `ZIGGURAT_BENCH_SECONDS` how long they write (60).

use std::{
    env, fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use ziggurat_local_pg::LocalPg;

const PATH: &str = "/api/conversations";
const PASSWORD: &str = "correct horse";

/// As cheap to check as can be.
const HASH: &str = "$2b$04$Ppcvd5/NfazclsO4EgnYy.9IcQqyPDIpoXon1/LzTctWMzYg3nvrm";

/// The files of a server.
struct Home {
    program: PathBuf,
    folder: TempDir,
    state: Option<String>,
}

/// A server that is killed with this.
struct Server {
    child: Child,
    address: SocketAddr,
    // Held open, or the program could not write its log.
    _log: BufReader<std::process::ChildStderr>,
}

/// What a writer has done: what was acknowledged, and how long each took.
#[derive(Default)]
struct Work {
    kept: Vec<(String, String)>,
    times: Vec<Duration>,
}

fn main() -> io::Result<()> {
    let number = |name: &str, usual: usize| {
        let value = env::var(name).ok();
        value.and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let writers = number("ZIGGURAT_BENCH_WRITERS", 200);
    let seconds = number("ZIGGURAT_BENCH_SECONDS", 60);
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    let runtime = tokio::runtime::Runtime::new()?;
    let postgres = runtime
        .block_on(LocalPg::private(folder.path()))
        .map_err(io::Error::other)?;
    let program = env::var_os("ZIGGURAT_BENCH_PROGRAM").map_or_else(build, PathBuf::from);
    let stores = [
        ("in a file", None),
        ("in PostgreSQL", Some(postgres.url("postgres"))),
    ];
    for (name, state) in stores {
        let home = Home::new(&program, state)?;
        writeln!(io::stdout(), "{writers} writers for {seconds} s, {name}:")?;
        let time = Duration::from_secs(u64::try_from(seconds).expect("not so many"));
        measure(&home, writers, time)?;
    }
    Ok(())
}

fn measure(home: &Home, writers: usize, time: Duration) -> io::Result<()> {
    let mut server = home.serve()?;
    let token = server.log_in()?;
    let begun = Instant::now();
    let all = thread::scope(|scope| {
        let (server, token) = (&server, &*token);
        let writing = move |writer| scope.spawn(move || server.write(token, writer));
        let writing: Vec<_> = (0..writers).map(writing).collect();
        thread::sleep(time);
        // In the middle of whatever they are doing.
        server.kill();
        let works = writing.into_iter().map(thread::ScopedJoinHandle::join);
        works
            .map(|work| work.expect("no panic"))
            .collect::<Vec<_>>()
    });
    let took = begun.elapsed();
    server.child.wait()?;
    let mut times: Vec<_> = all.iter().flat_map(|work| work.times.clone()).collect();
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let count = times.len();
    #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
    let rate = count as f64 / took.as_secs_f64();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "  {count} acknowledged, {rate:.0}/s, p50 {:.1?}, p99 {:.1?}, longest {:.1?}",
        at(50),
        at(99),
        at(100)
    )?;

    let server = home.serve()?;
    let token = server.log_in()?;
    let lost: usize = thread::scope(|scope| {
        let (server, token) = (&server, &*token);
        let reading: Vec<_> = all
            .iter()
            .map(|work| scope.spawn(move || server.missing(token, &work.kept)))
            .collect();
        let lost = reading.into_iter().map(thread::ScopedJoinHandle::join);
        lost.map(|lost| lost.expect("no panic")).sum()
    });
    writeln!(out, "  killed in the middle: {lost} of them lost")?;
    assert_eq!(lost, 0, "acknowledged and lost");
    Ok(())
}

// === impl Home ===

impl Home {
    fn new(program: &Path, state: Option<String>) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let users = format!(
            "users: {{alice: {{username: alice, password_hash: {HASH}, \
             created_at: 2026-01-01T00:00:00Z}}}}\n"
        );
        for (name, text) in [
            ("config.yaml", "databases: [{name: main, user: nobody}]\n"),
            ("tokens.yaml", "tokens: []\n"),
            ("users.yaml", &users),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, text)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
        Ok(Self {
            program: program.to_owned(),
            folder,
            state,
        })
    }

    fn serve(&self) -> io::Result<Server> {
        let mut child = Command::new(&self.program)
            .args(["-http", "-addr", "127.0.0.1:0", "-config", "config.yaml"])
            .args(["-token-file", "tokens.yaml", "-user-file", "users.yaml"])
            .current_dir(self.folder.path())
            .env_clear()
            .env("ZIGGURAT_DATA_DIR", self.folder.path().join("data"))
            .envs(self.state.iter().map(|url| ("ZIGGURAT_STATE_URL", url)))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut log = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(log.read_line(&mut line)? > 0, "the server ended");
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().parse().expect("an address");
            }
        };
        Ok(Server {
            child,
            address,
            _log: log,
        })
    }
}

// === impl Server ===

impl Server {
    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn log_in(&self) -> io::Result<String> {
        let arguments = json!({"username": "alice", "password": PASSWORD});
        let params = json!({"name": "authenticate_user", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = request("POST", "/mcp/v1", "", &call.to_string());
        let (_, answer) = exchange(&mut self.connect()?, &request)?;
        let answer: Value = serde_json::from_str(&answer)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        let session: Value = serde_json::from_str(text.expect("a session"))?;
        Ok(session["session_token"]
            .as_str()
            .expect("a token")
            .to_owned())
    }

    /// Keeps one conversation after another, until nobody answers.
    fn write(&self, token: &str, writer: usize) -> Work {
        let mut work = Work::default();
        let Ok(mut stream) = self.connect() else {
            return work;
        };
        for turn in 0.. {
            let said = format!("turn {turn} of writer {writer}");
            let messages = json!([{"role": "user", "content": said}]);
            let body = json!({"messages": messages}).to_string();
            let begun = Instant::now();
            let Ok((status, answer)) = exchange(&mut stream, &request("POST", PATH, token, &body))
            else {
                break;
            };
            assert_eq!(status, 201, "{answer}");
            work.times.push(begun.elapsed());
            let made: Value = serde_json::from_str(&answer).expect("JSON");
            let id = made["id"].as_str().expect("an id").to_owned();
            work.kept.push((id, said));
        }
        work
    }

    fn kill(&self) {
        let id = self.child.id().to_string();
        let killed = Command::new("kill").args(["-9", &id]).status();
        assert!(killed.is_ok_and(|status| status.success()), "not killed");
    }

    /// How many of these are not there as they were kept.
    fn missing(&self, token: &str, kept: &[(String, String)]) -> usize {
        let mut stream = self.connect().expect("listening");
        let mut is_there = |(id, said): &(String, String)| {
            let request = request("GET", &format!("{PATH}/{id}"), token, "");
            let (status, answer) = exchange(&mut stream, &request).expect("answered");
            status == 200 && answer.contains(said)
        };
        kept.iter().filter(|one| !is_there(one)).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn build() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "ziggurat-tools"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo, which runs this");
    assert!(output.status.success(), "it does not build");
    let messages = String::from_utf8_lossy(&output.stdout);
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    program.expect("cargo says where it is")
}

fn request(method: &str, path: &str, token: &str, body: &str) -> String {
    let length = body.len();
    let authorization = if token.is_empty() {
        String::new()
    } else {
        format!("authorization: Bearer {token}\r\n")
    };
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Sends a request, and reads as much as its head says: the status and the body.
fn exchange(stream: &mut TcpStream, request: &str) -> io::Result<(u16, String)> {
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer.push_str(&String::from_utf8_lossy(&piece[..read]));
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(usize::MAX) {
            let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
            return Ok((status.expect("a status"), body.to_owned()));
        }
    }
}
