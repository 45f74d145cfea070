//! Tables written from short descriptions.
//!
//! A line such as `hr.employee|Staff|name, hired_on date, grade(A|B), kind[worker|office],
//! plant>mfg.plant` becomes a table with a key `id`, its comment, columns (text if no type is
//! given), one with a check, one with an enum of its own, and a foreign key `plant_id`.

use std::fmt::Write as _;

/// A table to write.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    comment: String,
    columns: Vec<Column>,
}

/// A column of a table to write.
#[derive(Debug)]
struct Column {
    name: String,
    kind: Kind,
}

/// The type of a column.
#[derive(Debug)]
enum Kind {
    Plain(String),
    Check(Vec<String>),
    Enum(Vec<String>),
    ForeignKey(String),
}

// === impl Table ===

impl Table {
    /// Reads a description.
    pub(super) fn parse(line: &str) -> Self {
        let mut parts = line.split('|');
        let mut part = || parts.next().expect("three parts").trim().to_owned();
        let (name, comment) = (part(), part());
        let rest = line.splitn(3, '|').nth(2).expect("three parts");
        let columns = rest.split(',').map(|column| Column::parse(column.trim()));
        Self {
            columns: columns.collect(),
            name,
            comment,
        }
    }

    /// Adds columns.
    pub(super) fn extend(&mut self, columns: &[impl AsRef<str>]) {
        let columns = columns.iter().map(|column| Column::parse(column.as_ref()));
        self.columns.extend(columns);
    }

    /// Returns the number of columns, with the key.
    pub(super) fn width(&self) -> usize {
        self.columns.len() + 1
    }

    /// Writes the statements that make the table.
    pub(super) fn create(&self, sql: &mut String) {
        for column in &self.columns {
            if let Kind::Enum(labels) = &column.kind {
                let labels = labels.join("', '");
                writeln!(
                    sql,
                    "CREATE TYPE {} AS ENUM ('{labels}');",
                    self.enum_name(column)
                )
                .expect("a string takes all that is written");
            }
        }
        write!(sql, "CREATE TABLE {} (id int PRIMARY KEY", self.name)
            .expect("a string takes all that is written");
        for column in &self.columns {
            let name = &column.name;
            match &column.kind {
                Kind::Plain(kind) => write!(sql, ", {name} {kind}"),
                Kind::ForeignKey(_) => write!(sql, ", {name} int"),
                Kind::Enum(_) => write!(sql, ", {name} {}", self.enum_name(column)),
                Kind::Check(values) => {
                    let values = values.join("', '");
                    write!(sql, ", {name} text CHECK ({name} IN ('{values}'))")
                }
            }
            .expect("a string takes all that is written");
        }
        sql.push_str(");\n");
        if !self.comment.is_empty() {
            writeln!(sql, "COMMENT ON TABLE {} IS '{}';", self.name, self.comment)
                .expect("a string takes all that is written");
        }
    }

    /// Writes the statement that adds the rows. The foreign keys do not exist yet.
    pub(super) fn fill(&self, sql: &mut String, rows: usize) {
        write!(sql, "INSERT INTO {} SELECT n", self.name)
            .expect("a string takes all that is written");
        for (at, column) in self.columns.iter().enumerate() {
            let mut value = column.value(at, rows);
            if let Kind::Enum(_) = column.kind {
                write!(value, "::{}", self.enum_name(column))
                    .expect("a string takes all that is written");
            }
            write!(sql, ", {value}").expect("a string takes all that is written");
        }
        writeln!(sql, " FROM generate_series(1, {rows}) n;")
            .expect("a string takes all that is written");
    }

    /// Writes the statements that add the foreign keys.
    pub(super) fn refer(&self, sql: &mut String) {
        let mut separator = format!("ALTER TABLE {}", self.name);
        for column in &self.columns {
            if let Kind::ForeignKey(target) = &column.kind {
                let name = &column.name;
                write!(
                    sql,
                    "{separator} ADD FOREIGN KEY ({name}) REFERENCES {target}"
                )
                .expect("a string takes all that is written");
                ",".clone_into(&mut separator);
            }
        }
        if separator == "," {
            sql.push_str(";\n");
        }
    }

    fn enum_name(&self, column: &Column) -> String {
        format!("{}_{}", self.name, column.name)
    }
}

// === impl Column ===

impl Column {
    fn parse(text: &str) -> Self {
        let values = |list: &str| {
            let list = list.trim_end_matches([')', ']']);
            list.split('|').map(str::to_owned).collect()
        };
        let (name, kind) = if let Some((name, target)) = text.split_once('>') {
            return Self {
                name: format!("{name}_id"),
                kind: Kind::ForeignKey(target.to_owned()),
            };
        } else if let Some((name, labels)) = text.split_once('[') {
            (name, Kind::Enum(values(labels)))
        } else if let Some((name, list)) = text.split_once('(') {
            (name, Kind::Check(values(list)))
        } else {
            let (name, kind) = text.split_once(' ').unwrap_or((text, "text"));
            (name, Kind::Plain(kind.to_owned()))
        };
        Self {
            name: name.to_owned(),
            kind,
        }
    }

    /// Returns the value for row `n`. The columns differ by their position, so that conditions on
    /// two of them hold together in some rows.
    fn value(&self, at: usize, rows: usize) -> String {
        match &self.kind {
            Kind::ForeignKey(_) => format!("(n * 7 + {at}) % {rows} + 1"),
            Kind::Check(values) | Kind::Enum(values) => {
                let (count, list) = (values.len(), values.join("', '"));
                format!("(ARRAY['{list}'])[(n * 7 + n / 3 + {at}) % {count} + 1]")
            }
            Kind::Plain(kind) => match kind.as_str() {
                "int" | "bigint" => format!("n * 3 + {at}"),
                "numeric" => format!("n * 12.5 + {at}"),
                "date" => format!("date '2024-01-01' + (n * 11 + {at}) % 366"),
                "timestamptz" => {
                    format!("timestamptz '2024-01-01 07:00+00' + n * interval '9 days {at} hours'")
                }
                "boolean" => format!("(n + {at}) % 3 = 0"),
                _ => format!("'{} ' || n", self.name.replace('_', " ")),
            },
        }
    }
}
