//! Names as they are written in SQL.

use ziggurat_postgres::{metadata::Table, name::written, tsv};

/// Number of names that a message proposes.
const NEAR: usize = 3;

/// Writes a name as it is written in a statement, on one line.
pub(crate) fn push(out: &mut String, name: &str) {
    tsv::write_text(out, &written(name));
}

/// Returns names with dots between them.
pub(crate) fn path<'a, I: IntoIterator<Item = &'a str>>(names: I) -> String {
    let mut out = String::new();
    for name in names {
        if !out.is_empty() {
            out.push('.');
        }
        push(&mut out, name);
    }
    out
}

/// Splits `schema.table`, in which each name may be in quotes. Returns `None` if quotes do not end
/// or a name is empty.
pub(crate) fn split(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    loop {
        let (name, behind) = if let Some(inside) = rest.strip_prefix('"') {
            unquote(inside)?
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            (name.to_owned(), behind)
        };
        if name.is_empty() {
            return None;
        }
        names.push(name);
        if behind.is_empty() {
            return Some(names);
        }
        rest = behind.strip_prefix('.')?;
    }
}

/// Reads a name up to its closing quote; also returns the text behind the quote.
fn unquote(inside: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = inside;
    loop {
        let (before, behind) = rest.split_once('"')?;
        name.push_str(before);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, behind)),
        }
    }
}

/// Returns the name of a table, as it is written in SQL.
pub(crate) fn of(table: Table<'_>) -> String {
    path([table.schema(), table.name()])
}

/// Returns names with commas between them.
pub(super) fn list<'a, I: IntoIterator<Item = &'a str>>(names: I) -> String {
    let mut out = String::new();
    for name in names {
        if !out.is_empty() {
            out.push_str(", ");
        }
        push(&mut out, name);
    }
    out
}

/// Returns the positions of the tables of a name, which may be a path of schema and table, among
/// sorted tables.
pub(super) fn find(tables: &[Table<'_>], schema: Option<&str>, name: &str) -> Vec<usize> {
    let at = |schema: &str, name: &str| {
        let found =
            tables.binary_search_by(|table| (table.schema(), table.name()).cmp(&(schema, name)));
        found.into_iter().collect()
    };
    let find = |name: &str| {
        if let Some(schema) = schema {
            return at(schema, name);
        }
        let all = tables.iter().enumerate();
        let found = all.filter(|(_, table)| table.name() == name);
        found.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let exact = find(name);
    if !exact.is_empty() {
        return exact;
    }
    match split(name).as_deref() {
        Some([name]) => find(name),
        Some([of, name]) if schema.is_none_or(|schema| schema == of) => at(of, name),
        _ => exact,
    }
}

/// Returns the names of the tables that are nearest to names that were asked for, the nearest first.
pub(super) fn near<'a, I>(tables: I, asked: &[String]) -> Vec<String>
where
    I: Iterator<Item = Table<'a>>,
{
    let asked: Vec<_> = asked.iter().map(|name| name.to_lowercase()).collect();
    let asked: Vec<_> = asked.iter().map(|name| (name, letters(name))).collect();
    let mut best: Vec<(usize, Table<'_>)> = Vec::new();
    for table in tables.filter(|table| !table.is_partition()) {
        let name = table.name().to_lowercase();
        let farthest = best
            .get(NEAR - 1)
            .map_or(usize::MAX, |(distance, _)| *distance);
        let found = letters(&name);
        let distances = asked.iter().filter_map(|(asked, sought)| {
            let may_be_nearer = (asked.len().abs_diff(name.len()) / 4) < farthest
                && least_edits(*sought, found) < farthest;
            may_be_nearer.then(|| strsim::osa_distance(asked, &name))
        });
        let nearer = distances.min().filter(|distance| *distance < farthest);
        if let Some(distance) = nearer {
            let at = best.partition_point(|(known, _)| *known <= distance);
            best.insert(at, (distance, table));
            best.truncate(NEAR);
        }
    }
    best.into_iter().map(|(_, table)| of(table)).collect()
}

/// Returns the least number of edits between names with these sets of letters, since an edit adds
/// or removes at most one letter. It costs much less than to count them.
fn least_edits(one: u64, two: u64) -> usize {
    (one & !two).count_ones().max((two & !one).count_ones()) as usize
}

/// Returns the set of the letters of a name, in which a bit may stand for several letters.
fn letters(name: &str) -> u64 {
    name.chars()
        .fold(0, |set, c| set | 1 << (u32::from(c) % 64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_least_number_of_edits_is_never_above_the_real_one(
            one in "[a-eß_ü]{0,8}", two in "[a-eß_ü]{0,8}"
        ) {
            let least = least_edits(letters(&one), letters(&two));
            prop_assert!(least <= strsim::osa_distance(&one, &two));
        }
    }

    #[test]
    fn a_path_is_split_at_the_dots_outside_of_quotes() {
        let cases: [(&str, Option<&[&str]>); 8] = [
            ("orders", Some(&["orders"])),
            (" public.orders ", Some(&["public", "orders"])),
            ("\"a.b\".\"c\"\"d\"", Some(&["a.b", "c\"d"])),
            ("public.orders.id", Some(&["public", "orders", "id"])),
            ("\"open", None),
            ("a..b", None),
            ("\"a\"b", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let found = split(text);
            let found = found
                .as_ref()
                .map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
