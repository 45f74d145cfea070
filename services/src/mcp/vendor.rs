//! Two methods the protocol does not have: which databases there are, and choosing one.
//!
//! They say the same on every face, so their results are no business of a revision.

use bytes::Bytes;
use serde::Serialize;
use ziggurat_layers::json_rpc::Call;

use crate::{
    accounts::Identity,
    databases::Databases,
    mcp::{State, params, wire, wire::Fault},
};

const LIST: &str = "svc/listDatabases";
const SELECT: &str = "svc/selectDatabase";

#[derive(Serialize)]
struct Selected<'a> {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn is_method(call: &Call) -> bool {
    [LIST, SELECT].contains(&call.method())
}

pub(super) fn answer(databases: &Databases, call: &Call) -> Result<State, Fault> {
    if call.is_notification() {
        return Ok(State::result(wire::nothing()));
    }
    let identity = call.head().extensions.get::<Identity>();
    if call.method() == LIST {
        return Ok(State::result(to_bytes(&databases.listing(identity))));
    }
    let name = params::database(call)?;
    let selected = select(databases.clone(), identity.cloned(), name);
    Ok(State::Selecting(Box::pin(selected)))
}

async fn select(databases: Databases, identity: Option<Identity>, name: String) -> Bytes {
    to_bytes(&match databases.select(identity.as_ref(), &name).await {
        Ok(()) => Selected {
            success: true,
            current: Some(&name),
            message: Some("Database selected successfully"),
            error: None,
        },
        Err(error) => Selected {
            success: false,
            current: None,
            message: None,
            error: Some(error.to_string()),
        },
    })
}

fn to_bytes(result: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(result).expect("text is JSON"))
}
