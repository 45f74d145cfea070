//! Tables for users: headings in capitals, columns two spaces apart, no cell is cut.

use unicode_width::UnicodeWidthStr;

use crate::output::{escape, node::Node};

/// A column of records of the API.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The member that it shows.
    pub(crate) member: std::borrow::Cow<'static, str>,
    /// The heading.
    pub(crate) title: std::borrow::Cow<'static, str>,
    /// The form of the value.
    pub(crate) show: Show,
}

/// Form of a value in a cell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Show {
    /// Unchanged.
    Text,
    /// The day of a timestamp.
    Day,
    /// `yes` or `no`.
    YesNo,
}

// === impl Column ===

impl Column {
    /// Creates a column for this member.
    pub(crate) const fn new(member: &'static str, title: &'static str, show: Show) -> Self {
        Self {
            member: std::borrow::Cow::Borrowed(member),
            title: std::borrow::Cow::Borrowed(title),
            show,
        }
    }

    /// Returns the cell of this column in a record, not escaped yet. An absent value is empty.
    pub(crate) fn cell(&self, record: &Node) -> String {
        match (record.member(&self.member), self.show) {
            (None, _) => String::new(),
            (Some(Node::Literal(literal)), _) if literal == "null" => String::new(),
            (Some(Node::Literal(literal)), Show::YesNo) => match literal.as_str() {
                "true" => "yes".to_owned(),
                "false" => "no".to_owned(),
                _ => literal.clone(),
            },
            (Some(Node::String(text)), Show::Day) => text.chars().take(10).collect(),
            (Some(Node::String(text)), _) => text.clone(),
            (Some(Node::Literal(literal)), _) => literal.clone(),
            (Some(nested), _) => nested.to_json(),
        }
    }
}

/// Formats a table. Cells are escaped; headings are constants.
pub(crate) fn table<T: AsRef<str>>(titles: &[T], rows: &[Vec<String>], colour: bool) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| escape(cell)).collect())
        .collect();
    let widths: Vec<usize> = titles
        .iter()
        .enumerate()
        .map(|(at, title)| {
            rows.iter()
                .map(|row| row[at].width())
                .chain([title.as_ref().width()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    if colour {
        text.push_str("\u{1b}[1m");
    }
    line(&mut text, titles, &widths);
    if colour {
        text.push_str("\u{1b}[0m");
    }
    text.push('\n');
    for row in &rows {
        line(&mut text, row, &widths);
        text.push('\n');
    }
    text
}

fn line<T: AsRef<str>>(text: &mut String, cells: &[T], widths: &[usize]) {
    let last = widths.len().saturating_sub(1);
    for (at, cell) in cells.iter().map(AsRef::as_ref).enumerate() {
        text.push_str(cell);
        if at < last {
            text.extend(std::iter::repeat_n(' ', widths[at] - cell.width() + 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_two_spaces_apart_and_the_last_is_not_padded() {
        let rows = [
            vec!["1".to_owned(), "東京".to_owned(), "x".to_owned()],
            vec!["22".to_owned(), String::new(), "yy".to_owned()],
        ];
        assert_eq!(
            table(&["ID", "NAME", "PLAN"], &rows, false),
            "ID  NAME  PLAN\n1   東京  x\n22        yy\n"
        );
    }

    #[test]
    fn a_hostile_name_stays_in_its_row() {
        let rows = [vec!["a\nb\u{1b}[2J".to_owned(), "c".to_owned()]];
        assert_eq!(
            table(&["NAME", "ID"], &rows, false),
            "NAME         ID\na\\nb\\x1b[2J  c\n"
        );
    }

    #[test]
    fn cells_show_days_booleans_and_absent_values() {
        let record = Node::read(
            br#"{"created_at":"2026-01-02T03:04:05Z","is_owner":true,"n":5,"x":null,"o":{"a":1}}"#,
        )
        .expect("JSON");
        for (column, cell) in [
            (
                Column::new("created_at", "CREATED", Show::Day),
                "2026-01-02",
            ),
            (Column::new("is_owner", "OWNER", Show::YesNo), "yes"),
            (Column::new("n", "N", Show::Text), "5"),
            (Column::new("x", "X", Show::Text), ""),
            (Column::new("y", "Y", Show::YesNo), ""),
            (Column::new("o", "O", Show::Text), r#"{"a":1}"#),
        ] {
            assert_eq!(column.cell(&record), cell, "{}", column.title);
        }
    }
}
