//! A database that is made for a proof, and emptied after it.

use ziggurat_postgres::{driver::Row, pool::Pool};

use crate::{failure::ProveError, schema::owner::Owner};

/// The mark that a database sets on itself.
const MARK: &str = "SELECT EXISTS (SELECT FROM pg_db_role_setting s JOIN pg_database d
    ON d.oid = s.setdatabase WHERE d.datname = current_database() AND s.setrole = 0
    AND 'ziggurat.throw_away=yes' = ANY (s.setconfig)), quote_ident(current_database())";

/// Tables that may have rows: files of no bytes have none.
const FILLED: &str = "SELECT format('%I.%I', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND pg_relation_size(c.oid) > 0
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
      AND d.objid = c.oid AND d.deptype = 'e') ORDER BY 1";

/// Parts of tables that are on another server: rows would be written and removed there.
const FOREIGN: &str = "SELECT format('%I.%I', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'f' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid) ORDER BY 1";

/// The statements that empty everything.
const EMPTYING: &str = "SELECT 'TRUNCATE ' || string_agg(format('%I.%I', n.nspname, c.relname), ', ')
      || ' RESTART IDENTITY CASCADE' AS statement
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
      AND d.objid = c.oid AND d.deptype = 'e')
    HAVING count(*) > 0
    UNION ALL SELECT format('SELECT setval(%s, %s, false)', quote_literal(s.seqrelid::regclass::text)
      || '::regclass', s.seqstart) FROM pg_sequence s
    UNION ALL SELECT * FROM (SELECT format('REFRESH MATERIALIZED VIEW %I.%I', n.nspname, c.relname)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'm' ORDER BY c.oid) AS views";

/// A marked database without rows.
#[derive(Clone, Debug)]
pub struct ThrowAwayDatabase {
    pool: Pool,
}

// === impl ThrowAwayDatabase ===

impl ThrowAwayDatabase {
    /// Looks whether the owner may write to the database.
    ///
    /// # Errors
    /// Refuses a database without the mark, one with rows, and one with parts on another server.
    pub async fn open(pool: &Pool) -> Result<Self, ProveError> {
        let mut owner = Owner::open(pool).await?;
        let marks = owner.ask("read the mark", MARK).await?;
        let mark = marks.first().map(|row| (row.text(0), row.text(1)));
        let (is_marked, name) = match mark {
            Some((Ok(marked), Ok(name))) => (marked == "t", name.to_owned()),
            _ => (false, String::new()),
        };
        if !is_marked {
            return Err(ProveError::Refused(format!(
                "the database has no mark: ALTER DATABASE {name} SET ziggurat.throw_away = 'yes'"
            )));
        }
        if let Some(table) = texts(&owner.ask("list tables", FOREIGN).await?).first() {
            let why = format!("the rows of {table} are on another server");
            return Err(ProveError::Refused(why));
        }
        for table in texts(&owner.ask("list tables", FILLED).await?) {
            owner.ask("read all rows", "SET row_security = off").await?;
            let any = format!("SELECT EXISTS (SELECT FROM {table})");
            let rows = owner.ask("look for rows", &any).await?;
            if texts(&rows).iter().any(|it| it == "t") {
                return Err(ProveError::Refused(format!("{table} has rows")));
            }
        }
        Ok(Self { pool: pool.clone() })
    }

    /// Removes all rows, over a connection of its own, and begins all sequences anew.
    ///
    /// # Errors
    /// Fails if the owner may not do that.
    pub async fn empty(&self) -> Result<(), ProveError> {
        let mut owner = Owner::open(&self.pool).await?;
        for statement in texts(&owner.ask("list tables", EMPTYING).await?) {
            owner.ask("empty the database", &statement).await?;
        }
        Ok(())
    }

    /// Opens a session of the owner.
    pub(crate) async fn owner(&self) -> Result<Owner, ProveError> {
        Owner::open(&self.pool).await
    }
}

/// Returns the first value of each row.
fn texts(rows: &[Row]) -> Vec<String> {
    let text = |row: &Row| row.text(0).ok().map(str::to_owned);
    rows.iter().filter_map(text).collect()
}
