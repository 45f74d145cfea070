use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use tokio_test::block_on;
use ziggurat_databases::fixture::databases;
use ziggurat_layers::{bearer::TokenHash, json_rpc::Answer};
use ziggurat_mcp::{Prompts, Resources, ResultBody, ServerInfo, Tools, dialect};
use ziggurat_tokens::Holder;

use super::*;

fn server() -> Mcp {
    let about = ServerInfo::new("ziggurat-tools", "1.2.3");
    let mcp = Mcp::new(&about, Tools::new(), Resources::new(), Prompts::new());
    mcp.expect("well-formed lists")
}

/// Returns the outcome of a method for a caller with this identity.
fn outcome(mcp: &Mcp, identity: Identity, method: &str, params: &str) -> String {
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let mut request = Request::new(Bytes::from(message));
    request.extensions_mut().insert(identity);
    let Ok(answer) = block_on(dialect().read(request).answer(mcp.clone()));
    let answer: Answer<ResultBody> = answer;
    let body = answer.into_body().expect("an answer");
    let whole = block_on(body.collect()).expect("a whole body").to_bytes();
    String::from_utf8(whole.into()).expect("UTF-8")
}

fn user(name: &str) -> Identity {
    let databases = Arc::default();
    let name = Arc::from(name);
    let holder = Holder::User { name, databases };
    Identity::new(TokenHash::of("user"), holder)
}

#[test]
fn the_databases_of_a_caller_can_be_listed_and_selected() {
    let mcp = with_databases(server(), &databases());
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
    let mcp = with_databases(server(), &databases());
    let (id, database) = ("token-1".into(), None);
    let holder = Holder::Program { id, database };
    let program = Identity::new(TokenHash::of("program"), holder);
    let said = outcome(&mcp, program, "svc/selectDatabase", r#"{"name":"docs"}"#);
    let error =
        r#""result":{"success":false,"error":"API token is bound to a different database"}"#;
    assert!(said.contains(error), "{said}");
}

#[test]
fn a_selection_without_a_name_is_refused() {
    let mcp = with_databases(server(), &databases());
    for params in ["{}", r#"{"name":""}"#, r#"{"name":7}"#, r#"{"name":null}"#] {
        let said = outcome(&mcp, user("bob"), "svc/selectDatabase", params);
        let error = r#""error":{"code":-32602,"message":"Invalid params","data":"database name is required"}"#;
        assert!(said.contains(error), "{params}: {said}");
    }
}

#[test]
fn without_databases_there_are_no_such_methods() {
    for method in ["svc/listDatabases", "svc/selectDatabase"] {
        let answer = outcome(&server(), user("bob"), method, "{}");
        assert!(answer.contains("-32601"), "{answer}");
    }
}
