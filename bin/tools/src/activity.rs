//! Facts about this server in the list of running statements.

use http::Extensions;
use ziggurat_activity::{Activity, Connections};
use ziggurat_databases::Configured;
use ziggurat_postgres::database::Database;
use ziggurat_telemetry::Metrics;
use ziggurat_tokens::Identity;

use crate::{app::App, current::CurrentCatalogue};

/// Counts the connections to databases. Clones count the same.
#[derive(Clone)]
pub(crate) struct ConnectionCounts {
    catalogue: CurrentCatalogue,
    metrics: Metrics,
    activity: Option<Activity>,
}

// === impl ConnectionCounts ===

impl ConnectionCounts {
    pub(crate) fn of(app: &App) -> Self {
        Self {
            catalogue: app.catalogue.clone(),
            metrics: app.observation.metrics.clone(),
            activity: app.observation.activity.clone(),
        }
    }

    /// Returns the connections of the databases that the caller of a request may use.
    pub(crate) fn visible(&self, extensions: &Extensions) -> Vec<Connections> {
        let catalogue = self.catalogue.of(extensions);
        let visible = catalogue.databases.visible(extensions.get::<Identity>());
        let databases = visible.iter().map(Configured::database);
        databases.map(|database| self.to(database)).collect()
    }

    /// Returns the connections to a database.
    pub(crate) fn to(&self, database: &Database) -> Connections {
        let (in_use, idle) = self.metrics.connections(database.name());
        let activity = self.activity.as_ref();
        Connections {
            database: database.name().to_owned(),
            in_use,
            idle,
            waiting: activity.map_or(0, |activity| activity.waiting(database.name())),
            limit: database.settings().max_total_connections.into(),
        }
    }
}
