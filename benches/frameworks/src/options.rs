//! The command line.

use std::{str::FromStr, time::Duration};

use crate::server::{CONTENDERS, Contender};

pub(crate) const USAGE: &str = "\
Usage: compare [OPTIONS]

  --seconds N        length of a turn [3]
  --rounds N         turns of each server for each load; figures are medians [3]
  --connections LIST connections at once [1,16,64]
  --only LIST        servers
                     [ziggurat-mcp,rmcp,rmcp-default,tower-mcp,turbomcp,rust-mcp-sdk,by-hand]
  --threads N        threads of the runtime of each server [as many as there are cores]
  --million LIST     servers that answer a million requests at the end, or `all` or `none`
                     [ziggurat-mcp,rmcp]
  --no-build         measure the programs that are there";

/// The settings of a comparison.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) turn: Duration,
    pub(crate) rounds: usize,
    pub(crate) connections: Vec<u32>,
    pub(crate) contenders: Vec<Contender>,
    /// Threads of the runtime of each server; `None` for Tokio's own choice.
    pub(crate) threads: Option<u32>,
    /// The names of those that answer a million requests.
    pub(crate) million: Vec<String>,
    pub(crate) builds: bool,
}

impl Options {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            turn: Duration::from_secs(3),
            rounds: 3,
            connections: vec![1, 16, 64],
            contenders: CONTENDERS.to_vec(),
            threads: None,
            million: vec!["ziggurat-mcp".to_owned(), "rmcp".to_owned()],
            builds: true,
        };
        while let Some(flag) = arguments.next() {
            if flag == "--no-build" {
                options.builds = false;
                continue;
            }
            let value = arguments.next().unwrap_or_default();
            let wrong = || format!("{flag} {value}?\n\n{USAGE}");
            match flag.as_str() {
                "--seconds" => {
                    let seconds: f64 = value.parse().map_err(|_| wrong())?;
                    options.turn = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
                }
                "--rounds" => options.rounds = positive(&value).ok_or_else(wrong)?,
                "--connections" => {
                    let numbers = value.split(',').map(positive);
                    options.connections = numbers.collect::<Option<_>>().ok_or_else(wrong)?;
                }
                "--only" => {
                    let named = value.split(',').map(contender);
                    options.contenders = named.collect::<Option<_>>().ok_or_else(wrong)?;
                }
                "--threads" => options.threads = Some(positive(&value).ok_or_else(wrong)?),
                "--million" => options.million = value.split(',').map(str::to_owned).collect(),
                _ => return Err(wrong()),
            }
        }
        Ok(options)
    }

    /// Returns whether a server answers a million requests at the end.
    pub(crate) fn has_million(&self, contender: &Contender) -> bool {
        let is_named = |name: &String| name == contender.name || name == "all";
        self.million.iter().any(is_named)
    }
}

fn positive<T: FromStr + Default + PartialOrd>(text: &str) -> Option<T> {
    text.parse().ok().filter(|number| *number > T::default())
}

fn contender(name: &str) -> Option<Contender> {
    CONTENDERS
        .into_iter()
        .find(|contender| contender.name == name)
}
