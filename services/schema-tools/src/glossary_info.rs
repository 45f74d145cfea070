//! `pg://{database}/glossary`: the operator's notes about a database.

use ziggurat_databases::Databases;
use ziggurat_mcp::{Caller, Placeholders, ReadError, ResourceTemplateDescriptor, TemplateHandler};
use ziggurat_tokens::Identity;

use crate::Glossary;

const DATABASE: &str = "database";

/// Shows the glossary of a database that the caller may use, as Markdown.
#[derive(Clone, Debug)]
pub struct GlossaryInfo {
    databases: Databases,
    glossary: Glossary,
}

// === impl GlossaryInfo ===

impl GlossaryInfo {
    /// Makes a template for the databases of the caller.
    #[must_use]
    pub fn new(databases: Databases, glossary: Glossary) -> Self {
        Self {
            databases,
            glossary,
        }
    }

    fn names(&self, caller: &Caller) -> impl Iterator<Item = String> {
        let seen = self.databases.visible(caller.extension::<Identity>());
        seen.into_iter().map(|it| it.database().name().to_owned())
    }
}

impl TemplateHandler for GlossaryInfo {
    fn describe(&self) -> ResourceTemplateDescriptor {
        ResourceTemplateDescriptor::new(
            "pg://{database}/glossary",
            "postgresql_glossary",
            "Words of the business, and notes about tables and columns of a database.",
        )
        .with_title("The glossary of a database")
        .with_mime_type("text/markdown")
    }

    async fn read(
        &self,
        placeholders: Placeholders,
        caller: Caller,
    ) -> Result<Option<String>, ReadError> {
        let database = placeholders.get(DATABASE).unwrap_or_default();
        let is_open = self.names(&caller).any(|name| name == database);
        Ok(is_open.then(|| self.glossary.markdown(database)))
    }

    async fn complete(&self, _: String, placeholders: Placeholders, caller: Caller) -> Vec<String> {
        let written = placeholders.get(DATABASE).unwrap_or_default();
        let names = self.names(&caller);
        names.filter(|name| name.starts_with(written)).collect()
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_databases::Configured;
    use ziggurat_postgres::{
        database::{Database, Settings},
        pool::Pools,
    };

    use super::*;

    const GLOSSARY: &str = "
- {term: MRR, note: \"Revenue of a month.\\nWithout taxes.\"}
- {database: main, object: public.Orders.status, note: open or void}
- {database: other, object: public.orders, note: of another database}";

    #[tokio::test]
    async fn the_glossary_of_a_database_of_the_caller_is_markdown() {
        let entries = serde_yaml::from_str(GLOSSARY).expect("YAML");
        let glossary = Glossary::read(entries).expect("valid");
        let (name, user) = ("main".to_owned(), "reader".to_owned());
        let settings = Settings {
            name,
            user,
            ..Settings::default()
        };
        let database = Database::try_from(settings).expect("valid");
        let databases = Databases::new(Pools::new().0, [Configured::new(database)]);
        let template = GlossaryInfo::new(databases, glossary);
        let read = async |name: &str| {
            let placeholders = Placeholders::from_iter([(DATABASE, name)]);
            template
                .read(placeholders, Caller::default())
                .await
                .expect("read")
        };
        assert_eq!(
            read("main").await.as_deref(),
            Some(
                "# Terms\n\n- **MRR**: Revenue of a month. Without taxes.\n\n\
                 # Tables and columns\n\n- **public.\"Orders\".status**: open or void\n\n"
            )
        );
        assert_eq!(read("other").await, None);
        let written = Placeholders::from_iter([(DATABASE, "m")]);
        let proposed = template.complete(DATABASE.to_owned(), written, Caller::default());
        assert_eq!(proposed.await, ["main"]);
    }
}
