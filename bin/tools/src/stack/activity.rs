//! Facts about this server in the list of running statements.

use http::Extensions;
use ziggurat_calls::activity::{Activity, Connections};
use ziggurat_databases::Configured;
use ziggurat_tokens::Identity;

use crate::{app::App, catalogue::current::CurrentCatalogue};

/// Counts the connections to databases. Clones count the same.
#[derive(Clone)]
pub(crate) struct ConnectionCounts {
    catalogue: CurrentCatalogue,
    activity: Activity,
}

// === impl ConnectionCounts ===

impl ConnectionCounts {
    pub(crate) fn new(app: &App, activity: Activity) -> Self {
        Self {
            catalogue: app.catalogue.clone(),
            activity,
        }
    }

    /// Returns the connections of the databases that the caller of a request may use.
    pub(crate) fn visible(&self, extensions: &Extensions) -> Vec<Connections> {
        let catalogue = self.catalogue.of(extensions);
        let visible = catalogue.databases.visible(extensions.get::<Identity>());
        let counts = |configured: &Configured| {
            let database = configured.database();
            let usage = catalogue.databases.connections(database);
            Connections {
                database: database.name().to_owned(),
                in_use: usage.in_use as u64,
                idle: usage.idle as u64,
                waiting: self.activity.waiting(database.name()),
                limit: usage.limit as u64,
            }
        };
        visible.iter().map(counts).collect()
    }
}
