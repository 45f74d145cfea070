//! The files of the servers: configurations, tokens, users.

use std::{
    fmt::Write as _,
    fs::{self, DirBuilder, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tempfile::TempDir;
use ziggurat_accounts::{NewUser, UserChanges, UserFile};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_tokens::{NewToken, TokenFile};

use crate::shop::Address;

/// The user who can log in.
pub(crate) const USER: &str = "demo";

/// A folder closed to other users, with the files of the servers.
pub(crate) struct Home {
    folder: PathBuf,
    /// Removes the folder on drop, unless it is kept.
    _temporary: Option<TempDir>,
    /// An API token.
    pub(crate) token: SecretString,
    /// The password of [`USER`].
    pub(crate) password: SecretString,
}

// === impl Home ===

impl Home {
    /// Makes a temporary folder, or finds the one inside the folder to keep.
    ///
    /// Blocks, because the password is hashed.
    pub(crate) fn open(keep: Option<&Path>) -> anyhow::Result<Self> {
        let (folder, temporary) = if let Some(keep) = keep {
            (kept(keep)?, None)
        } else {
            let folder = tempfile::Builder::new()
                .prefix("ziggurat-demo-")
                .permissions(Permissions::from_mode(0o700))
                .tempdir()
                .context("making a folder for the server")?;
            (folder.path().to_owned(), Some(folder))
        };
        let token = token(&folder).context("making a token")?;
        let password = password(&folder).context("making a user")?;
        Ok(Self {
            folder,
            _temporary: temporary,
            token,
            password,
        })
    }

    /// The path of the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the configuration of `ziggurat-tools` for this database, and returns its path. With
    /// a port for its metrics, the server also writes an audit trail.
    pub(crate) fn configure_tools(
        &self,
        database: &Address,
        metrics: Option<u16>,
    ) -> anyhow::Result<PathBuf> {
        let mut text = self.tools(database);
        if let Some(port) = metrics {
            let file = Value::from(self.audit_file().to_string_lossy());
            write!(
                text,
                "audit:\n  file: {file}\n\
                 telemetry:\n  metrics:\n    address: 127.0.0.1:{port}\n"
            )
            .expect("a string takes all that is written");
        }
        self.configure("ziggurat-tools.yaml", &text)
    }

    /// Returns the path of the audit trail of `ziggurat-tools`.
    pub(crate) fn audit_file(&self) -> PathBuf {
        self.folder.join("audit.jsonl")
    }

    /// Writes the configuration of `ziggurat-rag`, which listens on this port and loads documents
    /// with the second role.
    pub(crate) fn configure_answers(
        &self,
        database: &Address,
        writing: &Address,
        port: u16,
    ) -> anyhow::Result<PathBuf> {
        self.configure("ziggurat-rag.yaml", &answers(database, writing, port))
    }

    fn configure(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(name);
        write(&path, text).context("writing a configuration")?;
        Ok(path)
    }

    fn tools(&self, database: &Address) -> String {
        let file = |path: PathBuf| Value::from(path.to_string_lossy());
        format!(
            "# Written by the demo, anew at every start.\n\
             http:\n  auth:\n    token_file: {tokens}\n    user_file: {users}\n\
             data_dir: {data}\n\
             # The tools and errors of new revisions, also for clients that start the server.\n\
             mcp:\n  stdio_negotiate: true\n\
             # Vectors without a model, a key or a network: of words, not of meaning.\n\
             embedding:\n  enabled: true\n  provider: local\n\
             databases:\n  - {{name: shop, {shop}}}\n",
            tokens = file(token_file(&self.folder)),
            users = file(user_file(&self.folder)),
            data = file(self.folder.join("data")),
            shop = reached(database, "user", "sslmode"),
        )
    }
}

fn answers(database: &Address, writing: &Address, port: u16) -> String {
    format!(
        "# Written by the demo, anew at every start.\n\
         server:\n  listen_address: 127.0.0.1\n  port: {port}\n  openai_compatible: true\n\
         pipelines:\n  - name: handbook\n    \
         description: What the shop tells its customers\n    \
         database: {{{shop}}}\n    \
         tables:\n      - table: passages\n        text_column: content\n        \
         vector_column: embedding\n        id_column: id\n        title_column: title\n    \
         # `ziggurat-rag ingest` makes the table, and fills it from a folder.\n    \
         ingest:\n      database: {{{writing}}}\n    \
         # Vectors of words and answers in quotes: without a model, a key or a network.\n    \
         embedding_llm: {{provider: local}}\n    rag_llm: {{provider: local}}\n    \
         allow_include_sources: true\n    top_n: 5\n    query_rewrite: {{enabled: true}}\n",
        shop = reached(database, "username", "ssl_mode"),
        writing = reached(writing, "username", "ssl_mode"),
    )
}

/// The settings of the database connection; the servers name two of them differently.
fn reached(database: &Address, user_is: &str, ssl_mode_is: &str) -> String {
    let Address {
        host,
        port,
        database,
        user,
        password,
        ssl_mode,
    } = database;
    // JSON strings are also YAML strings.
    let text = |text: &str| Value::from(text);
    let (host, database, user) = (text(host), text(database), text(user));
    let password = text(password.expose_secret());
    format!(
        "host: {host}, port: {port}, database: {database}, {user_is}: {user}, \
         password: {password}, {ssl_mode_is}: {ssl_mode}"
    )
}

/// Makes the folder of the server inside the one to keep, which other users may also need.
fn kept(keep: &Path) -> anyhow::Result<PathBuf> {
    let folder = keep.join("server");
    let failed = || format!("making the folder {}", folder.display());
    // PostgreSQL may run under another account, which needs to enter the outer folder.
    fs::create_dir_all(keep).with_context(failed)?;
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.with_context(failed)?,
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).with_context(failed)?;
    Ok(folder)
}

fn token_file(folder: &Path) -> PathBuf {
    folder.join("tokens.yaml")
}

fn user_file(folder: &Path) -> PathBuf {
    folder.join("users.yaml")
}

/// Returns the stored token if the server still accepts it, else a new one.
fn token(folder: &Path) -> anyhow::Result<SecretString> {
    let (file, plain) = (TokenFile::new(token_file(folder)), folder.join("token"));
    if let Some(token) = read(&plain)? {
        let hash = TokenHash::of(token.expose_secret());
        if file.list()?.iter().any(|record| record.hash == hash) {
            return Ok(token);
        }
    }
    let new = NewToken {
        note: "the demo".to_owned(),
        ..NewToken::default()
    };
    let token = file.add(new, Timestamp::now())?.token;
    write(&plain, token.expose_secret())?;
    Ok(token)
}

/// Returns the stored password, or sets a new one, and makes the user if needed.
fn password(folder: &Path) -> anyhow::Result<SecretString> {
    let (file, plain) = (UserFile::new(user_file(folder)), folder.join("password"));
    let users = file.list()?;
    let user = users.iter().find(|user| user.name == USER);
    if let (Some(password), Some(user)) = (read(&plain)?, user) {
        if !user.is_admin {
            let changes = UserChanges {
                is_admin: Some(true),
                ..UserChanges::default()
            };
            file.update(USER, &changes)?;
        }
        return Ok(password);
    }
    let password = file.make_password()?;
    if user.is_some() {
        let changes = UserChanges {
            password: Some(&password),
            is_admin: Some(true),
            ..UserChanges::default()
        };
        file.update(USER, &changes)?;
    } else {
        let user = NewUser {
            note: "made by the demo",
            is_admin: true,
            ..NewUser::new(USER, &password)
        };
        file.add(user, Timestamp::now())?;
    }
    write(&plain, password.expose_secret())?;
    Ok(password)
}

fn read(path: &Path) -> io::Result<Option<SecretString>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file that only its owner can read.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?
        .write_all(text.as_bytes())
}
