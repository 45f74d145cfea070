//! Checks a call before anything is looked up or sent.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::{failure::Failure, output::quoted};

const METHODS: [Method; 5] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// Parses one of the five methods, ignoring case.
pub(super) fn method(typed: &str) -> Result<Method, Failure> {
    let upper = typed.to_ascii_uppercase();
    METHODS
        .into_iter()
        .find(|method| method.as_str() == upper)
        .ok_or_else(|| {
            Failure::usage(format!(
                "method {} is not one of GET, POST, PUT, PATCH, DELETE",
                quoted(typed)
            ))
        })
}

/// Checks that a path stays below the base URL.
pub(super) fn path(typed: &str) -> Result<(), Failure> {
    let shown = quoted(typed);
    if !typed.starts_with('/') || typed.contains("://") {
        return Err(Failure::usage(format!(
            "path {shown} must start with / and be relative to the API base; an absolute URL is \
             not accepted"
        )));
    }
    if typed.chars().any(char::is_control) {
        return Err(Failure::usage(format!(
            "path {shown} contains control characters"
        )));
    }
    let (path, query) = split(typed);
    let has_dot_segment = path.split('/').any(|segment| {
        matches!(
            &*percent_decode_str(segment).decode_utf8_lossy(),
            "." | ".."
        )
    });
    if has_dot_segment {
        return Err(Failure::usage(format!(
            "path {shown} contains a . or .. segment"
        )));
    }
    match query.and_then(unparsable) {
        Some(reason) => Err(Failure::usage(format!(
            "path {shown}: query does not parse: {reason}"
        ))),
        None => Ok(()),
    }
}

/// Returns the path with the pairs of `--query` after its own.
pub(super) fn with_query(typed: &str, pairs: &[&str]) -> Result<String, Failure> {
    let mut parsed = Vec::with_capacity(pairs.len());
    for pair in pairs {
        match pair.split_once('=') {
            Some((key, value)) if !key.is_empty() => parsed.push((key, value)),
            _ => {
                return Err(Failure::usage(format!(
                    "--query {} is not key=value",
                    quoted(pair)
                )));
            }
        }
    }
    // A stable sort, so that the values of one key stay in the given order.
    parsed.sort_by_key(|(key, _)| *key);
    let (path, query) = split(typed);
    let own = query.filter(|query| !query.is_empty()).map(str::to_owned);
    let added = parsed
        .iter()
        .map(|(key, value)| format!("{}={}", form_encoded(key), form_encoded(value)));
    let all: Vec<String> = own.into_iter().chain(added).collect();
    Ok(if all.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", all.join("&"))
    })
}

/// Returns the given headers; the last one of a name counts.
pub(super) fn headers(given: &[&str]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for line in given {
        let refused = || Failure::usage(format!("--header {} is not Name: value", shown(line)));
        let (name, value) = line.split_once(':').ok_or_else(refused)?;
        let name = HeaderName::try_from(name.trim()).map_err(|_| refused())?;
        let value = HeaderValue::from_str(value.trim()).map_err(|_| refused())?;
        if name == header::AUTHORIZATION {
            return Err(Failure::usage(
                "--header cannot set Authorization; the module's own credential is sent",
            ));
        }
        if [
            header::HOST,
            header::CONNECTION,
            header::CONTENT_LENGTH,
            header::TRANSFER_ENCODING,
        ]
        .contains(&name)
        {
            return Err(Failure::usage(format!(
                "--header cannot set {name}; it follows from the request"
            )));
        }
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns a header for a message, without its value if that may be secret.
fn shown(line: &str) -> String {
    match line.split_once(':') {
        Some((name, _)) => quoted(&format!("{name}: …")),
        None => quoted(line),
    }
}

/// Splits into path and query; the fragment is dropped.
fn split(typed: &str) -> (&str, Option<&str>) {
    let (typed, _) = typed.split_once('#').unwrap_or((typed, ""));
    match typed.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (typed, None),
    }
}

/// Returns the error of a query, if it has one.
fn unparsable(query: &str) -> Option<String> {
    if query.contains(';') {
        return Some("a semicolon is not a separator".to_owned());
    }
    let bytes = query.as_bytes();
    for (at, _) in query.match_indices('%') {
        let is_escape = bytes
            .get(at + 1..at + 3)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        if !is_escape {
            let escape = query.get(at..).unwrap_or_default();
            let escape: String = escape.chars().take(3).collect();
            return Some(format!("invalid URL escape {}", quoted(&escape)));
        }
    }
    None
}

/// The bytes that a form escapes; a space becomes `+`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

fn form_encoded(text: &str) -> String {
    let encoded = utf8_percent_encode(text, ESCAPED).to_string();
    encoded.replace("%20", "+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_one_of_five_in_any_case() {
        for typed in ["get", "Post", "PUT", "patch", "DELETE"] {
            assert_eq!(
                method(typed).expect(typed).as_str(),
                typed.to_ascii_uppercase()
            );
        }
        assert_eq!(
            method("HEAD").expect_err("refused").to_string(),
            "method \"HEAD\" is not one of GET, POST, PUT, PATCH, DELETE"
        );
    }

    #[test]
    fn a_path_cannot_leave_the_base() {
        for typed in ["/", "/a/b?x=1", "/a.b/..c", "/a?x=%20&y", "/%41"] {
            path(typed).expect(typed);
        }
        for typed in [
            "",
            "a",
            "http://evil/",
            "/x?u=http://evil",
            "/a/../b",
            "/./a",
            "/a/%2e%2E/b",
            "/a/..",
            "/a\nb",
            "/a?x=%zz",
            "/a?x=%4",
            "/a?x;y",
        ] {
            assert_eq!(path(typed).expect_err(typed).exit(), 2, "{typed}");
        }
        assert_eq!(
            path("/a?x=%zz").expect_err("refused").to_string(),
            "path \"/a?x=%zz\": query does not parse: invalid URL escape \"%zz\""
        );
    }

    #[test]
    fn pairs_are_encoded_sorted_and_put_behind_the_query_of_the_path() {
        for (typed, pairs, whole) in [
            ("/a", &[][..], "/a"),
            ("/a?", &[], "/a"),
            ("/a?b=%2f#x", &[], "/a?b=%2f"),
            (
                "/a?z=1",
                &["b=2 3", "a=é&", "b=1"],
                "/a?z=1&a=%C3%A9%26&b=2+3&b=1",
            ),
            ("/a", &["k=a=b", "e="], "/a?e=&k=a%3Db"),
        ] {
            assert_eq!(with_query(typed, pairs).expect(typed), whole);
        }
        for pair in ["novalue", "=x", ""] {
            assert_eq!(
                with_query("/", &[pair]).expect_err(pair).to_string(),
                format!("--query \"{pair}\" is not key=value")
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn a_path_that_passes_reaches_the_configured_host_and_no_other(
            typed in "/([a-c]|[/.%?#@:;&=\\\\]|%2[eE]|\\PC){0,20}",
        ) {
            if path(&typed).is_ok() {
                let whole = with_query(&typed, &["k=v"]).expect("good pairs");
                let url = format!("http://host:1/base{whole}");
                let target = ziggurat_account_client::Target::parse(&url).expect(&url);
                proptest::prop_assert_eq!(target.origin().authority(), "host:1");
                proptest::prop_assert!(target.path().starts_with("/base/"), "{}", url);
                proptest::prop_assert!(target.path().ends_with("k=v"), "{}", url);
            }
        }
    }

    #[test]
    fn headers_are_trimmed_and_the_last_of_a_name_wins() {
        let headers = headers(&["X-A:  1 ", "x-a: 2", "X-B:"]).expect("headers");
        assert_eq!(headers["x-a"], "2");
        assert_eq!(headers["x-b"], "");
        assert_eq!(headers.len(), 2);
        for line in ["nothing", ": x", "a b: c", "X: a\u{1}b"] {
            assert_eq!(super::headers(&[line]).expect_err(line).exit(), 2);
        }
        for line in [
            "authorization: Bearer x",
            " AUTHORIZATION : x",
            "Host: evil",
        ] {
            let failure = super::headers(&[line]).expect_err(line);
            assert!(failure.to_string().starts_with("--header cannot set "));
        }
    }
}
