//! Names as PostgreSQL must read them, and names that are close to one that is wrong.

use strsim::osa_distance;
use ziggurat_postgres::quoted;

/// Limit on the names that are suggested for one name.
pub(super) const MAX_SUGGESTED: usize = 3;

/// Words that name a table or column only in double quotes: the reserved words of PostgreSQL 14 to
/// 18, and those reserved for functions and types.
pub(super) const RESERVED: &str = "all analyse analyze and any array as asc asymmetric authorization binary \
    both case cast check collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp \
    current_user default deferrable desc distinct do else end except false fetch for foreign \
    freeze from full grant group having ilike in initially inner intersect into is isnull join \
    lateral leading left like limit localtime localtimestamp natural not notnull null offset on \
    only or order outer overlaps placing primary references returning right select session_user \
    similar some symmetric system_user table tablesample then to trailing true union unique user \
    using variadic verbose when where window with";

/// Returns whether a name in lower case can be written only in double quotes.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.split(' ').any(|word| word == name)
}

/// Returns a name as it must be written in a statement.
pub(super) fn written(name: &str) -> String {
    let is_start = |c: char| c == '_' || c.is_lowercase() || (!c.is_ascii() && c.is_alphabetic());
    let is_plain = name.starts_with(is_start)
        && name
            .chars()
            .all(|c| is_start(c) || c.is_ascii_digit() || c == '$');
    if is_plain && !is_reserved(name) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// Returns up to three items whose names are close to this one, nearest first. Case does not count,
/// and the plural of a name is close to it.
pub(super) fn nearest<T>(
    sought: &str,
    items: impl Iterator<Item = T>,
    name: impl Fn(&T) -> &str,
) -> Vec<T> {
    let lower = sought.to_lowercase();
    let mut near: Vec<_> = items
        .filter_map(|item| distance(&lower, name(&item)).map(|distance| (distance, item)))
        .collect();
    near.sort_by(|(one, a), (two, b)| (one, name(a)).cmp(&(two, name(b))));
    near.truncate(MAX_SUGGESTED);
    near.into_iter().map(|(_, item)| item).collect()
}

/// Returns the number of edits between two names, unless it exceeds a third of the length.
fn distance(lower: &str, name: &str) -> Option<usize> {
    let (length, other) = (lower.chars().count(), name.chars().count());
    let limit = length / 3;
    // A plural may be three characters longer.
    if length.abs_diff(other) > limit.max(3) {
        return None;
    }
    let name = name.to_lowercase();
    if is_plural(lower, &name) || is_plural(&name, lower) {
        return Some(1);
    }
    if length.abs_diff(other) > limit {
        return None;
    }
    Some(osa_distance(lower, &name)).filter(|&distance| distance <= limit)
}

fn is_plural(name: &str, of: &str) -> bool {
    let ends = |end| name.strip_suffix(end);
    ends("s") == Some(of)
        || ends("es") == Some(of)
        || matches!((ends("ies"), of.strip_suffix('y')), (Some(one), Some(two)) if one == two)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_postgresql_would_read_another_name() {
        let cases = [
            ("orders", "orders"),
            ("order", "\"order\""),
            ("_1$", "_1$"),
            ("größe", "größe"),
            ("Kunden", "\"Kunden\""),
            ("two words", "\"two words\""),
            ("1st", "\"1st\""),
            ("a\"b", "\"a\"\"b\""),
            ("", "\"\""),
        ];
        for (name, expected) in cases {
            assert_eq!(written(name), expected);
        }
    }

    #[test]
    fn the_nearest_names_come_first_and_distant_ones_never() {
        let names = [
            "name", "names", "game", "Name", "nme", "nickname", "category", "boxes",
        ];
        let near = |sought| nearest(sought, names.iter().copied(), |name| name);
        assert_eq!(near("nmae"), ["Name", "name", "nme"]);
        assert_eq!(near("NAME"), ["Name", "name", "game"]);
        assert_eq!(near("categories"), ["category"]);
        assert_eq!(near("box"), ["boxes"]);
        assert_eq!(near("total"), [""; 0]);
        assert_eq!(near(""), [""; 0]);
    }
}
