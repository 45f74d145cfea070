use std::{
    collections::VecDeque,
    net::Ipv4Addr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rcgen::{CertificateParams, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, pem::PemObject as _},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
    time::{interval, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::*;

const NAME: &str = "app.test";

/// Limit of the wait of a test, which none reaches.
const LONG: Duration = Duration::from_mins(1);

type Stream = TlsStream<tokio::net::TcpStream>;

/// Answers each look-up with the next list; then there are no addresses.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<VecDeque<Vec<IpAddr>>>>);

/// Answers of a server.
#[derive(Clone, Copy)]
enum Body {
    /// This text, after the head.
    Text(&'static str),
    /// Bytes without an end.
    Endless,
    /// A head, and nothing behind it.
    Nothing,
    /// Bytes without an end, ten in a second.
    Slow,
}

/// A server with a certificate, which runs until it is dropped.
struct Host {
    port: u16,
    folder: TempDir,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

// === impl Names ===

impl Names {
    fn of(lists: &[&[&str]]) -> Self {
        let parse = |list: &&[&str]| -> Vec<IpAddr> {
            let parsed = list.iter().map(|text| text.parse().expect("an address"));
            parsed.collect()
        };
        Self(Arc::new(Mutex::new(lists.iter().map(parse).collect())))
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Lookup for Names {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(lists.pop_front().unwrap_or_default())
    }
}

// === impl Host ===

impl Host {
    async fn start(head: &'static str, body: Body) -> Self {
        let folder = TempDir::new().expect("a folder");
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([NAME.to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate");
        fs::write(folder.path().join("ca.pem"), certificate.pem()).expect("written");
        let private = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes());
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private.expect("a key"));
        let acceptor = TlsAcceptor::from(Arc::new(config.expect("a configuration")));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (requests, connections) = <(Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>)>::default();
        let (seen, count) = (Arc::clone(&requests), Arc::clone(&connections));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                if let Ok(stream) = acceptor.accept(stream).await {
                    serve(stream, head, body, &seen).await;
                }
            }
        });
        Self {
            port,
            folder,
            requests,
            connections,
            _tasks: tasks,
        }
    }

    fn fetcher(&self, names: &Names, private_hosts: &[&str], patience: Duration) -> GuardedFetch {
        let private_hosts = private_hosts.iter().map(|&host| host.to_owned());
        let guard = Guard::new(names.clone(), private_hosts.collect());
        let ca = self.folder.path().join("ca.pem");
        GuardedFetch::with_guard(Some(&ca), guard, patience).expect("a fetcher")
    }

    async fn fetch(&self, fetcher: &GuardedFetch) -> Result<Response<Bytes>, String> {
        let url = format!("https://{NAME}:{}/client.json", self.port);
        let answer = timeout(LONG, fetcher.fetch(&url)).await.expect("in time");
        answer.map_err(|error| {
            let mut text = error.to_string();
            let mut source = error.source();
            while let Some(error) = source {
                text = format!("{text}: {error}");
                source = error.source();
            }
            text
        })
    }

    fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.clone()
    }
}

/// Answers the requests of a connection.
async fn serve(mut stream: Stream, head: &str, body: Body, seen: &Mutex<Vec<String>>) {
    while let Some(request) = read(&mut stream).await {
        seen.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
        let mut sent = stream.write_all(head.as_bytes()).await;
        match body {
            Body::Text(text) => drop(stream.write_all(text.as_bytes()).await),
            Body::Endless => {
                while sent.is_ok() {
                    sent = stream.write_all(&[b' '; 4096]).await;
                }
            }
            Body::Nothing => {}
            Body::Slow => {
                let mut pace = interval(Duration::from_millis(100));
                while sent.is_ok() {
                    pace.tick().await;
                    sent = stream.write_all(b" ").await;
                }
            }
        }
    }
}

/// Reads a request, until the client goes away.
async fn read(stream: &mut Stream) -> Option<String> {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(read @ 1..) => request.extend_from_slice(&buffer[..read]),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&request).to_lowercase())
}

const GOOD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
    cache-control: max-age=600\r\nset-cookie: a=b\r\ncontent-length: 2\r\n\r\n";

/// A head before a body of any length.
const OPEN: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";

#[tokio::test]
async fn a_document_of_a_private_host_is_fetched_without_anything_of_before() {
    let host = Host::start(GOOD, Body::Text("{}")).await;
    let names = Names::of(&[&["127.0.0.1"], &["127.0.0.1"]]);
    let fetcher = host.fetcher(&names, &[NAME], LONG);
    for _ in 0..2 {
        let answer = host.fetch(&fetcher).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["cache-control"], "max-age=600");
        assert_eq!(answer.into_body(), "{}");
    }
    for request in host.requests() {
        assert!(
            request.starts_with("get /client.json http/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.contains("accept: application/json\r\n"),
            "{request}"
        );
        for name in ["cookie", "referer", "authorization"] {
            assert!(!request.contains(name), "{request}");
        }
    }
    // Each fetch looks at the addresses anew.
    assert_eq!((host.requests().len(), names.left()), (2, 0));
    assert_eq!(host.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_name_that_resolves_differently_the_second_time_leads_nowhere() {
    let host = Host::start(GOOD, Body::Text("{}")).await;
    // The look at the address and the connection are one look-up, so there is no second one.
    let names = Names::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let fetcher = host.fetcher(&names, &[NAME], LONG);
    host.fetch(&fetcher).await.expect("an answer");
    assert_eq!(names.left(), 1);
    // A name that was public before is refused once it is not.
    let names = Names::of(&[&["8.8.8.8"], &["127.0.0.1"]]);
    let guard = Guard::new(names, Vec::new());
    let found = guard.0.addresses(NAME).await.expect("public");
    assert_eq!(found, [Ipv4Addr::new(8, 8, 8, 8)]);
    let refused = guard.0.addresses(NAME).await.expect_err("not public");
    let address = IpAddr::from(Ipv4Addr::LOCALHOST);
    assert_eq!(refused.downcast_ref(), Some(&Refused::NotPublic(address)));
}

#[tokio::test]
async fn no_connection_goes_to_a_host_with_an_address_that_is_not_public() {
    let host = Host::start(GOOD, Body::Text("{}")).await;
    for list in [
        &["127.0.0.1"][..],
        &["::ffff:127.0.0.1"],
        &["8.8.8.8", "127.0.0.1"],
        &["127.0.0.1", "8.8.8.8"],
        &[],
    ] {
        let fetcher = host.fetcher(&Names::of(&[list]), &["other.test"], LONG);
        let error = host.fetch(&fetcher).await.expect_err("refused");
        let expected = if list.is_empty() {
            "no address"
        } else {
            "not public"
        };
        assert!(error.contains(expected), "{list:?}: {error}");
    }
    let fetcher = host.fetcher(&Names::default(), &["127.0.0.1"], LONG);
    for url in [
        "https://127.0.0.1/c",
        "https://[::1]/c",
        "https://2130706433/c",
    ] {
        let error = fetcher.fetch(url).await.expect_err("refused");
        assert_eq!(error.downcast_ref(), Some(&Refused::NoName), "{url}");
    }
    assert_eq!(host.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let head = "HTTP/1.1 302 Found\r\nlocation: https://app.test/elsewhere\r\n\
        content-length: 0\r\n\r\n";
    let host = Host::start(head, Body::Text("")).await;
    let names = Names::of(&[&["127.0.0.1"], &["127.0.0.1"]]);
    let answer = host.fetch(&host.fetcher(&names, &[NAME], LONG)).await;
    assert_eq!(answer.expect("an answer").status(), 302);
    assert_eq!((host.requests().len(), names.left()), (1, 1));
}

#[tokio::test]
async fn a_body_without_an_end_is_read_for_64_kib_only() {
    let host = Host::start(OPEN, Body::Endless).await;
    let names = Names::of(&[&["127.0.0.1"]]);
    let error = host.fetch(&host.fetcher(&names, &[NAME], LONG)).await;
    assert_eq!(error.expect_err("refused"), "it has more than 64 KiB");
}

#[tokio::test]
async fn a_body_that_does_not_come_or_comes_slowly_is_given_up() {
    for body in [Body::Nothing, Body::Slow] {
        let host = Host::start(OPEN, body).await;
        let names = Names::of(&[&["127.0.0.1"]]);
        let fetcher = host.fetcher(&names, &[NAME], Duration::from_secs(1));
        let error = host.fetch(&fetcher).await.expect_err("too slow");
        assert!(error.contains("timed out"), "{error}");
    }
}

#[tokio::test]
async fn plain_http_and_other_certificates_are_refused() {
    let host = Host::start(GOOD, Body::Text("{}")).await;
    let names = Names::of(&[&["127.0.0.1"], &["127.0.0.1"]]);
    let guard = Guard::new(names.clone(), vec![NAME.to_owned()]);
    let fetcher = GuardedFetch::with_guard(None, guard, LONG).expect("a fetcher");
    assert!(host.fetch(&fetcher).await.is_err());
    assert!(host.requests().is_empty());
    let url = format!("http://{NAME}:{}/client.json", host.port);
    assert!(fetcher.fetch(&url).await.is_err());
    assert_eq!(names.left(), 1);
    let missing = GuardedFetch::new(Some(&host.folder.path().join("no.pem")), Vec::new());
    assert!(matches!(missing, Err(GuardedFetchError::Unreadable { .. })));
}
