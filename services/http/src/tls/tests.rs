use std::{future::pending, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream as ClientStream};
use tower::service_fn;
use ziggurat_serve::{Limits, RequestBody, Server};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// A server that runs until it is dropped.
struct Running {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

/// Limits that no test reaches by accident.
fn limits() -> Limits {
    const LONG: Duration = Duration::from_hours(1);
    let mut limits = Limits::default();
    limits.handshake_timeout = LONG;
    limits.header_timeout = LONG;
    limits.body_timeout = LONG;
    limits.idle_timeout = LONG;
    limits
}

/// Starts a server that answers with the length of the request body, or with its error.
async fn start(server: Server<Tls>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let service = service_fn(async |request: Request<RequestBody>| {
        let text = match request.into_body().collect().await {
            Ok(body) => format!("{} bytes", body.to_bytes().len()),
            Err(error) => error.to_string(),
        };
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(text)))
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let serving = server.serve(listener, service, pending());
        serving.await.expect("the listener lives");
    });
    Running {
        address,
        _tasks: tasks,
    }
}

/// Reads until the server closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    read.expect("the server closes").expect("without a reset");
    String::from_utf8(bytes).expect("text")
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("listening")
    }
}

/// A root, an intermediate authority, and a server certificate that it has signed, as files.
struct Papers {
    folder: TempDir,
    root: CertificateDer<'static>,
    leaf: CertificateDer<'static>,
    middle: CertificateDer<'static>,
}

impl Papers {
    fn draw_up() -> Self {
        let root = issuer("root", None);
        let middle = issuer("middle", Some(&root));
        let key = KeyPair::generate().expect("a key");
        let leaf = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        let leaf = leaf.signed_by(&key, &middle).expect("signed");
        let folder = TempDir::new().expect("a folder");
        let papers = Self {
            folder,
            root: root.der().clone(),
            leaf: leaf.der().clone(),
            middle: middle.der().clone(),
        };
        papers.write("server.crt", &leaf.pem());
        papers.write("server.key", &key.serialize_pem());
        papers.write("chain.crt", &middle.pem());
        papers.write("full.crt", &(leaf.pem() + &middle.pem()));
        papers
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("written");
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn load(&self, certificate: &str, key: &str, chain: Option<&str>) -> Result<Tls, TlsError> {
        Tls::open(&TlsFiles {
            cert: self.path(certificate),
            key: self.path(key),
            chain: chain.map(|name| self.path(name)),
        })
    }

    fn expect_refusal(&self, certificate: &str, key: &str, chain: Option<&str>, expected: &str) {
        let refused = self.load(certificate, key, chain);
        let folder = self.folder.path().display().to_string();
        let said = refused.expect_err(expected).to_string();
        assert_eq!(said, expected.replace("{}", &folder));
    }

    fn tls(&self) -> Tls {
        let tls = self.load("server.crt", "server.key", Some("chain.crt"));
        tls.expect("usable papers")
    }

    fn connector(
        &self,
        protocols: &[&str],
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).expect("a root");
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("supported")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().into())
            .collect();
        TlsConnector::from(Arc::new(config))
    }

    async fn connect(&self, server: &Running, protocols: &[&str]) -> ClientStream<TcpStream> {
        let connector = self.connector(protocols, &[&TLS13, &TLS12]);
        let name = ServerName::try_from("localhost").expect("a name");
        let connecting = connector.connect(name, server.connect().await);
        let connected = timeout(PATIENCE, connecting).await.expect("in time");
        connected.expect("a server to trust")
    }
}

fn issuer<'a>(
    name: &str,
    above: Option<&CertifiedIssuer<'a, KeyPair>>,
) -> CertifiedIssuer<'a, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let kind = rcgen::DnType::CommonName;
    params.distinguished_name.push(kind, name);
    let key = KeyPair::generate().expect("a key");
    let issuer = match above {
        None => CertifiedIssuer::self_signed(params, key),
        Some(above) => CertifiedIssuer::signed_by(params, key, above),
    };
    issuer.expect("signed")
}

async fn serve(papers: &Papers, limits: Limits) -> Running {
    start(Server::new(limits).with_acceptor(papers.tls())).await
}

fn request(uri: &str) -> Request<Empty<Bytes>> {
    let request = Request::get(uri).header("host", "localhost");
    request.body(Empty::new()).expect("static parts")
}

// === the files ===

#[tokio::test]
async fn the_certificates_are_sent_leaf_first_and_each_once() {
    let papers = Papers::draw_up();
    let cases = [
        ("server.crt", Some("chain.crt")),
        ("full.crt", None),
        ("full.crt", Some("chain.crt")),
        ("server.crt", Some("full.crt")),
    ];
    for (certificate, chain) in cases {
        let tls = papers.load(certificate, "server.key", chain);
        let tls = tls.expect("usable papers");
        let server = start(Server::new(limits()).with_acceptor(tls)).await;
        let stream = papers.connect(&server, &[]).await;
        let shown = stream.get_ref().1.peer_certificates().expect("shown");
        let expected = [papers.leaf.clone(), papers.middle.clone()];
        assert_eq!(shown, expected, "{certificate} {chain:?}");
    }
}

#[test]
fn an_error_in_a_certificate_file_names_the_file() {
    let papers = Papers::draw_up();
    papers.write("empty", "");
    papers.write("damaged", &pem("CERTIFICATE", "!!"));
    papers.write("garbage", &pem("CERTIFICATE", "AAAA"));
    let good = "server.crt";
    let cases = [
        ("nowhere", None, "cannot read {}/nowhere"),
        (good, Some("nowhere"), "cannot read {}/nowhere"),
        (
            "empty",
            None,
            "{}/empty has no certificate in PEM: a block from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----",
        ),
        (
            "server.key",
            None,
            "{}/server.key has no certificate in PEM: a block from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----",
        ),
        (
            good,
            Some("empty"),
            "{}/empty has no certificate in PEM: a block from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----",
        ),
        (
            "damaged",
            None,
            "{}/damaged is not valid PEM: the text between BEGIN and END is not base64",
        ),
        (
            "garbage",
            None,
            "the first certificate in {}/garbage cannot be used",
        ),
    ];
    for (certificate, chain, expected) in cases {
        papers.expect_refusal(certificate, "server.key", chain, expected);
    }
}

#[test]
fn an_error_in_a_key_file_names_the_file() {
    let papers = Papers::draw_up();
    let other = KeyPair::generate().expect("a key");
    papers.write("other", &other.serialize_pem());
    papers.write("empty", "");
    papers.write("garbage", &pem("PRIVATE KEY", "AAAA"));
    papers.write("encrypted", &pem("ENCRYPTED PRIVATE KEY", "AAAA"));
    let old = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA";
    papers.write("old", &pem("RSA PRIVATE KEY", old));
    let is_encrypted = "is encrypted; store it without a passphrase";
    let is_another = "does not belong to the first certificate in {}/server.crt";
    let cases = [
        ("nowhere", "cannot read {}/nowhere"),
        (
            "empty",
            "{}/empty has no private key in PEM: a block from -----BEGIN PRIVATE KEY----- to -----END PRIVATE KEY-----",
        ),
        (
            "server.crt",
            "{}/server.crt has no private key in PEM: a block from -----BEGIN PRIVATE KEY----- to -----END PRIVATE KEY-----",
        ),
        ("garbage", "the private key in {}/garbage cannot be used"),
        (
            "encrypted",
            &format!("the private key in {{}}/encrypted {is_encrypted}"),
        ),
        (
            "old",
            &format!("the private key in {{}}/old {is_encrypted}"),
        ),
        (
            "other",
            &format!("the private key in {{}}/other {is_another}"),
        ),
    ];
    for (key, expected) in cases {
        papers.expect_refusal("server.crt", key, None, expected);
    }
}

fn pem(label: &str, inside: &str) -> String {
    format!("-----BEGIN {label}-----\n{inside}\n-----END {label}-----\n")
}

// === the handshake ===

#[tokio::test]
async fn http_1_and_http_2_are_negotiated_in_the_handshake() {
    let papers = Papers::draw_up();
    let server = serve(&papers, limits()).await;
    let mut tasks = JoinSet::new();

    let stream = papers.connect(&server, &["h2", "http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut client, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    tasks.spawn(async move { connection.await.expect("in order") });
    let response = client.send_request(request("https://localhost/")).await;
    let response = response.expect("answered");
    assert_eq!(response.version(), Version::HTTP_2);
    let body = response.into_body().collect().await.expect("whole");
    assert_eq!(body.to_bytes(), "0 bytes");

    for protocols in [&["http/1.1"][..], &[]] {
        let stream = papers.connect(&server, protocols).await;
        let alpn = stream.get_ref().1.alpn_protocol();
        assert_eq!(alpn, protocols.first().map(|name| name.as_bytes()));
        let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
        tasks.spawn(async move { connection.await.expect("in order") });
        let response = client.send_request(request("/")).await.expect("answered");
        assert_eq!(response.version(), Version::HTTP_11);
    }
}

#[tokio::test]
async fn tls_1_2_is_used_with_clients_that_support_nothing_newer() {
    let papers = Papers::draw_up();
    let server = serve(&papers, limits()).await;
    for version in [&TLS12, &TLS13] {
        let connector = papers.connector(&[], &[version]);
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = connector.connect(name, server.connect().await).await;
        let agreed = stream.expect("connected").get_ref().1.protocol_version();
        assert_eq!(agreed, Some(version.version));
    }
}

#[tokio::test]
async fn handshakes_that_stall_delay_no_other_connection() {
    let papers = Papers::draw_up();
    let server = serve(&papers, limits()).await;
    let mut slow = Vec::new();
    for beginning in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00"] {
        let mut stream = server.connect().await;
        stream.write_all(beginning).await.expect("heard");
        slow.push(stream);
    }
    papers.connect(&server, &[]).await;
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_cut_off() {
    let papers = Papers::draw_up();
    let mut limits = limits();
    limits.handshake_timeout = Duration::from_millis(200);
    let server = serve(&papers, limits).await;
    for beginning in [&b""[..], b"\x16\x03\x01\x02\x00"] {
        let mut stream = server.connect().await;
        stream.write_all(beginning).await.expect("heard");
        assert_eq!(rest(&mut stream).await, "");
    }
}

#[tokio::test]
async fn handshakes_that_stall_make_room_for_others() {
    let papers = Papers::draw_up();
    let mut limits = limits();
    limits.max_connections = 4;
    let server = serve(&papers, limits).await;
    let mut slow = Vec::new();
    for _ in 0..20 {
        let mut stream = server.connect().await;
        stream.write_all(b"\x16").await.expect("heard");
        slow.push(stream);
    }
    papers.connect(&server, &[]).await;
}

#[tokio::test]
async fn http_without_tls_gets_an_error_even_in_the_middle_of_an_upload() {
    let papers = Papers::draw_up();
    let server = serve(&papers, limits()).await;
    let upload = [
        &b"POST / HTTP/1.1\r\ncontent-length: 100000\r\n\r\n"[..],
        &vec![b'x'; 100_000],
    ];
    for sent in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), upload.concat()] {
        let mut stream = server.connect().await;
        stream.write_all(&sent).await.expect("heard");
        let response = rest(&mut stream).await;
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{head}");
        let length = format!("content-length: {}\r\n", body.len());
        assert!(head.contains(&length), "{head}");
        assert_eq!(body, r#"{"error":"This port speaks HTTPS, not HTTP"}"#);
    }
}

#[tokio::test]
async fn a_connection_with_neither_tls_nor_http_ends_quickly() {
    let papers = Papers::draw_up();
    let server = serve(&papers, limits()).await;
    let mut stream = server.connect().await;
    stream.write_all(b"\0\0\0\0\0\0\0\0").await.expect("heard");
    let mut answer = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    let _ = read.expect("in time");
}

// === behind TLS ===

#[tokio::test]
async fn the_limits_hold_behind_tls_too() {
    let papers = Papers::draw_up();
    let short = Duration::from_millis(200);
    let cases = [
        ("head", "GET / HT", ""),
        ("idle", "GET / HTTP/1.1\r\nhost: t\r\n\r\n", "0 bytes"),
        (
            "body",
            "POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n\r\nabc",
            "the request body did not arrive in time",
        ),
    ];
    for (case, sent, expected) in cases {
        let mut limits = limits();
        match case {
            "head" => limits.header_timeout = short,
            "idle" => limits.idle_timeout = short,
            _ => limits.body_timeout = short,
        }
        let server = serve(&papers, limits).await;
        let mut stream = papers.connect(&server, &[]).await;
        stream.write_all(sent.as_bytes()).await.expect("heard");
        let mut text = Vec::new();
        let read = timeout(PATIENCE, stream.read_to_end(&mut text)).await;
        // If cut off, the stream ends without a TLS message; if closed, with one.
        let read = read.expect("the server closes");
        assert_eq!(read.is_err(), case == "head", "{case}: {read:?}");
        let text = String::from_utf8(text).expect("text");
        assert!(text.ends_with(expected), "{case}: {text}");
    }
}

#[tokio::test]
async fn a_refused_upload_behind_tls_does_not_lose_its_answer() {
    let papers = Papers::draw_up();
    let server = serve(&papers, limits()).await;
    let mut stream = papers.connect(&server, &[]).await;
    let sent = [&b"NONSENSE\r\n\r\n"[..], &vec![b'x'; 200_000]].concat();
    stream.write_all(&sent).await.expect("heard");
    let mut text = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut text)).await;
    read.expect("the server closes").expect("without a reset");
    assert!(text.starts_with(b"HTTP/1.1 400 "), "{text:?}");
}

#[tokio::test]
async fn renewed_certificates_are_used_without_a_restart_and_bad_ones_are_not() {
    let papers = Papers::draw_up();
    let tls = papers.tls();
    let server = start(Server::new(limits()).with_acceptor(tls.clone())).await;
    let shown = async |papers: &Papers| {
        let stream = papers.connector(&["http/1.1"], &[&TLS13]);
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = stream.connect(name, server.connect().await).await.ok()?;
        let certificates = stream.get_ref().1.peer_certificates();
        Some(certificates.expect("shown")[0].clone())
    };
    assert_eq!(shown(&papers).await.as_ref(), Some(&papers.leaf));

    let others = Papers::draw_up();
    let take = |name: &str| {
        let text = fs::read_to_string(others.path(name)).expect("written");
        papers.write(name, &text);
    };
    take("server.crt");
    let refused = tls.renew().expect_err("the key of another");
    assert!(matches!(refused, TlsError::KeyMismatch { .. }), "{refused}");
    assert_eq!(shown(&papers).await.as_ref(), Some(&papers.leaf));
    take("server.key");
    take("chain.crt");
    let taken = async {
        while shown(&others).await.as_ref() != Some(&others.leaf) {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, taken).await.expect("in time");
}
