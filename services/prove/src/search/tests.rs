use std::{
    cell::RefCell,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use serde_json::json;
use ziggurat_postgres::{
    database::{Database, Settings},
    pool::Pools,
};

use super::*;

const VALUE: &str = "umbra-secret-7";

/// Returns a search in a database with one table.
fn search() -> Search {
    let settings = Settings {
        name: "shop".to_owned(),
        host: "127.0.0.1".to_owned(),
        database: "shop".to_owned(),
        user: "nobody".to_owned(),
        ..Settings::default()
    };
    let database = Arc::new(Database::try_from(settings).expect("valid settings"));
    let (pools, _) = Pools::new();
    let party = |name: &str| Party::of_test(pools.pool(name, &database));
    let schema = json!({"keys": [], "functions": [], "sequences": [], "relations": [{
        "oid": "1", "schema": "public", "name": "orders", "quoted": "public.orders", "kind": "r",
        "is_partition": false, "is_protected": false, "policies": [], "read_by_policies": [],
        "columns": [], "unique": [],
    }]});
    let mut canaries = Canaries::default();
    canaries.add(VALUE);
    Search {
        database: "shop".to_owned(),
        parties: [party("a"), party("b")],
        schema: serde_json::from_value(schema).expect("a schema"),
        planted: Planted::of_canaries(canaries),
    }
}

/// Searches with a server that answers so, and returns the report and the requests.
fn searched(
    answer: impl Fn(Side, &Request) -> String,
    pipelines: &[Pipeline],
) -> (Report, Vec<(Side, Request)>) {
    let requests = RefCell::new(Vec::new());
    let server = async |side, request: &Request| {
        requests.borrow_mut().push((side, request.clone()));
        answer(side, request)
    };
    let report = {
        let mut searching = pin!(search().report(Vec::new(), pipelines, server));
        // The server never waits.
        match searching
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(report) => report,
            Poll::Pending => panic!("a server that waits"),
        }
    };
    (report, requests.into_inner())
}

#[test]
fn b_reads_its_rows_between_calls_of_a_with_a_value_in_the_statement() {
    let (report, requests) = searched(|_, _| String::new(), &[]);
    let of_b = requests.iter().filter(|(side, _)| *side == Side::B);
    let of_b: Vec<_> = of_b.map(|(_, request)| format!("{request:?}")).collect();
    assert_eq!(of_b.len(), report.calls.div_ceil(TURN));
    for request in of_b {
        assert!(
            request.contains(VALUE) && request.contains("public.orders"),
            "{request}"
        );
    }
    assert!(report.findings.is_empty() && report.inconclusive.is_empty());
}

#[test]
fn no_call_of_a_has_a_whole_value_but_a_question() {
    let pipeline = Pipeline {
        name: "docs".to_owned(),
        tables: vec![("orders".to_owned(), "note".to_owned())],
    };
    let (report, requests) = searched(|_, _| "{}".to_owned(), &[pipeline]);
    let mut asked = 0;
    for (_, request) in requests.iter().filter(|(side, _)| *side == Side::A) {
        let has_value = format!("{request:?}").contains(VALUE);
        assert!(
            !has_value || matches!(request, Request::Question { .. }),
            "{request:?}"
        );
        asked += usize::from(has_value);
    }
    assert_eq!(asked, 1);
    assert!(report.findings.is_empty() && report.inconclusive.is_empty());
}

#[test]
fn a_value_in_an_answer_is_a_finding_of_an_error() {
    let (report, _) = searched(|side, _| format!("{side:?} {VALUE}"), &[]);
    assert_eq!(report.exit_code(), 3);
    let levels = report.findings.iter().map(|it| it.rule.level());
    assert!(levels.into_iter().all(|level| level == Level::Error));
}
