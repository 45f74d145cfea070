use std::sync::Arc;

use ziggurat_layers::bearer::TokenHash;

use super::*;
use crate::{
    accounts::{Holder, Identity},
    databases::fixture::databases,
};

/// The outcome of a method, for a caller of that kind.
fn outcome(mcp: &Mcp, identity: Identity, method: &str, params: &str) -> String {
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let mut request = Request::new(Bytes::from(message));
    request.extensions_mut().insert(identity);
    answer(mcp, dialect().read(request)).expect("an answer")
}

fn user(name: &str) -> Identity {
    let databases = Arc::default();
    let name = Arc::from(name);
    let holder = Holder::User { name, databases };
    Identity::new(TokenHash::of("user"), holder)
}

#[test]
fn the_databases_of_a_caller_can_be_listed_and_selected() {
    let mcp = server().with_databases(databases());
    let entry = |name: &str| {
        format!(
            r#"{{"name":"{name}","host":"db.example","port":5432,"database":"shop","user":"reader","sslmode":"prefer","allow_writes":false}}"#
        )
    };
    let (main, docs) = (entry("main"), entry("docs"));
    let ask = |method: &str, params: &str| outcome(&mcp, user("bob"), method, params);
    let listed = |current: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"databases":[{main},{docs}],"current":"{current}"}}}}"#
        )
    };
    assert_eq!(ask("svc/listDatabases", "{}"), listed("main"));
    let cases = [
        (
            r#"{"name":"docs"}"#,
            r#""result":{"success":true,"current":"docs","message":"Database selected successfully"}"#,
        ),
        (
            r#"{"name":"gone"}"#,
            r#""result":{"success":false,"error":"Database not found"}"#,
        ),
        (
            r#"{"name":"team"}"#,
            r#""result":{"success":false,"error":"Access denied to this database"}"#,
        ),
    ];
    for (params, expected) in cases {
        let expected = format!(r#"{{"jsonrpc":"2.0","id":1,{expected}}}"#);
        assert_eq!(ask("svc/selectDatabase", params), expected, "{params}");
    }
    assert_eq!(ask("svc/listDatabases", "{}"), listed("docs"));
}

#[test]
fn a_bound_token_cannot_leave_its_database_by_selecting_another() {
    let mcp = server().with_databases(databases());
    let holder = Holder::Program { database: None };
    let program = Identity::new(TokenHash::of("program"), holder);
    let said = outcome(&mcp, program, "svc/selectDatabase", r#"{"name":"docs"}"#);
    let error =
        r#""result":{"success":false,"error":"API token is bound to a different database"}"#;
    assert!(said.contains(error), "{said}");
}

#[test]
fn a_selection_without_a_name_is_refused() {
    let mcp = server().with_databases(databases());
    for params in ["{}", r#"{"name":""}"#, r#"{"name":7}"#, r#"{"name":null}"#] {
        assert_eq!(
            ask(&mcp, "svc/selectDatabase", params),
            r#""error":{"code":-32602,"message":"Invalid params","data":"database name is required"}"#,
            "{params}"
        );
    }
}

#[test]
fn without_databases_there_are_no_such_methods() {
    for method in ["svc/listDatabases", "svc/selectDatabase"] {
        let answer = ask(&server(), method, "{}");
        assert!(answer.contains("-32601"), "{answer}");
    }
}
