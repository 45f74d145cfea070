//! Rights of roles on masked columns.

use std::{
    collections::{BTreeMap, BTreeSet},
    slice,
};

use thiserror::Error;

use crate::{
    database::masking::{
        MaskRule,
        load::{Coverage, ask, number},
    },
    driver::{Client, DriverError, Row, Value},
    name::written,
};

/// A role that must not read masked columns.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) role: String,
    /// Texts of callers run with it, so they may become the roles that it is a member of.
    pub(super) runs_texts: bool,
    /// True for each rule that holds for its callers.
    pub(super) holds: Vec<bool>,
}

/// Roles that may read masked columns, with the statements that change that.
#[derive(Debug, Error)]
#[error("{}", .0.join("; "))]
pub(super) struct Readable(pub(super) Vec<String>);

// === impl Reader ===

impl Reader {
    /// Makes one that runs texts of callers.
    pub(super) fn of_callers(role: &str, holds: &[bool]) -> Self {
        Self {
            role: role.to_owned(),
            runs_texts: true,
            holds: holds.to_vec(),
        }
    }
}

/// The roles with their numbers, and the roles that they are members of.
const MEMBERS: &str = "WITH RECURSIVE given (place, role, runs_texts) AS (
        SELECT w.place, r.oid, w.runs_texts = 'true'
        FROM unnest($1, $2) WITH ORDINALITY AS w (name, runs_texts, place)
        JOIN pg_roles r ON r.rolname = w.name),
    members (place, role, direct) AS (
        SELECT place, role, true FROM given
        UNION
        SELECT m.place, a.roleid, false FROM members m JOIN pg_auth_members a ON a.member = m.role)";

/// The masked columns that each role may read.
const READABLE: &str = "SELECT DISTINCT m.place, c.relation, c.number
    FROM members m JOIN given g USING (place)
    CROSS JOIN unnest($3, $4) AS c (relation, number)
    WHERE (g.runs_texts OR m.direct)
        AND has_column_privilege(m.role, c.relation::oid, c.number::int2, 'SELECT')";

/// The roles that the right to read a relation was granted to, for each role that has it.
const GRANTS: &str = "SELECT m.place,
        CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END
    FROM members m JOIN pg_class c ON c.oid = $3::oid
    CROSS JOIN LATERAL (
        SELECT l.grantee, l.privilege_type
        FROM aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS l
        UNION ALL
        SELECT l.grantee, l.privilege_type FROM pg_attribute a CROSS JOIN aclexplode(a.attacl) AS l
        WHERE a.attrelid = c.oid AND a.attnum = ANY ($4::int2[])) AS g
    WHERE g.privilege_type = 'SELECT' AND g.grantee IN (0, m.role)
    UNION
    SELECT m.place, '' FROM members m JOIN pg_roles r ON r.oid = m.role
    WHERE r.rolsuper OR r.rolname = 'pg_read_all_data'
    ORDER BY 1, 2";

/// The columns of a relation, with their numbers.
const COLUMNS: &str = "SELECT a.attnum, a.attname FROM pg_attribute a
    WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

/// The columns of a relation that a role may read.
const READABLE_COLUMNS: &str = "SELECT a.attname FROM pg_attribute a
    JOIN pg_roles r ON r.rolname = $2
    WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
        AND has_column_privilege(r.oid, a.attrelid, a.attnum, 'SELECT')
    ORDER BY a.attnum";

/// Returns a sentence for each role and relation with masked columns that the role may read.
pub(super) async fn findings(
    client: &mut Client,
    coverage: &Coverage,
    rules: &[MaskRule],
    readers: &[Reader],
) -> Result<Vec<String>, DriverError> {
    let mut found = BTreeMap::<(u32, usize), BTreeSet<u16>>::new();
    let [relations, numbers] = masked(coverage, rules);
    let [names, texts] = named(readers);
    let sql = format!("{MEMBERS} {READABLE}");
    for row in ask(client, &sql, [names, texts, relations, numbers]).await? {
        let place = place(&row)?;
        let column: (u32, u16) = (number(&row, 1)?, number(&row, 2)?);
        let reader = readers.get(place).ok_or(ODD)?;
        let hits = coverage.columns.get(&column).map(|it| &*it.hits);
        let mut whole = hits.unwrap_or_default().iter().map(|hit| hit.rule);
        if whole.any(|rule| is_whole(rules, rule) && reader.holds.get(rule) == Some(&true)) {
            found.entry((column.0, place)).or_default().insert(column.1);
        }
    }
    let mut sentences = Vec::new();
    for ((relation, place), columns) in found {
        let reader = &readers[place];
        let sentence = sentence(client, coverage, rules, (relation, &columns), reader).await?;
        sentences.push(sentence);
    }
    Ok(sentences)
}

/// Returns the names of all roles.
pub(super) async fn roles(client: &mut Client) -> Result<Vec<String>, DriverError> {
    let rows = ask(client, "SELECT rolname FROM pg_roles", []).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Returns the columns of a relation that a role may read.
pub(super) async fn readable(
    client: &mut Client,
    relation: u32,
    role: &str,
) -> Result<Vec<String>, DriverError> {
    let values = [
        Value::Text(relation.to_string()),
        Value::Text(role.to_owned()),
    ];
    let rows = ask(client, READABLE_COLUMNS, values).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Describes the right of a role to read masked columns of a relation, and how to take it away.
async fn sentence(
    client: &mut Client,
    coverage: &Coverage,
    rules: &[MaskRule],
    (relation, columns): (u32, &BTreeSet<u16>),
    reader: &Reader,
) -> Result<String, DriverError> {
    let (mut named_columns, mut open) = (Vec::new(), Vec::new());
    let oid = Value::Text(relation.to_string());
    for row in ask(client, COLUMNS, [oid.clone()]).await? {
        let (number, name) = (number::<u16>(&row, 0)?, written(row.text(1)?));
        let hits = coverage.columns.get(&(relation, number));
        let mut hits = hits.map(|it| &*it.hits).unwrap_or_default().iter();
        if !hits.any(|hit| is_whole(rules, hit.rule)) {
            open.push(name);
        } else if columns.contains(&number) {
            named_columns.push(name);
        }
    }
    let known = coverage.relations.get(&relation).ok_or(ODD)?;
    let table = format!("{}.{}", written(&known.schema), written(&known.name));
    let [names, texts] = named(slice::from_ref(reader));
    let numbers: Vec<_> = columns.iter().map(ToString::to_string).collect();
    let values = [names, texts, oid, Value::Texts(numbers)];
    let mut grantees = Vec::new();
    for row in ask(client, &format!("{MEMBERS} {GRANTS}"), values).await? {
        grantees.push(row.get::<String>(1)?);
    }
    let role = written(&reader.role);
    let named_columns = named_columns.join(", ");
    let start = format!("role {role} may read masked columns of {table}: {named_columns}");
    if grantees.iter().any(String::is_empty) {
        let why = "it is, or can become, a superuser or a member of pg_read_all_data";
        return Ok(format!("{start}; {why}"));
    }
    let run = grantees.iter().map(|from| statements(&table, &open, from));
    let run: Vec<_> = run.collect();
    Ok(format!("{start}; run: {}", run.join(" ")))
}

/// Returns the statements that leave a role with the columns that are not masked.
fn statements(table: &str, open: &[String], role: &str) -> String {
    let revoke = format!("REVOKE SELECT ON {table} FROM {role};");
    if open.is_empty() {
        return revoke;
    }
    let open = open.join(", ");
    format!("{revoke} GRANT SELECT ({open}) ON {table} TO {role};")
}

fn is_whole(rules: &[MaskRule], rule: usize) -> bool {
    rules.get(rule).is_some_and(|it| !it.mask.is_partial())
}

/// Returns the columns that a rule hides as a whole: their relations and numbers.
fn masked(coverage: &Coverage, rules: &[MaskRule]) -> [Value; 2] {
    let columns = coverage.columns.iter();
    let hidden = columns.filter(|(_, it)| it.hits.iter().any(|hit| is_whole(rules, hit.rule)));
    let (relations, numbers) = hidden
        .map(|((relation, number), _)| (relation.to_string(), number.to_string()))
        .unzip();
    [Value::Texts(relations), Value::Texts(numbers)]
}

fn named(readers: &[Reader]) -> [Value; 2] {
    let (names, texts) = readers
        .iter()
        .map(|it| (it.role.clone(), it.runs_texts.to_string()))
        .unzip();
    [Value::Texts(names), Value::Texts(texts)]
}

/// Reads the place of a role in the list.
fn place(row: &Row) -> Result<usize, DriverError> {
    number::<usize>(row, 0)?.checked_sub(1).ok_or(ODD)
}

const ODD: DriverError = DriverError::Protocol("an unexpected row of the catalogue");
