//! Hints for values that their type does not accept.

use ziggurat_postgres::error::Report;

use crate::sql_error::names::nearest;

/// Limit on the labels of an enum that are listed, and on their characters.
const MAX_LABELS: usize = 50;
const MAX_CHARACTERS: usize = 1_000;

/// Types and the form of their values.
const FORMS: &[(&str, &str)] = &[
    ("smallint", "a whole number from -32768 to 32767"),
    ("integer", "a whole number from -2147483648 to 2147483647"),
    ("bigint", "a whole number such as 42"),
    (
        "numeric",
        "a number such as 12.5, with a point and no thousands separator",
    ),
    ("double precision", "a number such as 12.5, with a point"),
    ("real", "a number such as 12.5, with a point"),
    ("money", "an amount such as 12.50"),
    ("boolean", "true or false"),
    (
        "uuid",
        "32 hexadecimal digits such as 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    ),
    (
        "json",
        "JSON, with its names and texts in double quotes, such as '{\"a\": 1}'",
    ),
    (
        "jsonb",
        "JSON, with its names and texts in double quotes, such as '{\"a\": 1}'",
    ),
    ("date", "a day such as '2024-12-31'"),
    ("time", "a time such as '23:59:00'"),
    (
        "timestamp",
        "a day and a time such as '2024-12-31 23:59:00'",
    ),
    (
        "timestamp with time zone",
        "a day and a time such as '2024-12-31 23:59:00+00'",
    ),
    ("interval", "a duration such as '1 day 2 hours'"),
    ("inet", "an address such as '192.168.0.1'"),
    ("cidr", "a network such as '192.168.0.0/24'"),
    ("bytea", "hexadecimal digits behind \\x, such as '\\x00ff'"),
    ("vector", "numbers in brackets, such as '[1, 2, 3]'"),
    ("point", "two numbers such as '(1, 2)'"),
];

/// Describes the values that a type accepts (22P02, 22007, 22008, 22003).
pub(super) fn invalid(report: &Report) -> Option<String> {
    let message = &report.message;
    let is_named = |name: &str| {
        message.match_indices(name).any(|(at, _)| {
            let (before, after) = (&message[..at], &message[at + name.len()..]);
            let ends = [":", " out of range"]
                .iter()
                .any(|end| after.starts_with(end));
            (before.is_empty() || before.ends_with(' ')) && (ends || after.is_empty())
        })
    };
    let forms = FORMS.iter().filter(|(name, _)| is_named(name));
    if let Some((name, form)) = forms.max_by_key(|(name, _)| name.len()) {
        return Some(format!("The type {name} expects {form}."));
    }
    match &*report.sqlstate {
        "22P02" if message.contains("array") => {
            Some("Write an array as ARRAY[1, 2] or '{1,2}'.".to_owned())
        }
        "22007" | "22008" => Some(
            "Write a day as '2024-12-31' and a time as '23:59:00', and use only days that exist."
                .to_owned(),
        ),
        _ => None,
    }
}

/// Lists the labels of an enum, those close to the invalid value first.
pub(super) fn labels(report: &Report, rows: &[[String; 2]]) -> Option<String> {
    let [name, _] = rows.first()?;
    let labels = rows.iter().filter(|[of, _]| of == name);
    let labels: Vec<_> = labels.map(|[_, label]| label.as_str()).collect();
    let value = report.message.split_once('"');
    let value = value.and_then(|(_, rest)| rest.rsplit_once('"'));
    let value = value.map_or("", |(value, _)| value);
    let near = nearest(value, labels.iter().copied(), |label| label);
    let others = labels.iter().copied().filter(|label| !near.contains(label));
    let mut text = format!("The values of {name} are ");
    let mut count = 0;
    for label in near.iter().copied().chain(others) {
        let label = format!("'{}'", label.replace('\'', "''"));
        if count == MAX_LABELS || text.len() + label.len() > MAX_CHARACTERS {
            break;
        }
        text.push_str(if count > 0 { ", " } else { "" });
        text.push_str(&label);
        count += 1;
    }
    let more = labels.len() - count;
    Some(match more {
        0 => format!("{text}."),
        _ => format!("{text} and {more} more."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(sqlstate: &str, message: &str) -> Report {
        let mut report = Report::with_sqlstate(sqlstate);
        message.clone_into(&mut report.message);
        report
    }

    #[test]
    fn the_form_of_a_value_is_that_of_its_type() {
        let cases = [
            (
                "22P02",
                "invalid input syntax for type integer: \"a\"",
                "integer expects a whole",
            ),
            (
                "22007",
                "invalid input syntax for type timestamp with time zone: \"a\"",
                "type timestamp with time zone expects",
            ),
            (
                "22003",
                "value \"9\" is out of range for type smallint",
                "smallint expects",
            ),
            ("22003", "integer out of range", "from -2147483648 to"),
            ("22P02", "malformed array literal: \"1\"", "ARRAY[1, 2]"),
            (
                "22008",
                "date/time field value out of range: \"a\"",
                "days that exist",
            ),
        ];
        for (sqlstate, message, expected) in cases {
            let text = invalid(&report(sqlstate, message)).expect(message);
            assert!(text.contains(expected), "{message}: {text}");
        }
        assert_eq!(invalid(&report("22P02", "something else")), None);
    }

    #[test]
    fn the_labels_of_an_enum_begin_with_those_close_to_the_value() {
        let row = |label: &str| ["mood".to_owned(), label.to_owned()];
        let report = report("22P02", "invalid input value for enum mood: \"hapy\"");
        let rows = [row("sad"), row("it's"), row("happy")];
        let text = labels(&report, &rows);
        let expected = "The values of mood are 'happy', 'sad', 'it''s'.";
        assert_eq!(text.as_deref(), Some(expected));

        let rows: Vec<_> = (0..300)
            .map(|number| row(&format!("value {number}")))
            .collect();
        let text = labels(&report, &rows).expect("labels");
        assert!(text.ends_with("'value 49' and 250 more."), "{text}");
        assert_eq!(labels(&report, &[]), None);
    }
}
