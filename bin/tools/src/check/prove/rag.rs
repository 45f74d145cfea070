//! The program `ziggurat-rag`, which this process starts and asks over its standard input.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Mutex,
    time,
};
use ziggurat_postgres::database::Settings;
use ziggurat_prove::Pipeline;
use ziggurat_tokens::{Holder, Identity};

use crate::interface::VERSION;

const PROGRAM: &str = "ziggurat-rag";

/// The command of the program.
const COMMAND: &str = "prove-questions";

/// Time limit of an answer: a question takes 50 s at most.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The pipelines of a configuration, and the databases that they are asked about.
pub(super) struct Pipelines {
    pub(super) config: PathBuf,
    /// The database in the configuration of both programs.
    pub(super) database: Settings,
    /// Its copy, if rows are planted there.
    pub(super) copy: Option<Settings>,
}

/// The running program.
pub(super) struct Rag {
    pub(super) pipelines: Vec<Pipeline>,
    child: Child,
    talk: Mutex<Talk>,
}

/// Lines to the program, and its lines.
struct Talk {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The reason why there are no more answers.
    failed: Option<anyhow::Error>,
}

/// The first line of the program.
#[derive(Deserialize)]
struct Greeting {
    version: String,
    pipelines: Vec<Pipeline>,
}

// === impl Rag ===

impl Rag {
    /// Starts the program, and tells it which databases to use. It ends when this value is dropped.
    pub(super) async fn start(pipelines: &Pipelines) -> anyhow::Result<Self> {
        let config = &pipelines.config;
        let started = Self::started(pipelines).await;
        started.with_context(|| format!("-rag {}", config.display()))
    }

    async fn started(pipelines: &Pipelines) -> anyhow::Result<Self> {
        let program = program(
            env::current_exe().ok().as_deref(),
            env::var_os("PATH").as_deref(),
        );
        let program = program.context("ziggurat-rag is neither beside this program nor on PATH")?;
        let mut child = Command::new(&program)
            .args([OsStr::new(COMMAND), OsStr::new("-config")])
            .arg(&pipelines.config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| program.display().to_string())?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = input.zip(output).context("the program has no streams")?;
        let mut talk = Talk {
            input,
            output: BufReader::new(output).lines(),
            failed: None,
        };
        let databases = json!({
            "database": address(&pipelines.database),
            "copy": pipelines.copy.as_ref().map(address),
        });
        let greeting = talk.ask(&databases).await;
        // Its own lines on standard error say why.
        let greeting = greeting.with_context(|| format!("{} did not start", program.display()))?;
        let Greeting { version, pipelines } = serde_json::from_value(greeting)?;
        if version != VERSION {
            bail!("{} has version {version}, not {VERSION}", program.display());
        }
        Ok(Self {
            pipelines,
            child,
            talk: Mutex::new(talk),
        })
    }

    /// Returns the answer to a question.
    pub(super) async fn ask(
        &self,
        identity: Option<&Identity>,
        pipeline: &str,
        text: &str,
    ) -> String {
        let question = json!({
            "caller": identity.map(caller), "pipeline": pipeline, "query": text,
        });
        let mut talk = self.talk.lock().await;
        if talk.failed.is_some() {
            return String::new();
        }
        match talk.ask(&question).await {
            Ok(answer) => answer.as_str().unwrap_or_default().to_owned(),
            Err(error) => {
                talk.failed = Some(error);
                String::new()
            }
        }
    }

    /// Ends the program.
    ///
    /// # Errors
    /// Fails if it did not answer all questions.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        let Self {
            mut child, talk, ..
        } = self;
        let Talk { input, failed, .. } = talk.into_inner();
        drop(input);
        if time::timeout(TIMEOUT, child.wait()).await.is_err() {
            child.kill().await.ok();
        }
        failed.map_or(Ok(()), |error| Err(error.context(PROGRAM)))
    }
}

// === impl Talk ===

impl Talk {
    async fn ask(&mut self, line: &Value) -> anyhow::Result<Value> {
        let asked = async {
            // A program that has ended has no more lines either.
            let line = format!("{line}\n");
            self.input.write_all(line.as_bytes()).await.ok();
            self.output.next_line().await
        };
        let line = time::timeout(TIMEOUT, asked).await.context("no answer")??;
        let line = line.ok_or_else(|| anyhow!("it has ended"))?;
        serde_json::from_str(&line).context("the answer is not JSON")
    }
}

/// Finds the program beside this one, or in a folder of PATH.
fn program(own: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let beside = own.and_then(Path::parent).map(Path::to_path_buf);
    let folders = path.into_iter().flat_map(env::split_paths);
    let mut places = beside.into_iter().chain(folders);
    places.find_map(|folder| Some(folder.join(PROGRAM)).filter(|it| it.is_file()))
}

fn address(settings: &Settings) -> Value {
    let hosts = settings.all_hosts();
    let hosts: Vec<_> = hosts.iter().map(|it| (&it.name, it.port)).collect();
    json!({"hosts": hosts, "name": settings.database})
}

fn caller(identity: &Identity) -> Value {
    let scopes = match identity.holder() {
        Holder::Client { scopes, .. } => scopes.to_vec(),
        _ => Vec::new(),
    };
    json!({
        "kind": identity.kind(), "name": identity.name(), "scopes": scopes,
        "claims": identity.claims().to_json(),
    })
}
