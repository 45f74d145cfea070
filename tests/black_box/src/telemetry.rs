//! The page of metrics of a server, and a collector of its traces.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    thread,
};

use serde_json::Value;

use crate::{Client, Program, received, waiting::patient};

/// The page of metrics of a running server.
#[derive(Debug)]
pub struct MetricsPage(pub Client);

/// A collector of traces over OTLP in JSON.
#[derive(Debug)]
pub struct Collector {
    /// The address to export to.
    pub url: String,
    bodies: Receiver<Value>,
}

// === impl MetricsPage ===

impl MetricsPage {
    /// Finds the page of a server in its log.
    pub fn of(program: &Program) -> Self {
        let line = program.wait_for("metrics on http://");
        let address = line.split("http://").nth(1).expect("an address");
        let address = address.split('/').next().expect("a host");
        Self(Client::new(address.to_owned()))
    }

    /// Reads the page.
    pub fn text(&self) -> String {
        let answer = self.0.get("/metrics");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    /// Returns the value of a series.
    pub fn value(&self, series: &str) -> Option<f64> {
        let text = self.text();
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        line.map(|rest| rest.trim().parse().expect("a number"))
    }
}

// === impl Collector ===

impl Collector {
    /// Starts a collector.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, bodies) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let body = receive(patient(stream.expect("a connection")));
                if sender.send(body).is_err() {
                    break;
                }
            }
        });
        Self {
            url: format!("http://{address}/v1/traces"),
            bodies,
        }
    }

    /// Returns all exports so far, at least one.
    pub fn exports(&self) -> Vec<Value> {
        let first = received(&self.bodies);
        [first].into_iter().chain(self.bodies.try_iter()).collect()
    }
}

/// Returns the spans of exports.
pub fn spans_of(exports: &[Value]) -> Vec<Value> {
    let spans = exports.iter().flat_map(|export| {
        let spans = &export["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.as_array().expect("spans").clone()
    });
    spans.collect()
}

/// Reads an export, answers it, and returns its body.
fn receive(stream: TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).expect("a line") > 2 {
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
                  connection: close\r\n\r\n{}";
    let written = reader.get_mut().write_all(answer.as_bytes());
    written.expect("a client");
    serde_json::from_slice(&body).expect("JSON")
}
