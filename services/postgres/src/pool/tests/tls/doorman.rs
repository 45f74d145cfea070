//! TLS proxy for a PostgreSQL that was built without TLS. It refuses the same users with the same
//! errors as one with TLS.

use std::{io, path::PathBuf};

use rustls::{
    RootCertStore, ServerConfig, crypto::aws_lc_rs::default_provider, server::WebPkiClientVerifier,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::*;

/// The `SSLRequest` message, which a client sends first to ask for TLS.
const TLS_PLEASE: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

pub(super) struct Doorman {
    pub(super) port: u16,
    /// True if the last connection used TLS.
    last: Arc<Mutex<bool>>,
    _work: JoinSet<()>,
}

#[derive(Clone)]
struct Door {
    acceptor: TlsAcceptor,
    server: PathBuf,
    last: Arc<Mutex<bool>>,
}

/// Kind of a connection.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Plain,
    Tls,
    Certified,
}

impl Doorman {
    pub(super) async fn start(private: &Private, root: &str, own: &(String, String)) -> Self {
        let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM");
        let mut roots = RootCertStore::empty();
        roots.add(certificate(root)).expect("an authority");
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
            .allow_unauthenticated()
            .build()
            .expect("a verifier");
        let key = PrivateKeyDer::from_pem_slice(own.1.as_bytes()).expect("PEM");
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate(&own.0)], key)
            .expect("a pair");
        let host = private.host();
        let door = Door {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            server: PathBuf::from(host.name).join(format!(".s.PGSQL.{}", host.port)),
            last: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let last = Arc::clone(&door.last);
        let mut work = JoinSet::new();
        work.spawn(async move {
            let mut visits = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let door = door.clone();
                visits.spawn(async move { door.open(stream).await });
            }
        });
        Self {
            port,
            last,
            _work: work,
        }
    }

    pub(super) fn saw_tls(&self) -> bool {
        *self.last.lock().expect("nobody panics")
    }
}

impl Door {
    async fn open(self, mut stream: TcpStream) -> io::Result<()> {
        let first = message(&mut stream).await?;
        if first != TLS_PLEASE {
            return self.pass(stream, &first, Way::Plain).await;
        }
        stream.write_all(b"S").await?;
        let mut stream = self.acceptor.accept(stream).await?;
        let way = match stream.get_ref().1.peer_certificates() {
            Some(_) => Way::Certified,
            None => Way::Tls,
        };
        let first = message(&mut stream).await?;
        self.pass(stream, &first, way).await
    }

    async fn pass<S>(self, mut stream: S, first: &[u8], way: Way) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if let Some(why) = refusal(first, way) {
            let fields = format!("SFATAL\0VFATAL\0C28000\0M{why}\0\0");
            let length = u32::try_from(fields.len() + 4).expect("short");
            let mut answer = vec![b'E'];
            answer.extend(length.to_be_bytes());
            answer.extend(fields.bytes());
            stream.write_all(&answer).await?;
            return stream.shutdown().await;
        }
        *self.last.lock().expect("nobody panics") = way != Way::Plain;
        let mut server = UnixStream::connect(self.server).await?;
        server.write_all(first).await?;
        tokio::io::copy_bidirectional(&mut stream, &mut server).await?;
        Ok(())
    }
}

async fn message<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<Vec<u8>> {
    let length = stream.read_u32().await?;
    let mut message = length.to_be_bytes().to_vec();
    let rest = u64::from(length).saturating_sub(4);
    stream.take(rest).read_to_end(&mut message).await?;
    Ok(message)
}

/// Returns the error for a user that [`WHO`] does not allow.
fn refusal(first: &[u8], way: Way) -> Option<String> {
    let mut words = first[8..].split(|byte| *byte == 0);
    words.find(|word| *word == b"user")?;
    let user = String::from_utf8_lossy(words.next()?).into_owned();
    let encryption = match (&*user, way) {
        ("certified", Way::Tls) => {
            return Some("connection requires a valid client certificate".to_owned());
        }
        ("tls_only" | "certified", Way::Plain) => "no encryption",
        ("plain_only", Way::Tls | Way::Certified) => "SSL encryption",
        _ => return None,
    };
    Some(format!(
        "no pg_hba.conf entry for host \"127.0.0.1\", user \"{user}\", \
         database \"postgres\", {encryption}"
    ))
}
