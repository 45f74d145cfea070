//! Shared code of the benches of `ziggurat-rag`: the running program.

use std::{
    env, fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::tools::{Postgres, Program, program};

/// Time limit of a start.
const START: Duration = Duration::from_secs(10);

/// `ziggurat-rag`, running.
#[derive(Debug)]
pub struct Answers {
    /// The process.
    pub program: Program,
    /// The address it listens on.
    pub address: String,
    _folder: TempDir,
}

// === impl Answers ===

impl Answers {
    /// Builds the program as for a release, and starts it with one pipeline, `bench`, over the
    /// table `page` of this database; `more` is the rest of the pipeline's configuration.
    ///
    /// `ZIGGURAT_BENCH_RAG` names another build to compare with.
    ///
    /// # Panics
    /// Panics when it does not build or start.
    #[must_use]
    pub fn serve(postgres: &Postgres, more: &str) -> Self {
        Self::serve_over(&postgres.connection(), more)
    }

    /// Starts the program like [`serve`](Self::serve), with the database that a configuration
    /// describes.
    ///
    /// # Panics
    /// Panics when it does not build or start.
    #[must_use]
    pub fn serve_over(database: &str, more: &str) -> Self {
        let program = env::var_os("ZIGGURAT_BENCH_RAG")
            .map_or_else(|| program::build("ziggurat-rag"), PathBuf::from);
        let folder = tempfile::tempdir().expect("a folder");
        let configuration = folder.path().join("ziggurat-rag.yaml");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("bound");
        drop(listener);
        let text = format!(
            "server: {{listen_address: 127.0.0.1, port: {}}}\npipelines:\n- name: bench\n  \
             database: {}\n  tables: [{{table: page, text_column: body, \
             vector_column: body_embedding, id_column: id}}]\n  \
             embedding_llm: {{provider: local}}\n{more}",
            address.port(),
            database,
        );
        fs::write(&configuration, text).expect("written");
        let child = Command::new(program)
            .arg("-config")
            .arg(&configuration)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("built");
        let program = Program::silent(child);
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < START, "it does not start");
            thread::sleep(Duration::from_millis(5));
        }
        Self {
            program,
            address: address.to_string(),
            _folder: folder,
        }
    }
}
