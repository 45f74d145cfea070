//! Answers of `search_schema`.

use super::{
    Known,
    names::{column, list, name, table},
};
use crate::question::{ColumnName, TableName};

/// The words before the colon of lines below the columns of a table.
const SECTIONS: [&str; 10] = [
    "unique",
    "indexes",
    "checks",
    "policies",
    "triggers",
    "view",
    "partitions",
    "partition of",
    "referenced by",
    "not readable",
];

/// Reads an answer.
pub(super) fn read(known: &mut Known, answer: &str) {
    let mut current = None;
    for line in answer.lines() {
        if let Some(inside) = line.strip_prefix("  ") {
            if let Some(table) = &current {
                read_inside(known, table, inside);
            }
            continue;
        }
        current = None;
        if let Some((column, rest)) = column(line)
            && rest.starts_with(' ')
        {
            known
                .entry(&column.table)
                .columns
                .insert(column.name.clone(), line.to_owned());
        } else if let Some((table, rest)) = table(line) {
            if rest.starts_with(" (enum) ") {
                known.enums.insert(table.to_string(), line.to_owned());
            } else {
                read_head(known, &table, line, rest);
                current = Some(table);
            }
        }
    }
}

/// Reads the first line of a table: `(table, ~10 rows, 3 columns) pk id; fk a -> s.t.b; -- …`.
fn read_head(known: &mut Known, table: &TableName, line: &str, rest: &str) {
    let shown = known.entry(table);
    if line.len() > shown.head.len() {
        line.clone_into(&mut shown.head);
    }
    let Some((_, facts)) = rest.split_once(") ") else {
        return;
    };
    let facts = facts.split(" -- ").next().unwrap_or_default();
    for fact in facts.split("; ") {
        if let Some(key) = fact.strip_prefix("pk ") {
            for name in list(key).0 {
                shown_in_key(known, table, name);
            }
        } else if let Some(key) = fact.strip_prefix("fk ") {
            read_key(known, table, key);
        }
    }
}

/// Notes a column that is known by a key, if no line said more of it.
fn shown_in_key(known: &mut Known, table: &TableName, name: String) {
    known.entry(table).columns.entry(name).or_default();
}

/// Reads `a -> s.t.b` or `(a, b) -> s.t (c, d)`.
fn read_key(known: &mut Known, from: &TableName, key: &str) {
    let Some((own, target)) = key.split_once(" -> ") else {
        return;
    };
    let (own, _) = list(own.trim_start_matches('('));
    let pairs = match column(target) {
        Some((column, _)) => vec![column],
        None => composite(target),
    };
    for (name, target) in own.into_iter().zip(pairs) {
        shown_in_key(known, from, name.clone());
        let from = ColumnName {
            table: from.clone(),
            name,
        };
        known.add_key(from, target);
    }
}

/// Reads `s.t (c, d)`.
fn composite(target: &str) -> Vec<ColumnName> {
    let Some((table, names)) = table(target) else {
        return Vec::new();
    };
    let (names, _) = list(names.trim_start_matches(" ("));
    let columns = names.into_iter().map(|name| ColumnName {
        table: table.clone(),
        name,
    });
    columns.collect()
}

/// Reads a line below the first one of a table: a column, or a section.
fn read_inside(known: &mut Known, table: &TableName, line: &str) {
    let is_section = |name: &&&str| {
        line.strip_prefix(**name)
            .is_some_and(|rest| rest.starts_with(':'))
    };
    if let Some(section) = SECTIONS.iter().find(is_section) {
        known.entry(table).sections.push(line.to_owned());
        let neighbours = match *section {
            "referenced by" => tables_behind(line, &[": ", ", "]),
            "view" => tables_behind(line, &["FROM ", "JOIN "]),
            _ => Vec::new(),
        };
        known.entry(table).neighbours.extend(neighbours);
        return;
    }
    let Some((name, rest)) = name(line).filter(|(_, rest)| rest.starts_with(' ')) else {
        return;
    };
    known
        .entry(table)
        .columns
        .insert(name.clone(), line.to_owned());
    let own = rest.split(" -- ").next().unwrap_or_default();
    for target in own.split(" -> ").skip(1) {
        if let Some((target, _)) = column(target) {
            let from = ColumnName {
                table: table.clone(),
                name: name.clone(),
            };
            known.add_key(from, target);
        }
    }
}

/// Returns the tables that a line names behind one of these words.
fn tables_behind(line: &str, words: &[&str]) -> Vec<TableName> {
    let places = words.iter().flat_map(|word| line.match_indices(word));
    let behind = places.filter_map(|(at, word)| {
        let text = line[at + word.len()..].trim_start_matches('(');
        table(text).map(|(table, _)| table)
    });
    behind.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Fact;

    const ANSWER: &str = r#"public.orders (table, ~300 rows, 3 columns) pk id; fk customer_id -> public.customer.id; -- Orders
  id integer not null pk
  customer_id integer not null -> public.customer.id
  status public.state not null [enum open|paid] -- State
  checks: CHECK (a = 'x')
  referenced by: public.item.order_id
s."Two Words" (table, ~1 rows, 2 columns) pk a, "B b"; fk (a, "B b") -> public.pair (x, y)
public.state (enum) open|paid
"#;

    #[test]
    fn facts_are_found_in_their_places_only() {
        let mut known = Known::default();
        known.read(ANSWER);
        let table = |schema: &str, name: &str| TableName {
            schema: schema.to_owned(),
            name: name.to_owned(),
        };
        let column = |table: &TableName, name: &str| ColumnName {
            table: table.clone(),
            name: name.to_owned(),
        };
        let (orders, two) = (table("public", "orders"), table("s", "Two Words"));
        let (customer, pair) = (table("public", "customer"), table("public", "pair"));
        let held = [
            Fact::Table(orders.clone()),
            Fact::Column(column(&orders, "status")),
            Fact::Column(column(&two, "B b")),
            Fact::Value(column(&orders, "status"), "paid".to_owned()),
            Fact::Join(column(&customer, "id"), column(&orders, "customer_id")),
            Fact::Join(column(&two, "B b"), column(&pair, "y")),
        ];
        for fact in held {
            assert!(known.holds(&fact), "{fact}: {known:?}");
        }
        let missed = [
            Fact::Table(customer.clone()),
            Fact::Column(column(&orders, "name")),
            Fact::Value(column(&orders, "id"), "paid".to_owned()),
            Fact::Join(column(&two, "B b"), column(&pair, "x")),
        ];
        for fact in missed {
            assert!(!known.holds(&fact), "{fact}: {known:?}");
        }
        let shown = known.table(&orders).expect("shown");
        let neighbours = [customer, table("public", "item")];
        assert!(
            shown.neighbours.iter().eq(&neighbours),
            "{:?}",
            shown.neighbours
        );
    }
}
