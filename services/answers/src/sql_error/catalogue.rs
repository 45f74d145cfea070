//! Reads from the catalogue what a hint needs beyond the metadata: names the role may use.

use std::time::Duration;

use tokio::time;
use ziggurat_databases::Current;
use ziggurat_postgres::{
    error::Report,
    single_round_trip::{ReadOnlyQuery, Value},
};

/// Limit on the time for a connection and the answer.
const LIMIT: Duration = Duration::from_secs(2);

/// The functions with names of `$1` to `$2` characters, without the functions that only PostgreSQL
/// itself can call: the name as it must be written, and the types of the arguments.
const FUNCTIONS: &str = "SELECT p.proname::text, CASE WHEN pg_catalog.pg_function_is_visible(p.oid)
        THEN '' ELSE n.nspname::text END, pg_catalog.oidvectortypes(p.proargtypes)
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE pg_catalog.length(p.proname::text) BETWEEN $1 AND $2 AND p.prokind <> 'p'
        AND NOT 'pg_catalog.internal'::pg_catalog.regtype = ANY (p.proargtypes)
        AND p.prorettype NOT IN ('pg_catalog.internal'::pg_catalog.regtype,
            'pg_catalog.trigger'::pg_catalog.regtype, 'pg_catalog.event_trigger'::pg_catalog.regtype)
        AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
        AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
    ORDER BY p.proname <> $3, p.pronargs, 3 LIMIT 4000";

/// The types that columns may have, without arrays and rows of tables: the name, and that name as
/// it must be written.
const TYPES: &str = "SELECT t.typname::text, pg_catalog.format_type(t.oid, NULL)
    FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype <> 'p' AND t.typcategory <> 'A' AND (t.typrelid = 0 OR EXISTS (
            SELECT FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid AND c.relkind = 'c'))
        AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
        AND pg_catalog.has_type_privilege(t.oid, 'USAGE')
    ORDER BY 1 LIMIT 4000";

const SCHEMAS: &str = "SELECT nspname::text FROM pg_catalog.pg_namespace
    WHERE pg_catalog.has_schema_privilege(oid, 'USAGE') AND nspname !~ '^pg_(toast|temp)'
    ORDER BY 1 LIMIT 4000";

/// The labels of the enum that a message names. The message is compared instead of parsed, since it
/// may be in any language.
const LABELS: &str = "SELECT pg_catalog.format_type(t.oid, NULL), e.enumlabel::text
    FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    JOIN pg_catalog.pg_enum e ON e.enumtypid = t.oid
    WHERE pg_catalog.has_schema_privilege(n.oid, 'USAGE')
        AND pg_catalog.strpos($1, ' ' || pg_catalog.format_type(t.oid, NULL) || ':') > 0
    ORDER BY pg_catalog.strpos($1, ' ' || pg_catalog.format_type(t.oid, NULL) || ':'), t.oid,
        e.enumsortorder LIMIT 1000";

/// The definition of a constraint of a table or domain, or of a unique index.
const CONSTRAINT: &str = "SELECT pg_catalog.pg_get_constraintdef(c.oid)
    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace
    LEFT JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
    LEFT JOIN pg_catalog.pg_type t ON t.oid = c.contypid
    WHERE c.conname = $1 AND n.nspname = $2 AND (r.relname = $3 OR t.typname = $3)
        AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    UNION ALL SELECT pg_catalog.pg_get_indexdef(i.oid)
    FROM pg_catalog.pg_class i JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace
    WHERE i.relkind IN ('i', 'I') AND i.relname = $1 AND n.nspname = $2
        AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    LIMIT 1";

/// Function, with the types of its arguments.
pub(super) struct Function {
    pub(super) name: String,
    /// Empty if the name alone identifies it.
    pub(super) schema: String,
    pub(super) arguments: String,
}

/// Reads the functions with names of about the length of this one, those with the same name first.
pub(super) async fn functions(current: &Current, name: &str) -> Option<Vec<Function>> {
    let length = i64::try_from(name.chars().count()).ok()?;
    let [least, most] = [length - length / 3 - 1, length + length / 3 + 1];
    let rows = read(
        current,
        FUNCTIONS,
        vec![least.into(), most.into(), name.into()],
    );
    let function = |[name, schema, arguments]: [String; 3]| Function {
        name,
        schema,
        arguments,
    };
    Some(rows.await?.into_iter().map(function).collect())
}

/// Reads the names of types: in the catalogue, and as they must be written.
pub(super) async fn types(current: &Current) -> Option<Vec<[String; 2]>> {
    read(current, TYPES, Vec::new()).await
}

/// Reads the names of schemas.
pub(super) async fn schemas(current: &Current) -> Option<Vec<[String; 1]>> {
    read(current, SCHEMAS, Vec::new()).await
}

/// Reads the labels of the enum that a message names, each behind the name of the enum.
pub(super) async fn labels(current: &Current, report: &Report) -> Option<Vec<[String; 2]>> {
    read(current, LABELS, vec![report.message.as_str().into()]).await
}

/// Reads the definition of the constraint that a report names.
pub(super) async fn constraint(current: &Current, report: &Report) -> Option<String> {
    let name = report.constraint.as_deref()?;
    let of = report.table.as_deref().or(report.data_type.as_deref())?;
    let schema = report.schema.as_deref()?;
    let values = vec![name.into(), schema.into(), of.into()];
    let [definition] = read(current, CONSTRAINT, values).await?.pop()?;
    Some(definition)
}

/// Reads rows of texts, or `None` if that fails or takes too long: the error is then reported
/// without a hint.
async fn read<const N: usize>(
    current: &Current,
    query: &str,
    values: Vec<Value>,
) -> Option<Vec<[String; N]>> {
    let query = ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: query.to_owned(),
        values,
    };
    let rows = async {
        let lease = current.pool().lease().await?;
        let read = query.read(lease, |row| {
            let mut texts = [const { String::new() }; N];
            for (index, text) in texts.iter_mut().enumerate() {
                row.text(index)?.clone_into(text);
            }
            Ok(texts)
        });
        read.await
    };
    time::timeout(LIMIT, rows).await.ok()?.ok()
}
