//! A running `ziggurat-tools`, and a client of it.

use std::{env, fs};

use anyhow::Context as _;
use serde_json::Value;
use ziggurat_black_box::{Folder, Program};
use ziggurat_mcp_client::Client;

/// A server of one database; ends on drop.
#[derive(Debug)]
pub(crate) struct Server {
    client: Client,
    _program: Program,
    _folder: Folder,
}

// === impl Server ===

impl Server {
    /// Starts a server with an entry of its list of databases and perhaps a glossary.
    pub(crate) async fn start(entry: &str, glossary: Option<&str>) -> anyhow::Result<Self> {
        let folder = Folder::new();
        let mut configuration = format!("databases:\n{entry}");
        if let Some(glossary) = glossary {
            fs::write(folder.file("glossary.yaml"), glossary)?;
            configuration += "custom_definitions_path: glossary.yaml\n";
        }
        let file = folder.file("ziggurat-tools.yaml");
        fs::write(&file, configuration)?;
        let program = env::current_exe()?;
        let program = program
            .to_str()
            .context("the path of the program is not UTF-8")?;
        let words = [
            "server",
            "-http",
            "-addr",
            "127.0.0.1:0",
            "-no-auth",
            "-config",
        ];
        let mut command = folder.command(program, &words);
        command
            .arg(file)
            .env("ZIGGURAT_DATA_DIR", folder.file("data"));
        let (program, http) = Program::listening(&mut command);
        let client = Client::http(&format!("http://{}/mcp", http.address()));
        Ok(Self {
            client: client.connect().await?,
            _program: program,
            _folder: folder,
        })
    }

    /// Calls a tool, and returns its text, also if it is an error.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        Ok(self.client.call(tool, arguments).await?.text())
    }
}
