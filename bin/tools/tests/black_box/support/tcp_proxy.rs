//! TCP load balancer with connections that a test can close.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use serde_json::Value;

use ziggurat_black_box::PATIENCE;

/// Forwards each connection to one of several servers, chosen at random, or to another one if that
/// is unreachable.
pub(crate) struct TcpProxy {
    address: String,
    state: Arc<State>,
}

struct State {
    targets: Vec<String>,
    is_disconnected: AtomicBool,
    random: AtomicU64,
    live: Mutex<Vec<TcpStream>>,
}

impl TcpProxy {
    pub(crate) fn new(targets: impl IntoIterator<Item = String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let state = Arc::new(State {
            targets: targets.into_iter().collect(),
            is_disconnected: AtomicBool::new(false),
            random: AtomicU64::new(1),
            live: Mutex::default(),
        });
        let accepting = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&accepting);
                thread::spawn(move || state.forward(&stream).ok());
            }
        });
        Self { address, state }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Closes all connections, and refuses new ones.
    pub(crate) fn disconnect(&self) {
        self.state.is_disconnected.store(true, Ordering::SeqCst);
        for stream in self.state.live.lock().expect("not poisoned").drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    pub(crate) fn restore(&self) {
        self.state.is_disconnected.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn forward(&self, client: &TcpStream) -> io::Result<()> {
        let server = self.connect()?;
        self.live
            .lock()
            .expect("not poisoned")
            .extend([client.try_clone()?, server.try_clone()?]);
        // The proxy may have been cut since the connection was accepted.
        if self.is_disconnected.load(Ordering::SeqCst) {
            return Ok(());
        }
        thread::scope(|scope| {
            scope.spawn(|| pass_on(client, &server));
            pass_on(&server, client);
        });
        Ok(())
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let first = usize::try_from(self.next_random()).expect("a small number");
        let number = self.targets.len();
        (0..number)
            .map(|at| TcpStream::connect(&self.targets[(first + at) % number]))
            .find(Result::is_ok)
            .unwrap_or_else(|| Err(io::ErrorKind::ConnectionRefused.into()))
    }

    fn next_random(&self) -> u64 {
        let step = |random: u64| {
            // The constants of Knuth's generator.
            let next = random.wrapping_mul(6_364_136_223_846_793_005);
            Some(next.wrapping_add(1_442_695_040_888_963_407))
        };
        let number = self
            .random
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, step);
        number.expect("always a next one") >> 40
    }
}

fn pass_on(mut from: &TcpStream, mut to: &TcpStream) {
    io::copy(&mut from, &mut to).ok();
    // After one direction has ended, the other is not needed.
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}

/// Sends a request, and returns the status and the JSON of the whole answer. A cut-off answer, as
/// of a killed server, is an error.
pub(crate) fn exchange(
    address: &str,
    token: &str,
    (method, path): (&str, &str),
    body: &str,
) -> io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n\
         {body}"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    parsed(&text).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn parsed(text: &str) -> Option<(u16, Value)> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).ok()?))
}
