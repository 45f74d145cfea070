//! Tests of settings and of the secrets in them.

use super::*;

fn invalid(settings: TraceSettings) -> String {
    Tracer::new(settings).expect_err("invalid").to_string()
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let valid = || TraceSettings {
        url: "http://127.0.0.1:4318/v1/traces".to_owned(),
        ..TraceSettings::default()
    };
    assert!(Tracer::new(valid()).is_ok());
    for ratio in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let settings = TraceSettings { ratio, ..valid() };
        assert_eq!(invalid(settings), "ratio: must be from 0 to 1");
    }
    let settings = TraceSettings {
        queue: 0,
        ..valid()
    };
    assert_eq!(invalid(settings), "queue: must be at least 1");
    for (url, problem) in [
        ("", "url: not an address"),
        ("http://user:secret@[host", "url: not an address"),
        (
            "ftp://user:secret@host/",
            "url: must begin with http:// or https://",
        ),
    ] {
        let settings = TraceSettings {
            url: url.to_owned(),
            ..valid()
        };
        assert_eq!(invalid(settings), problem);
    }
}

#[test]
fn header_fields_are_read_line_by_line() {
    let file =
        "# for the collector\r\nAuthorization: Bearer a:b \r\n\r\n  \nx-tenant:7\nx-tenant: 8";
    let headers: ExportHeaders = file.parse().expect("valid");
    let headers = headers.into_map();
    assert_eq!(headers["authorization"], "Bearer a:b");
    let tenants: Vec<_> = headers.get_all("x-tenant").iter().collect();
    assert_eq!(tenants, ["7", "8"]);
    assert!(
        "".parse::<ExportHeaders>()
            .expect("valid")
            .into_map()
            .is_empty()
    );
}

#[test]
fn an_invalid_line_is_named_by_its_number_only() {
    for (line, problem) in [
        ("secret", "line 2: not of the form `name: value`"),
        ("Bearer secret: x", "line 2: invalid name"),
        (": secret", "line 2: invalid name"),
        ("name : secret", "line 2: invalid name"),
        ("name:", "line 2: no value"),
        ("name: secret\u{7f}", "line 2: invalid value"),
        ("name: a\rsecret", "line 2: invalid value"),
        (
            "Content-Length: 7",
            "line 2: a header field that the exporter sets",
        ),
        (
            "host: secret",
            "line 2: a header field that the exporter sets",
        ),
    ] {
        let file = format!("a: b\n{line}\nc: d");
        let error = file.parse::<ExportHeaders>().expect_err("invalid");
        assert_eq!(error.to_string(), problem, "{line}");
        assert!(!format!("{error:?}").contains("secret"));
    }
}

#[test]
fn secrets_are_never_displayed() {
    let settings = TraceSettings {
        url: "http://user:secret@host/secret".to_owned(),
        headers: "authorization: secret".parse().expect("valid"),
        ..everything()
    };
    let before = format!("{settings:?} {:?}", settings.headers);
    let (tracer, exporter) = Tracer::new(settings).expect("valid");
    let call = tracer.begin("ping", Incoming::default(), false);
    let shown = format!(
        "{before} {tracer:?} {exporter:?} {call:?} {:?}",
        call.trace()
    );
    assert!(shown.contains("authorization"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}
