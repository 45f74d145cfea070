//! What a running server is made of, and how it is taken down again.

mod opening;
mod set;

use std::{collections::BTreeSet, convert::Infallible, path::PathBuf, time::Duration};

use tokio::{task::JoinSet, time};
use tracing::warn;
use ziggurat_postgres::pool::{Pools, Reaper};
use ziggurat_rag_service::Pipelines;

use self::opening::Opening;

pub(crate) use self::set::{PipelineBuilder, Reusable, Set};

/// Time for connections to PostgreSQL to close in good order.
const FAREWELL: Duration = Duration::from_secs(2);

/// The pipelines that are served, and the tasks that look after them.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) pipelines: Pipelines,
    set: Set,
    pools: Pools,
    reaper: JoinSet<()>,
    openers: JoinSet<()>,
    watcher: JoinSet<Infallible>,
}

// === impl App ===

impl App {
    /// Serves a set, begins to connect to its databases, and checks the pipelines from now on. A
    /// provider that is pinged has so long to answer.
    pub(crate) fn new(mut set: Set, pools: Pools, reaper: Reaper, ping: Duration) -> Self {
        let pipelines = Pipelines::new(set.take_pipelines());
        let mut house = Self {
            watcher: JoinSet::from_iter([pipelines.clone().watch(ping)]),
            pipelines,
            set,
            pools,
            reaper: JoinSet::from_iter([reaper.run()]),
            openers: JoinSet::new(),
        };
        house.open();
        house
    }

    /// What is served now.
    pub(crate) fn set(&self) -> &Set {
        &self.set
    }

    /// The files whose change may make another set.
    pub(crate) fn key_files(&self) -> BTreeSet<PathBuf> {
        self.set.key_files()
    }

    /// Serves another set, all at once. What both have in common stays as it is; what only the
    /// old one has goes when the last request that uses it ends.
    pub(crate) fn replace(&mut self, mut set: Set) {
        self.pipelines.replace(set.take_pipelines());
        self.set.retire_all_but(&set, &self.pools);
        self.set = set;
        self.open();
    }

    /// Connects to the databases, however long that takes, and looks whether they are as they
    /// should be.
    fn open(&mut self) {
        let openings = self.set.take_openings().into_iter();
        // Those of the set before end here, wherever they are.
        self.openers = openings.map(Opening::run).collect();
    }

    /// Lets go of everything, connections last.
    pub(crate) async fn take_down(self) {
        let Self {
            pipelines,
            set,
            pools,
            mut reaper,
            mut openers,
            mut watcher,
        } = self;
        openers.shutdown().await;
        watcher.shutdown().await;
        pools.close_all();
        pipelines.replace(Vec::new());
        drop((pipelines, set, pools));
        let farewell = async { while reaper.join_next().await.is_some() {} };
        if time::timeout(FAREWELL, farewell).await.is_err() {
            warn!("connections to PostgreSQL were cut off");
        }
    }
}
