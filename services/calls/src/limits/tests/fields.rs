use std::collections::BTreeMap;

use http::HeaderMap;

use super::*;

/// A parameter of a member.
#[derive(Debug, PartialEq)]
enum Bare {
    Integer(i64),
    String(String),
}

type List = Vec<(String, BTreeMap<String, Bare>)>;

/// Parses a list of strings with parameters, by the algorithms of RFC 9651, section 4.2, as far as
/// the fields use them. Everything else fails.
struct Parser<'a>(&'a str);

impl Parser<'_> {
    fn list(text: &str) -> Option<List> {
        let mut parser = Parser(text.trim_matches(' '));
        let mut list = Vec::new();
        loop {
            let Bare::String(name) = parser.bare()? else {
                return None;
            };
            list.push((name, parser.parameters()?));
            parser.0 = parser.0.trim_start_matches([' ', '\t']);
            if parser.0.is_empty() {
                return Some(list);
            }
            parser.0 = parser.0.strip_prefix(',')?.trim_start_matches([' ', '\t']);
        }
    }

    fn parameters(&mut self) -> Option<BTreeMap<String, Bare>> {
        let mut parameters = BTreeMap::new();
        while let Some(rest) = self.0.strip_prefix(';') {
            self.0 = rest.trim_start_matches(' ');
            let is_key = |letter: char| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-.*".contains(letter)
            };
            let end = self
                .0
                .find(|letter| !is_key(letter))
                .unwrap_or(self.0.len());
            let (key, rest) = self.0.split_at(end);
            if !key.starts_with(|first: char| first.is_ascii_lowercase() || first == '*') {
                return None;
            }
            self.0 = rest.strip_prefix('=')?;
            let value = self.bare()?;
            parameters.insert(key.to_owned(), value);
        }
        Some(parameters)
    }

    fn bare(&mut self) -> Option<Bare> {
        if let Some(mut rest) = self.0.strip_prefix('"') {
            let mut text = String::new();
            loop {
                let next = rest.chars().next()?;
                rest = &rest[next.len_utf8()..];
                match next {
                    '"' => break,
                    '\\' => {
                        let escaped = rest.chars().next().filter(|next| "\"\\".contains(*next))?;
                        text.push(escaped);
                        rest = &rest[1..];
                    }
                    ' '..='~' => text.push(next),
                    _ => return None,
                }
            }
            self.0 = rest;
            return Some(Bare::String(text));
        }
        let end = self.0.find(|letter: char| !letter.is_ascii_digit());
        let (digits, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        let is_valid = (1..=15).contains(&digits.len());
        is_valid.then(|| digits.parse().ok().map(Bare::Integer))?
    }
}

/// Returns `RateLimit-Policy` and `RateLimit` of a response to a caller.
fn fields(allowance: &Allowance<ManualClock>) -> [Option<String>; 2] {
    let mut headers = HeaderMap::new();
    allowance.append_fields(&mut headers);
    let fields = ["ratelimit-policy", "ratelimit"]
        .map(|name| Some(headers.get(name)?.to_str().expect("ASCII").to_owned()));
    assert_eq!(headers.len(), fields.iter().flatten().count());
    fields
}

fn parsed(allowance: &Allowance<ManualClock>) -> [List; 2] {
    fields(allowance).map(|field| {
        let field = field.expect("announced");
        Parser::list(&field).unwrap_or_else(|| panic!("no list: {field}"))
    })
}

fn member<const N: usize>(
    name: &str,
    integers: [(&str, i64); N],
) -> (String, BTreeMap<String, Bare>) {
    let parameters = integers.map(|(key, value)| (key.to_owned(), Bare::Integer(value)));
    (name.to_owned(), BTreeMap::from(parameters))
}

#[test]
fn calls_are_announced_with_what_is_left_of_them() {
    let (limits, clock) = limits(for_all("calls: 120 per minute"));
    let allowance = of(&limits, ALICE);
    let policy = member("calls", [("q", 120), ("w", 60)]);
    assert_eq!(
        parsed(&allowance),
        [vec![policy], vec![member("calls", [("r", 120)])]]
    );
    for _ in 0..83 {
        assert_eq!(allowance.call(), Ok(()));
    }
    clock.advance(Duration::from_millis(18_600));
    let [_, left] = parsed(&allowance);
    assert_eq!(left, [member("calls", [("r", 74), ("t", 23)])]);
    let expected = [r#""calls";q=120;w=60"#, r#""calls";r=74;t=23"#];
    assert_eq!(
        fields(&allowance),
        expected.map(|text| Some(text.to_owned()))
    );
    while allowance.call().is_ok() {}
    let [_, left] = parsed(&allowance);
    assert_eq!(left, [member("calls", [("r", 0), ("t", 60)])]);
    clock.advance(Duration::from_mins(1));
    assert_eq!(parsed(&allowance)[1], [member("calls", [("r", 120)])]);
}

#[test]
fn limits_of_the_day_are_further_members() {
    let text = "calls: 4294967295 per 366 days, rows_per_day: 999999999999999, bytes_per_day: 50";
    let (limits, clock) = limits(for_all(text));
    let allowance = of(&limits, ALICE);
    allowance.call().expect("the first");
    allowance.rows(9);
    allowance.bytes(51);
    clock.advance(Duration::from_millis(500));
    let [policy, left] = parsed(&allowance);
    let mut rows = member("rows_per_day", [("q", 999_999_999_999_999), ("w", 86_400)]);
    let mut bytes = member("bytes_per_day", [("q", 50), ("w", 86_400)]);
    rows.1
        .insert("qu".to_owned(), Bare::String("rows".to_owned()));
    bytes
        .1
        .insert("qu".to_owned(), Bare::String("content-bytes".to_owned()));
    assert_eq!(
        policy[0],
        member("calls", [("q", 4_294_967_295), ("w", 31_622_400)])
    );
    assert_eq!(policy[1..], [rows, bytes]);
    assert_eq!(
        left[1..],
        [
            member("rows_per_day", [("r", 999_999_999_999_990), ("t", 86_399)]),
            member("bytes_per_day", [("r", 0), ("t", 86_399)]),
        ]
    );
}

#[test]
fn limits_that_the_fields_cannot_express_are_not_announced() {
    let (limits, _) = limits(for_all("concurrent: 4, max_cost: 9"));
    assert_eq!(fields(&of(&limits, ALICE)), [None, None]);
}

#[test]
fn the_parser_of_these_tests_refuses_what_is_no_list() {
    for text in [
        "",
        "\"a\",",
        "\"a\";q",
        "\"a\";q=1234567890123456",
        "\"a\";Q=1",
        "a",
        "\"a\"b",
        "\"\\n\"",
    ] {
        assert_eq!(Parser::list(text), None, "{text}");
    }
}
