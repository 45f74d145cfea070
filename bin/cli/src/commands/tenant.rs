//! `platform tenant`: the account itself.

use crate::{
    commands::{
        client,
        record::{self, RecordKind},
    },
    context::Context,
    failure::Failure,
    output::{Column, Show},
    tree::parser::Matches,
};

/// Tenants.
pub(crate) static TENANT: RecordKind = RecordKind {
    noun: "tenant",
    title: "Tenant",
    plural: "tenants",
    titles: "tenants",
    columns: &[
        Column::new("id", "ID", Show::Text),
        Column::new("name", "NAME", Show::Text),
        Column::new("plan", "PLAN", Show::Text),
        Column::new("plan_trial", "TRIAL", Show::YesNo),
        Column::new("domain", "DOMAIN", Show::Text),
        Column::new("created_at", "CREATED", Show::Day),
    ],
    question: "",
    asks_as_typed: false,
    has_names: false,
};

/// Renames a tenant.
pub(super) async fn update(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let target = TENANT.target(matches.argument(0))?;
    let Some(name) = client::not_empty(matches, "name")? else {
        return Err(Failure::usage("nothing to update — pass --name"));
    };
    record::update(context, &TENANT, target, &[("name", name)]).await
}
