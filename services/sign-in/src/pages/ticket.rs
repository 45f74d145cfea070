//! The form of a person who joins a tenant or sets a new password.

use crate::{
    pages::{alert, escape},
    people::TicketHolder,
    settings::Settings,
};

/// Returns the form of a ticket.
pub(crate) fn form(
    settings: &Settings,
    path: &str,
    holder: &TicketHolder,
    flow: &str,
    problem: Option<&str>,
) -> String {
    let action = escape(&settings.address(path));
    let name = escape(&holder.name);
    let what_for = match &holder.tenant {
        Some(tenant) => format!("You are invited to <strong>{}</strong>.", escape(tenant)),
        None => "Choose a new password.".to_owned(),
    };
    let names = if holder.tenant.is_some() && !holder.has_account {
        "<label for=\"first_name\">First name</label>\
         <input id=\"first_name\" name=\"first_name\" autocomplete=\"given-name\">\
         <label for=\"last_name\">Last name</label>\
         <input id=\"last_name\" name=\"last_name\" autocomplete=\"family-name\">"
    } else {
        ""
    };
    let (label, kind, button) = match (holder.has_account, &holder.tenant) {
        (true, _) => ("Password", "current-password", "Join"),
        (false, Some(_)) => ("New password", "new-password", "Join"),
        (false, None) => ("New password", "new-password", "Set the password"),
    };
    format!(
        "<p>{what_for}</p>{}<form method=\"post\" action=\"{action}\">\
         <input type=\"hidden\" name=\"flow\" value=\"{flow}\">\
         <label for=\"name\">Name</label>\
         <input id=\"name\" name=\"name\" value=\"{name}\" autocomplete=\"username\" readonly>{names}\
         <label for=\"password\">{label}</label>\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"{kind}\" required>\
         <button>{button}</button></form>",
        alert(problem),
    )
}
