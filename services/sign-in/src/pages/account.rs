//! The page of an account.

use std::fmt::Write as _;

use crate::{
    clients::Client,
    documents,
    pages::{
        CURRENT_PASSWORD, NEW_PASSWORD, alert, another_account, escape, fact, factor, field, form,
        shown, shown_name, vouched,
    },
    people::{Database, Person},
    settings::Settings,
    store::{Grant, Seconds},
};

/// Contents of the page of an account.
pub(crate) struct Account<'a> {
    pub(crate) person: &'a Person,
    pub(crate) grants: &'a [Shown],
    pub(crate) flow: &'a str,
    pub(crate) factor: FactorState,
    /// Says that the person may set a new password.
    pub(crate) has_password: bool,
    /// The result of the form before.
    pub(crate) notice: Option<Notice<'a>>,
    pub(crate) now: Seconds,
}

/// The result of a form.
#[derive(Clone, Copy)]
pub(crate) enum Notice<'a> {
    Done(&'a str),
    Problem(&'a str),
}

/// The second factor on the page.
pub(crate) enum FactorState {
    /// There is no such thing here.
    Off,
    /// The person has none.
    Absent,
    /// The person has one, with so many recovery codes.
    Present(usize),
}

/// A grant on the page.
pub(crate) struct Shown {
    pub(crate) grant: Grant,
    /// The id of the grant as a text.
    pub(crate) id: String,
    /// The client, unless it was forgotten.
    pub(crate) client: Option<Client>,
}

/// Returns the page of an account.
pub(crate) fn account(settings: &Settings, account: &Account<'_>) -> String {
    let notice = match account.notice {
        Some(Notice::Done(text)) => {
            format!(
                "<p role=\"status\" class=\"banner ok\">{}</p>",
                escape(text)
            )
        }
        Some(Notice::Problem(text)) => alert(Some(text)),
        None => String::new(),
    };
    let action = escape(&settings.address("/oauth/account"));
    let flow = account.flow;
    let mut body = format!(
        "<p>You are <strong>{}</strong>.</p>{notice}{}<h2>Programs</h2>",
        shown(&account.person.name),
        form(&action, flow),
    );
    if account.grants.is_empty() {
        body += "<p>No program may use your account.</p>";
    }
    for shown in account.grants {
        write_grant(&mut body, settings, account, shown);
    }
    body += "</form>";
    body += &password(&action, account);
    body += &second_factor(&action, account);
    let _ = write!(
        body,
        "{}<h2>Everywhere</h2><p>This ends the access of all programs and all your sessions.</p>\
         <div class=\"button-row\"><button class=\"button danger\" name=\"everywhere\" value=\"yes\">\
         Sign out everywhere</button></div></form>",
        form(&action, flow),
    );
    body + &another_account(settings, flow)
}

/// Returns the form for a new password.
fn password(action: &str, account: &Account<'_>) -> String {
    if !account.has_password {
        return String::new();
    }
    // Password managers look for the name beside the passwords.
    format!(
        "{}<h2>Password</h2><p>A new password ends all your other sessions. Programs keep their \
         access.</p><input name=\"name\" value=\"{}\" autocomplete=\"username\" readonly hidden>{}{}\
         <div class=\"button-row\"><button class=\"button\">Change the password</button></div></form>",
        form(action, account.flow),
        shown(&account.person.name),
        field("present_password", "Present password", CURRENT_PASSWORD),
        field("new_password", "New password", NEW_PASSWORD),
    )
}

/// Returns the part about the second factor. A form of its own has the field for the code: the
/// return key in it presses no button of another part.
fn second_factor(action: &str, account: &Account<'_>) -> String {
    let (text, button) = match account.factor {
        FactorState::Off => return String::new(),
        FactorState::Absent => {
            let text = "<p>A password alone opens your account.</p>".to_owned();
            (
                text,
                "button\" name=\"set_up\" value=\"yes\">Set up a second factor",
            )
        }
        FactorState::Present(left) => {
            let text = format!(
                "<p>It is set up, and {left} recovery codes are left. To remove it, type a code.</p>{}",
                factor::code_field("")
            );
            (
                text,
                "button danger\" name=\"remove\" value=\"yes\">Remove the second factor",
            )
        }
    };
    format!(
        "{}<h2>Second factor</h2>{text}\
         <div class=\"button-row\"><button class=\"{button}</button></div></form>",
        form(action, account.flow),
    )
}

fn write_grant(body: &mut String, settings: &Settings, account: &Account<'_>, shown: &Shown) {
    let grant = &shown.grant;
    let (name, vouched) = match &shown.client {
        Some(client) => (shown_name(&client.name), vouched(client)),
        None => (escape(&grant.client), "no longer registered".into()),
    };
    let resource = documents::find(&settings.resources, &grant.resource);
    let resource = resource.map(|(resource, _)| resource);
    let all = match resource {
        Some(resource) => resource.databases_of(account.person),
        None => &account.person.databases,
    };
    let resource = resource.map_or(&*grant.resource, |resource| &*resource.title);
    let may_write = !settings.write_scope.is_empty()
        && grant
            .scope
            .split(' ')
            .any(|word| word == settings.write_scope);
    let _ = write!(
        body,
        "<div class=\"sign-in-part\"><h3>{name}</h3><dl class=\"facts\">{}{}{}{}{}{}</dl>\
         <div class=\"button-row\"><button class=\"button danger\" name=\"withdraw\" value=\"{}\" \
         aria-label=\"Withdraw {name}\">Withdraw</button></div></div>",
        fact("Program", &vouched),
        fact("Uses", &escape(resource)),
        fact("Databases", &databases(grant, all)),
        fact("May change data", if may_write { "yes" } else { "no" }),
        fact("Allowed", &ago(grant.made_at, account.now)),
        fact("Last used", &ago(grant.used_at, account.now)),
        shown.id,
    );
}

/// Returns the databases of a grant, as HTML.
fn databases(grant: &Grant, all: &[Database]) -> String {
    let is_allowed = |name: &String| match &grant.databases {
        Some(names) => names.contains(name),
        None => true,
    };
    let allowed = all.iter().filter(|it| is_allowed(&it.name));
    let titles: Vec<_> = allowed.map(|database| escape(&database.title)).collect();
    match (titles.is_empty(), &grant.databases) {
        (true, _) => "none".to_owned(),
        (false, Some(_)) => titles.join(", "),
        (false, None) => format!("all: {}", titles.join(", ")),
    }
}

/// Returns how long ago a moment was.
fn ago(then: Seconds, now: Seconds) -> String {
    let minutes = now.saturating_sub(then) / 60;
    let (count, unit) = match minutes {
        0 => return "just now".to_owned(),
        1..60 => (minutes, "minute"),
        60..2880 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_in_the_unit_that_fits() {
        for (seconds, expected) in [
            (0, "just now"),
            (60, "1 minute ago"),
            (3599, "59 minutes ago"),
            (3600, "1 hour ago"),
            (2 * 86_400 - 1, "47 hours ago"),
            (2 * 86_400, "2 days ago"),
        ] {
            assert_eq!(ago(1_800_000_000, 1_800_000_000 + seconds), expected);
        }
        assert_eq!(ago(2, 1), "just now");
    }
}
