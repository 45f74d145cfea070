//! Entries of Supabase, which name a project and no database.

use crate::client::{paste::Launch, servers::Replacement};

// === impl Replacement ===

impl Replacement<'_> {
    /// Reports an entry of Supabase. There is no entry to paste, since no database is known.
    pub(super) fn supabase(&mut self) -> Option<Launch> {
        let query = self.command.address.as_deref();
        let query = query
            .and_then(|url| url.split_once('?'))
            .map(|(_, query)| query);
        let parameter = |name: &str| {
            let mut pairs = query.unwrap_or_default().split('&');
            pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        let project = self
            .command
            .option("project-ref")
            .or(parameter("project_ref"));
        // An identifier of a project has letters and digits, so nothing else is repeated.
        let is_identifier = |it: &&str| it.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let project = project.filter(is_identifier).unwrap_or("<ref>").to_owned();
        let features = self.command.option("features").or(parameter("features"));
        let features: Vec<_> = features.unwrap_or_default().split([',', '%']).collect();
        self.missing(format!("take the connection string of project {project}"));
        for feature in features {
            // A comma is `%2C` in an address.
            match feature.strip_prefix("2C").unwrap_or(feature) {
                "" => {}
                "database" => {
                    self.changed(
                        "features=database: query_database, get_schema_info, search_schema",
                    );
                }
                "docs" => self
                    .changed("features=docs: search_knowledgebase, in documentation of your own"),
                "account" | "branching" | "debugging" | "development" | "functions" | "storage" => {
                    self.missing(format!("features={feature}"));
                }
                _ => self.missing("a feature that is not known here"),
            }
        }
        None
    }
}
