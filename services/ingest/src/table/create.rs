//! The statements that create a table.

use ziggurat_postgres::{
    driver::{Client, query},
    quoted,
};
use ziggurat_vector_search::retrieval_queries::Lexicon;

use crate::{
    error::{During as _, IngestError},
    settings::{Settings, VectorType},
};

/// Maximum dimensions of an index over `vector`, and over `halfvec`.
const MAX_VECTOR: usize = 2000;
const MAX_HALF_VECTOR: usize = 4000;

/// Rights of the role and state of the database.
const RIGHTS: &str = "SELECT
        coalesce(pg_catalog.has_schema_privilege(CASE WHEN pg_catalog.array_length(p.parts, 1) > 1
            THEN (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = p.parts[1])
            ELSE (SELECT n.oid FROM pg_catalog.pg_namespace n
                WHERE n.nspname = pg_catalog.current_schema()) END, 'CREATE'), false),
        pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'),
        (SELECT pg_catalog.format('%I.', n.nspname) FROM pg_catalog.pg_extension e
            JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'),
        EXISTS (SELECT FROM pg_catalog.pg_roles
            WHERE rolname = $2 AND rolname <> CURRENT_USER)
    FROM (SELECT pg_catalog.parse_ident($1) AS parts) AS p";

/// Rights of the role, and the state of the database.
#[derive(Clone, Debug)]
pub(crate) struct MayCreate {
    /// The role may create the table and what it needs.
    pub(crate) is_allowed: bool,
    /// Schema of the extension with a point, if it is there.
    extension: Option<String>,
    has_reader: bool,
}

/// Asks for the rights of the role.
pub(crate) async fn may_create(
    settings: &Settings,
    client: &mut Client,
) -> Result<MayCreate, IngestError> {
    let task = || format!("reading the rights on table {}", settings.table.table);
    let row = query(RIGHTS)
        .bind(&settings.table.table)
        .bind(settings.reader.as_deref().unwrap_or_default())
        .fetch_optional(client)
        .await
        .during(task())?;
    let flag = |index: usize| {
        let value = row.as_ref().map(|row| row.get::<bool>(index));
        value.transpose().map(Option::unwrap_or_default)
    };
    let (in_schema, in_database) = (flag(0).during(task())?, flag(1).during(task())?);
    let extension = row.as_ref().map_or(Ok(None), |row| row.get(2));
    let extension: Option<String> = extension.during(task())?;
    Ok(MayCreate {
        is_allowed: in_schema && (extension.is_some() || in_database),
        extension,
        has_reader: flag(3).during(task())?,
    })
}

/// Returns the statements that create a table for vectors of this length.
pub(crate) fn statements(
    settings: &Settings,
    dimensions: usize,
    rights: &MayCreate,
) -> Vec<String> {
    let (table, columns) = (&settings.table.table, &settings.table.columns);
    let kind = settings.vector_type.unwrap_or({
        if dimensions > MAX_VECTOR {
            VectorType::HalfVector
        } else {
            VectorType::Vector
        }
    });
    // The type of the installed extension is named with its schema: another role may have made a
    // type of the same name.
    let schema = rights.extension.as_deref().unwrap_or_default();
    let vector = format!("{schema}{}({dimensions})", kind.name());
    let definitions = columns.definitions(&vector).into_iter().map(|definition| {
        let name = quoted(definition.column);
        format!(
            "    {name} {}{}",
            definition.type_name, definition.constraint
        )
    });
    let definitions: Vec<_> = definitions.collect();
    let mut statements = Vec::new();
    if rights.extension.is_none() {
        statements.push("CREATE EXTENSION IF NOT EXISTS vector".to_owned());
    }
    statements.push(format!(
        "CREATE TABLE {table} (\n{}\n)",
        definitions.join(",\n")
    ));
    let mut index = |on: String| statements.push(format!("CREATE INDEX ON {table} {on}"));
    index(format!("({})", quoted(&columns.document_id)));
    let is_indexable = match kind {
        VectorType::Vector => dimensions <= MAX_VECTOR,
        VectorType::HalfVector => dimensions <= MAX_HALF_VECTOR,
    };
    if is_indexable {
        index(format!(
            "USING hnsw ({} {schema}{}_cosine_ops)",
            quoted(&columns.embedding),
            kind.name()
        ));
    }
    let words: Vec<_> = columns.title.iter().chain([&columns.content]).collect();
    index(format!(
        "USING gin (pg_catalog.to_tsvector('{}', {}))",
        settings.text_search_config.replace('\'', "''"),
        Lexicon::texts(&words)
    ));
    index(format!("USING gin ({})", quoted(&columns.metadata)));
    if let Some(reader) = settings.reader.as_ref().filter(|_| rights.has_reader) {
        statements.push(format!("GRANT SELECT ON {table} TO {}", quoted(reader)));
    }
    statements
}
