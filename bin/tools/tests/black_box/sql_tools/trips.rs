//! Counts the trips to PostgreSQL that a call takes, on the wire.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::json;

use super::SHOP;
use crate::support::{Home, Postgres, until};

const TOOLS: &str = r#"tools:
- {name: bound, description: D, statement: "SELECT 'wire bound', :n", parameters: [{name: n, type: integer}]}
- {name: bare, description: D, statement: "SELECT 'wire bare'"}
- name: named
  description: D
  statement: SELECT 'wire named', :"column" FROM orders
  parameters: [{name: column, type: identifier, allowed: [id]}]
- {name: write, description: D, database: main, write: true, statement: "UPDATE orders SET note = 'wire write' WHERE id = :n RETURNING id", parameters: [{name: n, type: integer}]}
"#;

/// A part of a connection that goes in one direction.
struct Part {
    is_sent: bool,
    bytes: Vec<u8>,
}

impl Part {
    fn sends(&self, text: &str) -> bool {
        let mut windows = self.bytes.windows(text.len());
        self.is_sent && windows.any(|it| it == text.as_bytes())
    }
}

/// Passes connections to PostgreSQL on, and keeps what they carry.
struct Wire {
    port: u16,
    connections: Arc<Mutex<Vec<Vec<Part>>>>,
}

impl Wire {
    fn new(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&connections);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&target).expect("a PostgreSQL");
                let index = {
                    let mut kept = kept.lock().expect("not poisoned");
                    kept.push(Vec::new());
                    kept.len() - 1
                };
                let ways = [(&client, &server, true), (&server, &client, false)];
                for (from, to, is_sent) in ways {
                    let clone = |stream: &TcpStream| stream.try_clone().expect("a handle");
                    let (from, to, kept) = (clone(from), clone(to), Arc::clone(&kept));
                    thread::spawn(move || {
                        pass_on(from, to, |bytes| {
                            let kept = &mut kept.lock().expect("not poisoned")[index];
                            add(kept, is_sent, bytes);
                        });
                    });
                }
            }
        });
        Self { port, connections }
    }

    /// Returns whether a text was sent.
    fn has_sent(&self, text: &str) -> bool {
        let connections = self.connections.lock().expect("not poisoned");
        connections.iter().flatten().any(|part| part.sends(text))
    }

    /// Returns the number of trips on each connection that sent a text, during a call.
    fn trips(&self, text: &str, call: impl FnOnce()) -> Vec<usize> {
        let lengths = |parts: &Vec<Part>| parts.len();
        let before: Vec<_> = self
            .connections
            .lock()
            .expect("not poisoned")
            .iter()
            .map(lengths)
            .collect();
        call();
        let connections = self.connections.lock().expect("not poisoned");
        let of_call = connections
            .iter()
            .enumerate()
            .map(|(index, parts)| &parts[before.get(index).copied().unwrap_or_default()..]);
        of_call
            .filter(|parts| parts.iter().any(|part| part.sends(text)))
            .map(|parts| parts.iter().filter(|part| part.is_sent).count())
            .collect()
    }
}

/// Adds bytes to the last part of a connection, unless they go the other way.
fn add(parts: &mut Vec<Part>, is_sent: bool, bytes: &[u8]) {
    match parts.last_mut() {
        Some(last) if last.is_sent == is_sent => last.bytes.extend_from_slice(bytes),
        _ => parts.push(Part {
            is_sent,
            bytes: bytes.to_vec(),
        }),
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, keep: impl Fn(&[u8])) {
    let mut buffer = [0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        // Before it is passed on, so that an answer cannot come first.
        keep(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}

#[test]
fn a_tool_that_reads_takes_one_trip_and_one_that_writes_two() {
    let postgres = Postgres::with(SHOP);
    let environment = postgres.environment();
    let of = |name: &str| {
        let found = environment.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.clone()).expect(name)
    };
    let (host, port) = (of("PGHOST"), of("PGPORT"));
    let wire = Wire::new(format!("{host}:{port}"));
    let (theirs, ours) = (format!("port: {port}"), format!("port: {}", wire.port));
    let entry = postgres.entry("main").replace(&theirs, &ours);
    let home = Home::new();
    fs::write(home.file("own.yaml"), TOOLS).expect("written");
    home.configure(&format!(
        "databases:\n{entry}    allow_writes: true\ncustom_definitions_path: own.yaml\n"
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    // The checks of the statements, which are sent at the start, are not counted.
    until("all statements are checked", || {
        ["bound", "bare", "named", "write"]
            .iter()
            .all(|name| wire.has_sent(&format!("wire {name}")))
    });
    // Opens the connection.
    client.tool("bare", &json!({}));
    for (name, arguments, trips) in [
        ("bound", json!({"n": 1}), 1),
        // PostgreSQL keeps no statement, so the second call is like the first.
        ("bound", json!({"n": 2}), 1),
        ("bare", json!({}), 1),
        ("named", json!({"column": "id"}), 1),
        ("write", json!({"n": 1}), 2),
    ] {
        let found = wire.trips(&format!("wire {name}"), || {
            let (text, is_error) = client.tool(name, &arguments);
            assert!(!is_error, "{text}");
        });
        assert_eq!(found, [trips], "{name}");
    }
}
