//! `auth whoami`: the identity that the API accepts.

use serde::Serialize;

use crate::{
    api::{Api, undecodable},
    commands::{
        auth::{
            person,
            tenant::{TenantReport, shown, text},
        },
        record::named,
    },
    context::Context,
    failure::Failure,
    output::{Node, View, print},
};

#[derive(Serialize)]
struct WhoamiReport {
    credential_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_record_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_description: Option<String>,
    #[serde(flatten)]
    tenant: TenantReport,
    /// Present only if there is more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_count: Option<usize>,
    api_url: String,
}

/// Finds the client of this credential, and its tenant.
pub(in crate::commands) async fn whoami(context: &mut Context<'_>) -> Result<(), Failure> {
    if person::is_signed_in(context) {
        return person::whoami(context).await;
    }
    let mut api = Api::new(context);
    let clients = records(&mut api, "list clients", "/account/v1/clients").await?;
    let tenants = records(&mut api, "list tenants", "/account/v1/tenants").await?;
    let session = api.session()?;
    let credential_id = session.credential().client_id.clone();
    let api_url = session.address().as_str().to_owned();
    let me = clients
        .iter()
        .find(|client| client.text("credential_id") == Some(credential_id.as_str()));
    let tenant = tenants.first();
    if me.is_none() {
        context.note("No API client in this tenant has this credential ID.");
    }
    if tenant.is_none() {
        context.note("No tenant returned for this credential.");
    }
    let report = WhoamiReport {
        client_name: text(me, "name"),
        client_record_id: text(me, "id"),
        client_description: text(me, "description"),
        tenant: TenantReport::of(tenant),
        tenant_count: Some(tenants.len()).filter(|count| *count > 1),
        credential_id,
        api_url,
    };
    let view = lines(&report);
    print::report(context, &report, view)
}

/// Returns the records of a list.
pub(in crate::commands) async fn records(
    api: &mut Api<'_, '_>,
    action: &str,
    path: &str,
) -> Result<Vec<Node>, Failure> {
    let answer = api.get(action, path).await?;
    if answer.body.is_empty() {
        return Ok(Vec::new());
    }
    match Node::read(&answer.body) {
        Some(Node::Array(records)) => Ok(records.into_iter().map(named).collect()),
        Some(_) => Err(undecodable(action, "the response is not a list")),
        None => Err(undecodable(action, "the response is not JSON")),
    }
}

fn lines(report: &WhoamiReport) -> View {
    let count = report.tenant_count.map(|count| count.to_string());
    let [name, id, plan] = report.tenant.lines();
    View::Lines {
        width: 15,
        lines: vec![
            (
                "credential_id",
                "Credential ID",
                report.credential_id.clone(),
            ),
            (
                "client_name",
                "Client name",
                shown(report.client_name.as_ref()),
            ),
            (
                "client_description",
                "Description",
                shown(report.client_description.as_ref()),
            ),
            (
                "client_record_id",
                "Record ID",
                shown(report.client_record_id.as_ref()),
            ),
            name,
            id,
            plan,
            ("tenant_count", "Tenants", count.unwrap_or_default()),
            ("api_url", "API URL", report.api_url.clone()),
        ],
    }
}
