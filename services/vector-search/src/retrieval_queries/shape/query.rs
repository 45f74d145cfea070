//! Query for the definition of a table.

use serde_json::Value;

/// The type of a column, or the base type of its domain.
const BASE: &str = "WITH RECURSIVE base AS (
        SELECT y.oid, y.typtype, y.typbasetype, y.typcategory
        FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid
        UNION ALL
        SELECT y.oid, y.typtype, y.typbasetype, y.typcategory
        FROM base JOIN pg_catalog.pg_type y ON y.oid = base.typbasetype
        WHERE base.typtype = 'd')
    SELECT oid, typcategory FROM base WHERE typtype <> 'd'";

/// The columns, in their order.
const COLUMNS: &str = "SELECT json_agg(json_build_object('name', a.attname,
        'number', a.attnum, 'data_type', pg_catalog.format_type(b.oid, -1), 'category', b.typcategory,
        'dimensions', a.atttypmod,
        'is_readable', pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'),
        'made', CASE WHEN a.attgenerated <> '' THEN
            pg_catalog.pg_get_expr(d.adbin, d.adrelid) END) ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a CROSS JOIN LATERAL ($base) AS b
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped";

/// The keys of an index, in their order.
const KEYS: &str = "SELECT json_agg(json_build_object('column', a.attname,
        'definition', pg_catalog.pg_get_indexdef(x.indexrelid, k, false),
        'class', o.opcname, 'schema', pg_catalog.quote_ident(n.nspname),
        'extension', (SELECT e.extname FROM pg_catalog.pg_depend p
            JOIN pg_catalog.pg_extension e ON e.oid = p.refobjid
            WHERE p.classid = 'pg_catalog.pg_opclass'::pg_catalog.regclass AND p.objid = o.oid
                AND p.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass
                AND p.deptype = 'e')) ORDER BY k)
    FROM generate_series(1, x.indnkeyatts) AS k
    JOIN pg_catalog.pg_opclass o ON o.oid = x.indclass[k - 1]
    JOIN pg_catalog.pg_namespace n ON n.oid = o.opcnamespace
    LEFT JOIN pg_catalog.pg_attribute a
        ON a.attrelid = x.indrelid AND a.attnum = x.indkey[k - 1] AND a.attnum > 0";

/// The columns that an index depends on.
const READS: &str = "SELECT json_agg(a.attname)
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = x.indrelid AND a.attnum > 0 AND (a.attnum = ANY (x.indkey) OR EXISTS (
        SELECT FROM pg_catalog.pg_depend p
        WHERE p.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
            AND p.objid = x.indexrelid AND p.refobjid = x.indrelid
            AND p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
            AND p.refobjsubid = a.attnum))";

/// The valid indexes over all rows, the oldest first.
const INDEXES: &str = "SELECT json_agg(json_build_object('name', pg_catalog.format('%I.%I',
            n.nspname, i.relname), 'method', m.amname, 'keys', ($keys),
        'reads', coalesce(($reads), '[]'),
        'options', coalesce(to_json(i.reloptions), '[]')) ORDER BY x.indexrelid)
    FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace
    JOIN pg_catalog.pg_am m ON m.oid = i.relam
    WHERE x.indrelid = c.oid AND x.indisvalid AND x.indpred IS NULL";

/// The arguments of its triggers.
const TRIGGERS: &str = "SELECT json_agg(pg_catalog.encode(t.tgargs, 'escape'))
    FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
        AND t.tgnargs > 0";

/// Returns a query for one JSON document about a table, which has no rows if the table is missing.
pub(super) fn relation(table: &str) -> String {
    let columns = COLUMNS.replace("$base", BASE);
    let indexes = INDEXES.replace("$keys", KEYS).replace("$reads", READS);
    format!(
        "SELECT json_build_object('oid', c.oid::pg_catalog.int8, 'kind', c.relkind,
             'hides_rows', c.relkind NOT IN ('r', 'p', 'm')
                 OR pg_catalog.row_security_active(c.oid),
             'columns', coalesce(({columns}), '[]'),
             'indexes', coalesce(({indexes}), '[]'),
             'triggers', coalesce(({TRIGGERS}), '[]'))::text
         FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass({})::pg_catalog.oid",
        literal(table)
    )
}

/// Returns a text as a constant. Every connection of this server reads a backslash as itself.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\'', "''"))
}

/// Returns the number of rows that a plan expects: in all, then for each of its child nodes.
pub(in crate::retrieval_queries) fn rows_of(plan: &str) -> Vec<f64> {
    let Ok(document) = serde_json::from_str::<Value>(plan) else {
        return Vec::new();
    };
    let top = &document[0]["Plan"];
    let parts = top["Plans"].as_array().into_iter().flatten();
    std::iter::once(top)
        .chain(parts)
        .filter_map(|node| node["Plan Rows"].as_f64())
        .collect()
}
