//! The form of a person who joins a tenant or sets a new password.

use crate::{
    pages::{CURRENT_PASSWORD, NEW_PASSWORD, alert, escape, field, form, main_button, shown},
    people::TicketHolder,
    settings::Settings,
};

/// Returns the form of a ticket.
pub(crate) fn ticket(
    settings: &Settings,
    path: &str,
    holder: &TicketHolder,
    flow: &str,
    problem: Option<&str>,
) -> String {
    let what_for = match &holder.tenant {
        Some(tenant) => format!("You are invited to <strong>{}</strong>.", shown(tenant)),
        None => "Choose a new password.".to_owned(),
    };
    let names = if holder.tenant.is_some() && !holder.has_account {
        field("first_name", "First name", "autocomplete=\"given-name\"")
            + &field("last_name", "Last name", "autocomplete=\"family-name\"")
    } else {
        String::new()
    };
    let (label, attributes, button) = match (holder.has_account, &holder.tenant) {
        (true, _) => ("Password", CURRENT_PASSWORD, "Join"),
        (false, Some(_)) => ("New password", NEW_PASSWORD, "Join"),
        (false, None) => ("New password", NEW_PASSWORD, "Set the password"),
    };
    let name = format!(
        "value=\"{}\" autocomplete=\"username\" readonly",
        shown(&holder.name)
    );
    format!(
        "<p>{what_for}</p>{}{}{}{names}{}{}</form>",
        alert(problem),
        form(&escape(&settings.address(path)), flow),
        field("name", "Name", &name),
        field("password", label, attributes),
        main_button(button),
    )
}
