//! Rate of saving conversations, and a check that all acknowledged ones survive a kill of the
//! server.
//!
//! Runs the release build. Writers save one new conversation after another; then the server is
//! killed and started again, and all acknowledged conversations are read. `cargo bench -p
//! ziggurat-benches --bench conversations` builds the program; `ZIGGURAT_BENCH_PROGRAM` names
//! another build, `ZIGGURAT_BENCH_WRITERS` the number of writers (200), and
//! `ZIGGURAT_BENCH_SECONDS` the time they write (60).

use std::{
    env, fs,
    io::{self, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use ziggurat_benches::tools::{Home, exchange, send, tool};
use ziggurat_local_pg::LocalPg;

const PATH: &str = "/api/conversations";
const USER: &str = "alice";
const PASSWORD: &str = "correct-horse";

/// A logged-in user.
struct Session {
    address: String,
    token: String,
}

/// The acknowledged conversations of a writer, and the time each took.
#[derive(Default)]
struct Work {
    saved: Vec<(String, String)>,
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
    let stores = [
        ("in a file", None),
        ("in PostgreSQL", Some(postgres.url("postgres"))),
    ];
    for (name, state) in stores {
        let state = state.map_or_else(String::new, |url| format!("state: {{url: '{url}'}}\n"));
        let home = Home::new(&format!(
            "databases: [{{name: bench, user: nobody}}]\n{state}"
        ));
        // Creates the token file.
        let _ = home.token();
        home.user(USER, PASSWORD);
        writeln!(io::stdout(), "{writers} writers for {seconds} s, {name}:")?;
        let time = Duration::from_secs(u64::try_from(seconds).expect("not so many"));
        measure(&home, writers, time)?;
    }
    Ok(())
}

fn measure(home: &Home, writers: usize, time: Duration) -> io::Result<()> {
    let (program, address) = home.serve();
    let session = Session::begin(address)?;
    let begun = Instant::now();
    let all = thread::scope(|scope| {
        let session = &session;
        let writing = move |writer| scope.spawn(move || session.write(writer));
        let writing: Vec<_> = (0..writers).map(writing).collect();
        thread::sleep(time);
        // Killed while requests are running.
        drop(program);
        let works = writing.into_iter().map(thread::ScopedJoinHandle::join);
        works
            .map(|work| work.expect("no panic"))
            .collect::<Vec<_>>()
    });
    let took = begun.elapsed();
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

    let (_program, address) = home.serve();
    let session = Session::begin(address)?;
    let lost: usize = thread::scope(|scope| {
        let session = &session;
        let reading: Vec<_> = all
            .iter()
            .map(|work| scope.spawn(move || session.missing(&work.saved)))
            .collect();
        let lost = reading.into_iter().map(thread::ScopedJoinHandle::join);
        lost.map(|lost| lost.expect("no panic")).sum()
    });
    writeln!(out, "  killed in the middle: {lost} of them lost")?;
    assert_eq!(lost, 0, "acknowledged and lost");
    Ok(())
}

// === impl Session ===

impl Session {
    fn begin(address: String) -> io::Result<Self> {
        let arguments = json!({"username": USER, "password": PASSWORD});
        let call = tool("authenticate_user", &arguments);
        let request = send("POST", "/mcp/v1", &address, None, &call);
        let (_, answer) = exchange(&mut TcpStream::connect(&address)?, &request)?;
        let answer: Value = serde_json::from_str(&answer)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        let session: Value = serde_json::from_str(text.expect("a session"))?;
        let token = session["session_token"].as_str().expect("a token");
        Ok(Self {
            address,
            token: token.to_owned(),
        })
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        send(method, path, &self.address, Some(&self.token), body)
    }

    /// Saves one conversation after another, until the server is gone.
    fn write(&self, writer: usize) -> Work {
        let mut work = Work::default();
        let Ok(mut stream) = self.connect() else {
            return work;
        };
        for turn in 0.. {
            let said = format!("turn {turn} of writer {writer}");
            let messages = json!([{"role": "user", "content": said}]);
            let request = self.request("POST", PATH, &json!({"messages": messages}).to_string());
            let begun = Instant::now();
            let Ok((status, answer)) = exchange(&mut stream, &request) else {
                break;
            };
            assert_eq!(status, 201, "{answer}");
            work.times.push(begun.elapsed());
            let made: Value = serde_json::from_str(&answer).expect("JSON");
            let id = made["id"].as_str().expect("an id").to_owned();
            work.saved.push((id, said));
        }
        work
    }

    /// Counts the conversations that are missing or changed.
    fn missing(&self, saved: &[(String, String)]) -> usize {
        let mut stream = self.connect().expect("listening");
        let mut is_there = |(id, said): &(String, String)| {
            let request = self.request("GET", &format!("{PATH}/{id}"), "");
            let (status, answer) = exchange(&mut stream, &request).expect("answered");
            status == 200 && answer.contains(said)
        };
        saved.iter().filter(|one| !is_there(one)).count()
    }
}
