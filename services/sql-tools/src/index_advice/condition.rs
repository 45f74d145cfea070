//! Reads the conditions and sort keys of plans.
//!
//! PostgreSQL writes them from its trees, with parentheses around each operator, so that a reader
//! of tokens and groups finds every comparison. Text that it does not understand gives no
//! comparison, never a wrong one.

use crate::index_advice::Order;

/// A comparison of a column that an index can answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) column: ColumnName,
    pub(super) kind: ComparisonKind,
    /// The other side names a column of another table.
    pub(super) joins: bool,
}

/// Kind of a [`Comparison`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonKind {
    Equality,
    Range,
}

/// A column as a plan names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnName {
    /// Alias of its table.
    pub(super) alias: String,
    pub(super) name: String,
    /// The type that it is cast to.
    pub(super) cast: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Word(String),
    /// A quoted name, which is never a keyword.
    Name(String),
    /// A number, string or parameter.
    Value,
    Operator(String),
    Group(Vec<Item>),
}

/// Depth of parentheses beyond which a condition is not read.
const MAX_DEPTH: usize = 200;

/// Returns the comparisons that all rows of a condition fulfil.
pub(super) fn comparisons(text: &str) -> Vec<Comparison> {
    let mut found = Vec::new();
    if let Some(items) = items(text) {
        conjunction(&items, &mut found);
    }
    found
}

/// Returns the column and direction of a sort key, unless it sorts by an expression.
pub(super) fn sort_key(text: &str) -> Option<(ColumnName, Order)> {
    let items = items(text)?;
    let end = items
        .iter()
        .position(|item| matches!(item, Item::Word(word) if is_keyword(word, "DESC") || is_keyword(word, "NULLS")))
        .unwrap_or(items.len());
    let column = column(&items[..end])?;
    let words: Vec<&str> = items[end..]
        .iter()
        .map(|item| match item {
            Item::Word(word) => word.as_str(),
            _ => "",
        })
        .collect();
    let (is_descending, has_unusual_nulls) = match words.as_slice() {
        [] => (false, false),
        ["DESC"] => (true, false),
        ["NULLS", "FIRST"] => (false, true),
        ["DESC", "NULLS", "LAST"] => (true, true),
        _ => return None,
    };
    let order = Order {
        is_descending,
        has_unusual_nulls,
    };
    Some((column, order))
}

fn conjunction(items: &[Item], found: &mut Vec<Comparison>) {
    for part in items.split(|item| is_word(item, "AND")) {
        match part {
            [Item::Group(inner)] => conjunction(inner, found),
            _ => found.extend(comparison(part)),
        }
    }
}

/// Reads one comparison: both sides may be columns, as in a join.
fn comparison(items: &[Item]) -> Vec<Comparison> {
    if let Some(column) = column(items) {
        // A boolean column by itself.
        return vec![Comparison {
            column,
            kind: ComparisonKind::Equality,
            joins: false,
        }];
    }
    if let [rest @ .., is, null] = items
        && is_word(is, "IS")
        && is_word(null, "NULL")
        && let Some(column) = column(rest)
    {
        return vec![Comparison {
            column,
            kind: ComparisonKind::Equality,
            joins: false,
        }];
    }
    let mut operators = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| match item {
            Item::Operator(text) if !matches!(text.as_str(), "." | "::" | "," | "[" | "]") => {
                Some((at, text.as_str()))
            }
            _ => None,
        });
    let (Some((at, operator)), None) = (operators.next(), operators.next()) else {
        return Vec::new();
    };
    let kind = match operator {
        "=" => ComparisonKind::Equality,
        "<" | "<=" | ">" | ">=" => ComparisonKind::Range,
        _ => return Vec::new(),
    };
    let (left, right) = (&items[..at], &items[at + 1..]);
    if left.iter().chain(right).any(is_connective) {
        return Vec::new();
    }
    let is_array = right.first().is_some_and(|item| is_word(item, "ANY"));
    if right.first().is_some_and(|item| is_word(item, "ALL"))
        || is_array && kind == ComparisonKind::Range
    {
        return Vec::new();
    }
    [(left, right), (right, left)]
        .into_iter()
        .filter_map(|(side, other)| sided(side, other, kind))
        .collect()
}

fn sided(side: &[Item], other: &[Item], kind: ComparisonKind) -> Option<Comparison> {
    let column = column(side)?;
    let mut aliases = Vec::new();
    collect_aliases(other, &mut aliases);
    // An index on the column cannot answer a comparison with another column of the same row.
    let is_same_row = aliases.iter().any(|alias| *alias == column.alias);
    (!is_same_row).then_some(Comparison {
        joins: !aliases.is_empty(),
        column,
        kind,
    })
}

/// Reads `alias.name`, `(alias.name)` and `(alias.name)::type`.
fn column(items: &[Item]) -> Option<ColumnName> {
    let (subject, cast) = match items.iter().position(|item| is_operator(item, "::")) {
        Some(at) => (&items[..at], Some(words(&items[at + 1..])?)),
        None => (items, None),
    };
    match subject {
        [alias, dot, name] if is_operator(dot, ".") => Some(ColumnName {
            alias: name_of(alias)?.to_owned(),
            name: name_of(name)?.to_owned(),
            cast,
        }),
        [Item::Group(inner)] => {
            let column = column(inner)?;
            match (column.cast.is_some(), cast) {
                (_, None) => Some(column),
                (false, cast) => Some(ColumnName { cast, ..column }),
                (true, Some(_)) => None,
            }
        }
        _ => None,
    }
}

fn words(items: &[Item]) -> Option<String> {
    let mut text = String::new();
    for item in items {
        let Item::Word(word) = item else { return None };
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    (!text.is_empty()).then_some(text)
}

fn collect_aliases<'a>(items: &'a [Item], found: &mut Vec<&'a str>) {
    for window in items.windows(3) {
        if let [alias, dot, name] = window
            && is_operator(dot, ".")
            && let (Some(alias), Some(_)) = (name_of(alias), name_of(name))
        {
            found.push(alias);
        }
    }
    for item in items {
        if let Item::Group(inner) = item {
            collect_aliases(inner, found);
        }
    }
}

fn name_of(item: &Item) -> Option<&str> {
    match item {
        Item::Word(name) | Item::Name(name) => Some(name),
        _ => None,
    }
}

fn is_operator(item: &Item, text: &str) -> bool {
    matches!(item, Item::Operator(operator) if operator == text)
}

/// Keywords are written in capitals, names that are not quoted in small letters.
fn is_word(item: &Item, keyword: &str) -> bool {
    matches!(item, Item::Word(word) if is_keyword(word, keyword))
}

fn is_keyword(word: &str, keyword: &str) -> bool {
    word == keyword
}

fn is_connective(item: &Item) -> bool {
    ["OR", "NOT", "IS", "CASE", "DISTINCT", "COLLATE"]
        .iter()
        .any(|keyword| is_word(item, keyword))
}

/// Splits a text into items. Fails where a parenthesis or quote is not closed.
fn items(text: &str) -> Option<Vec<Item>> {
    let mut groups: Vec<Vec<Item>> = vec![Vec::new()];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if first.is_whitespace() => first.len_utf8(),
            '(' if groups.len() > MAX_DEPTH => return None,
            '(' => {
                groups.push(Vec::new());
                1
            }
            ')' => {
                let inner = groups.pop()?;
                groups.last_mut()?.push(Item::Group(inner));
                1
            }
            _ => {
                let (item, length) = item(rest, first)?;
                groups.last_mut()?.push(item);
                length
            }
        };
        rest = &rest[length..];
    }
    let items = groups.pop()?;
    groups.is_empty().then_some(items)
}

/// Reads one item that is no group, and returns its length.
fn item(rest: &str, first: char) -> Option<(Item, usize)> {
    // `E'…'` is the only string with another escape for a quote than a second quote.
    let (prefix, is_escaped) = if rest.starts_with("E'") {
        (1, true)
    } else {
        (0, false)
    };
    Some(match first {
        '\'' | 'E' if rest[prefix..].starts_with('\'') => (
            Item::Value,
            prefix + quoted(&rest[prefix..], '\'', is_escaped)?,
        ),
        '"' => {
            let length = quoted(rest, '"', false)?;
            let name = rest[1..length - 1].replace("\"\"", "\"");
            (Item::Name(name), length)
        }
        '0'..='9' | '$' => (
            Item::Value,
            length_of(rest, |c| {
                c.is_alphanumeric() || matches!(c, '.' | '$' | '_')
            }),
        ),
        _ if first.is_alphabetic() || first == '_' => {
            let length = length_of(rest, |c| c.is_alphanumeric() || matches!(c, '_' | '$'));
            (Item::Word(rest[..length].to_owned()), length)
        }
        '.' | ',' | '[' | ']' => (Item::Operator(first.to_string()), 1),
        _ if rest.starts_with("::") => (Item::Operator("::".to_owned()), 2),
        _ => {
            let length =
                length_of(rest, |c| "+-*/<>=~!@#%^&|`?:".contains(c)).max(first.len_utf8());
            (Item::Operator(rest[..length].to_owned()), length)
        }
    })
}

fn length_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// Returns the length of a quoted text with its quotes; a doubled quote stands for one.
fn quoted(text: &str, quote: char, is_escaped: bool) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && is_escaped {
            characters.next();
        } else if character == quote {
            if characters.peek().is_some_and(|&(_, next)| next == quote) {
                characters.next();
            } else {
                return Some(at + 1);
            }
        }
    }
    None
}
