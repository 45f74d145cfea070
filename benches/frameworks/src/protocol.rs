//! The messages of the protocol, in the dialects before and since 2026-07-28.

use std::{fmt, io};

use serde_json::{Value, json};

use crate::{
    http::{Connection, Response},
    numbered::{FIRST, NUMBER, Numbered},
};

/// A dialect of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Begins with `initialize`; the server may give out a session.
    Legacy,
    /// Begins with any request.
    Modern,
}

/// A measured method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    List,
    Echo,
}

/// A client on a connection.
#[derive(Debug)]
pub(crate) struct Client {
    connection: Connection,
    address: String,
    dialect: Dialect,
    session: Option<String>,
}

/// A request that is sent again and again with another number, and the answer that it should have.
#[derive(Debug)]
pub(crate) struct Exchange {
    method: Method,
    request: Numbered,
    answer: Numbered,
}

impl Dialect {
    pub(crate) const ALL: [Self; 2] = [Self::Legacy, Self::Modern];

    fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.revision())
    }
}

impl Method {
    pub(crate) const ALL: [Self; 2] = [Self::List, Self::Echo];

    fn params(self) -> Value {
        match self {
            Self::List => json!({}),
            Self::Echo => json!({"name": "echo", "arguments": {"text": format!("text {NUMBER}")}}),
        }
    }

    /// Checks the result of a request with `number`.
    fn is_right(self, result: &Value, number: u32) -> bool {
        match self {
            Self::List => result["tools"].as_array().is_some_and(|tools| {
                let named = |name| tools.iter().any(|tool| tool["name"] == name);
                let is_described = |tool: &Value| tool["inputSchema"]["type"] == "object";
                let expected = ["echo", "reverse", "upper", "length", "add"];
                tools.len() == 5
                    && expected.into_iter().all(named)
                    && tools.iter().all(is_described)
            }),
            Self::Echo => {
                let content = &result["content"];
                result["isError"] != true
                    && content.as_array().is_some_and(|blocks| blocks.len() == 1)
                    && content[0]["text"] == format!("text {number}")
            }
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Echo => "echo",
        })
    }
}

// === impl Client ===

impl Client {
    /// Connects and, in the legacy dialect, initializes.
    pub(crate) async fn connect(address: &str, dialect: Dialect) -> io::Result<Self> {
        let mut client = Self {
            connection: Connection::open(address).await?,
            address: address.to_owned(),
            dialect,
            session: None,
        };
        if dialect == Dialect::Legacy {
            client.initialize().await?;
        }
        Ok(client)
    }

    async fn initialize(&mut self) -> io::Result<()> {
        let params = json!({
            "protocolVersion": self.dialect.revision(),
            "capabilities": {},
            "clientInfo": {"name": "compare", "version": "1.0.0"},
        });
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let request = self.post("", &call.to_string());
        let response = self.connection.send(&request).await?;
        let message = message(&response, 1)?;
        let result = &message["result"];
        if result["protocolVersion"] != self.dialect.revision() {
            return Err(io::Error::other(format!("another revision: {message}")));
        }
        if result["serverInfo"]["name"] != "five-tools"
            || !result["capabilities"]["tools"].is_object()
        {
            return Err(io::Error::other(format!("another server: {message}")));
        }
        self.session = response.header("mcp-session-id").map(str::to_owned);
        let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let request = self.post(&self.headers(), note);
        let status = self.connection.send(&request).await?.status;
        if !(200..300).contains(&status) {
            return Err(io::Error::other(format!("initialized: {status}")));
        }
        Ok(())
    }

    /// Makes a request ready, and checks one answer to it in full.
    pub(crate) async fn prepare(&mut self, method: Method) -> io::Result<Exchange> {
        let mut params = method.params();
        let name = match method {
            Method::List => "tools/list",
            Method::Echo => "tools/call",
        };
        let mut headers = self.headers();
        if self.dialect == Dialect::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.dialect.revision(),
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "compare", "version": "1.0.0"},
            });
            headers += &format!("mcp-method: {name}\r\n");
            if method == Method::Echo {
                headers += "mcp-name: echo\r\n";
            }
        }
        let call = json!({"jsonrpc": "2.0", "id": NUMBER, "method": name, "params": params});
        let request = Numbered::new(self.post(&headers, &call.to_string()), NUMBER);
        let mut exchange = Exchange {
            method,
            request,
            answer: Numbered::default(),
        };
        let response = self.connection.send(exchange.request.with(FIRST)).await?;
        let message = message(&response, FIRST)?;
        if !method.is_right(&message["result"], FIRST) {
            return Err(io::Error::other(format!("a wrong answer: {message}")));
        }
        if self.dialect == Dialect::Modern && message["result"]["resultType"] != "complete" {
            return Err(io::Error::other(format!("another dialect: {message}")));
        }
        exchange.answer = Numbered::new(response.body.to_vec(), FIRST);
        Ok(exchange)
    }

    /// Sends a request with `number`; returns whether the answer is right.
    pub(crate) async fn exchange(
        &mut self,
        exchange: &mut Exchange,
        number: u32,
    ) -> io::Result<bool> {
        let response = self.connection.send(exchange.request.with(number)).await?;
        if response.status == 200 && exchange.answer.with(number) == response.body {
            return Ok(true);
        }
        // An event stream has ids of its own, which change.
        let message = message(&response, number);
        Ok(message.is_ok_and(|message| exchange.method.is_right(&message["result"], number)))
    }

    /// Ends the session, if there is one.
    pub(crate) async fn close(mut self) {
        if self.session.is_none() {
            return;
        }
        let request = format!(
            "DELETE /mcp HTTP/1.1\r\nhost: {}\r\n{}content-length: 0\r\n\r\n",
            self.address,
            self.headers(),
        );
        // A server need not allow it.
        self.connection.send(request.as_bytes()).await.ok();
    }

    fn headers(&self) -> String {
        let mut headers = format!("mcp-protocol-version: {}\r\n", self.dialect);
        if let Some(session) = &self.session {
            headers += &format!("mcp-session-id: {session}\r\n");
        }
        headers
    }

    fn post(&self, headers: &str, body: &str) -> Vec<u8> {
        let (address, length) = (&self.address, body.len());
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}\
             content-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

// === impl Exchange ===

impl Exchange {
    /// Bytes of an answer.
    pub(crate) fn answer_bytes(&mut self) -> usize {
        self.answer.with(FIRST).len()
    }
}

/// The message that answers the request with `id`, in JSON or in an event stream.
fn message(response: &Response<'_>, id: u32) -> io::Result<Value> {
    let text = String::from_utf8_lossy(response.body);
    if response.status != 200 {
        return Err(io::Error::other(format!("{}: {text}", response.status)));
    }
    let is_stream = response
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("text/event-stream"));
    let answers = |text: &str| {
        let message: Value = serde_json::from_str(text).ok()?;
        (message["id"] == id && message["jsonrpc"] == "2.0").then_some(message)
    };
    let found = if is_stream {
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        data.find_map(answers)
    } else {
        answers(&text)
    };
    found.ok_or_else(|| io::Error::other(format!("no answer: {text}")))
}
