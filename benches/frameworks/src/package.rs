//! Facts of a server's program: its version, its dependencies, its size.

use std::{
    collections::HashSet,
    env, fs, io,
    process::{Command, Stdio},
};

use crate::server::Contender;

/// The facts.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// The version of the framework.
    pub(crate) version: String,
    /// Crates that are built for the server, without itself.
    pub(crate) crates: usize,
    /// Mebibytes of the program, without symbols.
    pub(crate) size: f64,
}

/// Builds the servers, each on its own: in one build, the features that one framework asks of a
/// crate would be in the programs of all.
pub(crate) fn build(contenders: &[Contender]) -> io::Result<()> {
    for contender in contenders {
        let status = cargo("build")
            .args(["--release", "-p", contender.package])
            .status()?;
        if !status.success() {
            let complaint = format!("{} does not build", contender.package);
            return Err(io::Error::other(complaint));
        }
    }
    Ok(())
}

// === impl Package ===

impl Package {
    pub(crate) fn of(contender: &Contender) -> io::Result<Self> {
        let output = cargo("tree")
            .args([
                "--edges",
                "normal",
                "--prefix",
                "none",
                "-p",
                contender.package,
            ])
            .stderr(Stdio::null())
            .output()?;
        let tree = String::from_utf8_lossy(&output.stdout);
        // A crate with features that were listed before ends with a mark.
        let names = tree.lines().map(|line| {
            let mut words = line.split_whitespace();
            (
                words.next().unwrap_or_default(),
                words.next().unwrap_or_default(),
            )
        });
        let names: HashSet<_> = names.filter(|(name, _)| !name.is_empty()).collect();
        let version = names.iter().find(|(name, _)| *name == contender.framework);
        let version = version.map_or("?", |(_, version)| version.trim_start_matches('v'));
        let bytes = fs::metadata(contender.program()?)?.len();
        Ok(Self {
            version: version.to_owned(),
            crates: names.len().saturating_sub(1),
            size: bytes as f64 / f64::from(1 << 20),
        })
    }
}

fn cargo(command: &str) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(program);
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    cargo.args([command, "--locked", "--manifest-path", manifest]);
    cargo
}
