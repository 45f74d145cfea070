//! Servers that ask for less than a password deserves.

use secrecy::ExposeSecret as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::database::{Database, Settings, SslMode};

const OK: u32 = 0;
const CLEAR_TEXT: u32 = 3;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;

/// Server that asks for authentication without knowing any password.
struct Impostor {
    listener: TcpListener,
    database: Database,
}

impl Impostor {
    async fn new(ssl_mode: SslMode, require_auth: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let require_auth = Some(require_auth).filter(|list| !list.is_empty());
        let database = Database::try_from(Settings {
            name: "main".to_owned(),
            host: address.ip().to_string(),
            port: address.port(),
            user: "reader".to_owned(),
            password: "swordfish".to_owned().into(),
            ssl_mode,
            require_auth: require_auth.map(|list| list.parse().expect("methods")),
            ..Settings::default()
        });
        Self {
            listener,
            database: database.expect("valid"),
        }
    }

    /// Lets a client log in, and returns its error.
    async fn lure(&self, act: impl AsyncFnOnce(TcpStream)) -> DriverError {
        let options = &self.database.targets()[0].options;
        assert_eq!(options.password.expose_secret(), "swordfish");
        let play = async {
            let (mut stream, _) = self.listener.accept().await.expect("a client");
            let mut first = packet(&mut stream).await;
            if first.len() == 4 {
                // A request for TLS.
                stream.write_all(b"N").await.expect("sent");
                first = packet(&mut stream).await;
            }
            assert!(first.len() > 4, "a startup message");
            act(stream).await;
        };
        let met = async { tokio::join!(Client::connect(options), play) };
        let met = time::timeout(Duration::from_secs(20), met);
        let (entered, ()) = met.await.expect("in time");
        entered.expect_err("an impostor")
    }
}

/// Reads a message without a tag; returns what follows its length.
async fn packet(stream: &mut TcpStream) -> Vec<u8> {
    let length = stream.read_u32().await.expect("a length");
    let mut body = vec![0; usize::try_from(length).expect("short") - 4];
    stream.read_exact(&mut body).await.expect("a message");
    body
}

/// Sends a request for authentication.
async fn ask(stream: &mut TcpStream, code: u32, data: &[u8]) {
    let mut message = vec![b'R'];
    let length = u32::try_from(data.len()).expect("short") + 8;
    message.extend(length.to_be_bytes());
    message.extend(code.to_be_bytes());
    message.extend(data);
    stream.write_all(&message).await.expect("sent");
}

#[tokio::test]
async fn a_password_in_clear_text_is_sent_only_where_that_is_allowed() {
    use SslMode::{Disable, Prefer};

    for (mode, require_auth, is_sent) in [
        (Prefer, "", false),
        (Disable, "", false),
        (Prefer, "scram-sha-256,md5", false),
        (Prefer, "!password", false),
        (Prefer, "password", true),
        (Prefer, "!md5", true),
    ] {
        let impostor = Impostor::new(mode, require_auth).await;
        let error = impostor
            .lure(async |mut stream: TcpStream| {
                ask(&mut stream, CLEAR_TEXT, &[]).await;
                if is_sent {
                    assert_eq!(stream.read_u8().await.expect("a tag"), b'p');
                    assert_eq!(packet(&mut stream).await, b"swordfish\0");
                } else {
                    let mut rest = Vec::new();
                    stream.read_to_end(&mut rest).await.expect("an end");
                    assert_eq!(rest, b"", "{mode} {require_auth}");
                }
            })
            .await;
        let is_refused = matches!(error, DriverError::Auth(_));
        assert_eq!(is_refused, !is_sent, "{mode} {require_auth}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_asks_for_nothing_is_refused_if_a_method_is_required() {
    let impostor = Impostor::new(SslMode::Prefer, "scram-sha-256").await;
    let error = impostor
        .lure(async |mut stream: TcpStream| ask(&mut stream, OK, &[]).await)
        .await;
    assert!(matches!(error, DriverError::Auth(_)), "{error:?}");
}

#[tokio::test]
async fn scram_with_few_iterations_gets_no_proof() {
    for (iterations, is_answered) in [("1", false), ("4095", false), ("4096", true), ("x", false)] {
        let impostor = Impostor::new(SslMode::Prefer, "").await;
        let error = impostor
            .lure(async |mut stream: TcpStream| {
                ask(&mut stream, SASL, b"SCRAM-SHA-256\0\0").await;
                assert_eq!(stream.read_u8().await.expect("a tag"), b'p');
                let first = packet(&mut stream).await;
                let first = String::from_utf8_lossy(&first).into_owned();
                let (_, nonce) = first.split_once("r=").expect("a nonce");
                let answer = format!("r={nonce}more,s=c2FsdA==,i={iterations}");
                ask(&mut stream, SASL_CONTINUE, answer.as_bytes()).await;
                let mut rest = [0; 1];
                let read = stream.read(&mut rest).await.expect("an end");
                assert_eq!(read == 1, is_answered, "{iterations}");
            })
            .await;
        let is_refused = matches!(error, DriverError::Auth(_));
        assert_eq!(is_refused, !is_answered, "{iterations}: {error:?}");
    }
}
