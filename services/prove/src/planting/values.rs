//! Values for the columns of planted rows.

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    canary::{MIN_LENGTH, Seed},
    party::{Side, last_word},
    planting::world::World,
    schema::Column,
};

/// Text of a value; `None` is NULL.
pub(crate) type Text = Option<String>;

/// The literals of a condition.
static LITERAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"'((?:[^']|'')*)'|(-?\b\d+(?:\.\d+)?)").expect("a valid pattern"));

/// The place of a planted row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat<'a> {
    pub(crate) table: &'a str,
    pub(crate) side: Side,
    pub(crate) world: World,
    pub(crate) row: usize,
}

// === impl Seat ===

impl Seat<'_> {
    /// Returns the word of a column in this row. Rows of A have the same one in both worlds.
    pub(crate) fn word(&self, column: &Column) -> String {
        let word = self.seed(column).word();
        let length = column.length.unwrap_or(word.len()).min(word.len());
        word[..length].to_owned()
    }

    /// Returns a number that no other row of the table has.
    fn number(&self) -> usize {
        self.row
            + match (self.side, self.world) {
                (Side::A, _) => 101,
                (Side::B, World::First) => 2001,
                (Side::B, World::Second) => 3001,
            }
    }

    fn seed(&self, column: &Column) -> Seed {
        let world = match self.side {
            Side::A => 0,
            Side::B => self.world.index() + 1,
        };
        let Self { table, row, .. } = self;
        Seed::of(&format!("{world} {table} {row} {}", column.name))
    }

    /// Returns the value that a column gets if nothing is known about it.
    pub(crate) fn value(&self, column: &Column) -> Text {
        let value = match column
            .labels
            .get(self.number() % column.labels.len().max(1))
        {
            Some(label) => label.clone(),
            None => self.scalar(column)?,
        };
        Some(if column.is_array {
            format!("{{{value}}}")
        } else {
            value
        })
    }

    fn scalar(&self, column: &Column) -> Text {
        let (word, number) = (self.word(column), self.number());
        let (high, low) = (number / 250, number % 250);
        Some(match &*column.base {
            "text" | "varchar" | "bpchar" | "name" | "citext" | "tsvector" | "ltree" | "bytea" => {
                word
            }
            "int2" | "int4" | "int8" | "numeric" | "float4" | "float8" | "money" | "oid" => {
                number.to_string()
            }
            "bool" => "f".to_owned(),
            "uuid" => self.uuid(column),
            "json" | "jsonb" => format!("{{\"c\": \"{word}\"}}"),
            "xml" => format!("<c>{word}</c>"),
            "date" | "timestamp" | "timestamptz" => {
                format!(
                    "20{:02}-{:02}-{:02}",
                    20 + high % 9,
                    1 + low % 12,
                    1 + number % 27
                )
            }
            "time" | "timetz" => format!("{:02}:{:02}", high % 24, low % 60),
            "interval" => format!("{number} seconds"),
            "inet" | "cidr" => format!("10.0.{high}.{low}"),
            "macaddr" => format!("08:00:2b:01:{high:02x}:{low:02x}"),
            "point" => format!("({number},1)"),
            "bit" | "varbit" => "1".repeat(column.length.unwrap_or(1)),
            "int4range" | "int8range" | "numrange" => format!("[{number},{}]", number + 1),
            "vector" | "halfvec" => {
                let rest = ",1".repeat(column.length.unwrap_or(3).saturating_sub(1));
                format!("[{number}{rest}]")
            }
            "hstore" => format!("c=>{word}"),
            _ => return None,
        })
    }

    fn uuid(&self, column: &Column) -> String {
        let mut seed = self.seed(column);
        let digits = format!("{:016x}{:016x}", seed.next(), seed.next());
        format!(
            "{}-{}-4{}-8{}-{}",
            &digits[..8],
            &digits[8..12],
            &digits[13..16],
            &digits[17..20],
            &digits[20..]
        )
    }

    /// Returns values that the conditions of a column may ask for, this row's own first.
    pub(crate) fn alternatives(&self, column: &Column) -> Vec<Text> {
        let mut found = vec![self.value(column)];
        let mut add = |text: String| {
            if !found.contains(&Some(text.clone())) {
                found.push(Some(text));
            }
        };
        if column.base == "bool" {
            add("t".to_owned());
        }
        let count = column.labels.len();
        (0..count).for_each(|place| add(column.labels[(place + self.number()) % count].clone()));
        if column.checks.is_empty() {
            return found;
        }
        let literals = literals(column);
        let count = literals.len();
        (0..count).for_each(|place| add(literals[(place + self.number()) % count].clone()));
        let word = self.word(column);
        for more in ["1", "2", "0", "12345"] {
            add(more.to_owned());
        }
        for more in [
            format!("{word}@example.com"),
            format!("https://{word}.example"),
            word.to_uppercase(),
            word[..word.len().min(MIN_LENGTH)].to_owned(),
        ] {
            add(more);
        }
        if !column.is_required {
            found.push(None);
        }
        found
    }
}

/// Returns the literals of the conditions of a column, and numbers beside them.
fn literals(column: &Column) -> Vec<String> {
    let mut found = Vec::new();
    for check in &column.checks {
        for literal in LITERAL.captures_iter(check) {
            if let Some(text) = literal.get(1) {
                found.push(text.as_str().replace("''", "'"));
            }
            if let Some(number) = literal.get(2) {
                let number = number.as_str();
                found.push(number.to_owned());
                if let Ok(number) = number.parse::<i64>() {
                    found.extend([(number + 1).to_string(), (number - 1).to_string()]);
                }
            }
        }
    }
    found
}

/// Writes the value of a fact about a caller for a column, if the type takes it.
pub(crate) fn of_fact(name: &str, value: &str, column: &Column) -> Text {
    let fits = match &*column.base {
        "text" | "varchar" | "bpchar" | "name" | "citext" => column
            .length
            .is_none_or(|length| value.chars().count() <= length),
        "int2" | "int4" | "int8" | "numeric" => value.parse::<i64>().is_ok(),
        "uuid" => value.len() == 36 && value.matches('-').count() == 4,
        "json" | "jsonb" => true,
        _ => false,
    };
    let is_json = matches!(&*column.base, "json" | "jsonb");
    fits.then(|| match (is_json, column.is_array) {
        (true, _) => {
            let members = [last_word(name), "tenant", "owner"];
            let members = members.map(|it| format!("{it:?}: {value:?}"));
            format!("{{{}}}", members.join(", "))
        }
        (_, true) => format!("{{{value:?}}}"),
        _ => value.to_owned(),
    })
}

/// Quotes a text as a literal.
pub(crate) fn literal(text: &Text) -> String {
    match text {
        Some(text) => format!("'{}'", text.replace('\'', "''")),
        None => "NULL".to_owned(),
    }
}
