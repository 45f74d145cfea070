//! The page on which a person allows a client something.

use std::fmt::Write as _;

use crate::{
    authorize::Wish,
    clients::{Client, address},
    pages::{alert, another_account, escape, fact, form, shown, shown_name, vouched},
    people::{Database, Person},
    settings::{Resource, Settings},
    store::GivenConsent,
};

/// Contents of the consent page.
pub(crate) struct Consent<'a> {
    pub(crate) client: &'a Client,
    pub(crate) wish: &'a Wish,
    /// The address to return to; a device has none.
    pub(crate) redirect: Option<&'a str>,
    pub(crate) person: &'a Person,
    pub(crate) resource: &'a Resource,
    pub(crate) flow: &'a str,
    pub(crate) choices: &'a Choices,
    /// The problem of the form before.
    pub(crate) problem: Option<&'a str>,
}

/// The choices that the page begins with.
#[derive(Default)]
pub(crate) struct Choices {
    pub(crate) tenant: Option<String>,
    /// The databases that are ticked, if they are not all.
    pub(crate) databases: Option<Vec<String>>,
    pub(crate) may_write: bool,
    /// The words of the scopes that are ticked, if they are not all.
    pub(crate) scopes: Option<Vec<String>>,
}

/// Returns the form in which a person allows a client something.
pub(crate) fn consent(settings: &Settings, consent: &Consent<'_>) -> String {
    let Consent {
        client,
        wish,
        redirect,
        person,
        resource,
        flow,
        choices,
        problem,
    } = consent;
    let name = shown_name(&client.name);
    let vouched = vouched(client);
    let mut body = format!(
        "<p><strong>{name}</strong> wants to use <strong>{}</strong> as you.</p>\
         <dl class=\"facts\">{}{}{}</dl>{}{}",
        escape(&resource.title),
        fact("Program", &format!("{name}: {vouched}")),
        fact("It returns to", &destination(*redirect)),
        fact("Account", &shown(&person.name)),
        alert(*problem),
        form(&escape(&settings.address("/oauth/consent")), flow),
    );
    body += &tenants(person, choices);
    body += &databases(resource.databases_of(person), choices);
    if !settings.write_scope.is_empty() && resource.allows_writes(person) {
        let _ = write!(
            body,
            "<div class=\"sign-in-part\"><label class=\"check\">\
             <input type=\"checkbox\" name=\"write\" value=\"on\"{}> May change data</label>",
            checked(choices.may_write)
        );
        if wish.wants_to_write(settings) {
            let _ = write!(body, "<p class=\"hint\">{name} asks for this.</p>");
        }
        body += "</div>";
    }
    body += &scopes(settings, consent);
    let days = settings.refresh_lifetime.as_secs() / 86_400;
    let _ = write!(
        body,
        "<p>This holds for at most {days} days, and ends when you withdraw it.</p>\
         <div class=\"sign-in-choices\">\
         <button class=\"button main\" name=\"decision\" value=\"allow\">Allow</button>\
         <button class=\"button\" name=\"decision\" value=\"deny\">Deny</button></div></form>",
    );
    body + &another_account(settings, flow)
}

/// Returns the tenant that a person acts for, with a choice if there are several.
fn tenants(person: &Person, choices: &Choices) -> String {
    let list = match &*person.tenants {
        [] => return String::new(),
        [only] => return format!("<p>Tenant: {}</p>", shown(&only.title)),
        several => several,
    };
    let mut text = "<div class=\"field\"><label for=\"tenant\">Tenant</label>\
                    <select class=\"control\" id=\"tenant\" name=\"tenant\">"
        .to_owned();
    for tenant in list {
        let is_chosen = choices.tenant.as_ref() == Some(&tenant.id);
        let _ = write!(
            text,
            "<option value=\"{}\"{}>{}</option>",
            escape(&tenant.id),
            if is_chosen { " selected" } else { "" },
            shown(&tenant.title)
        );
    }
    text + "</select></div>"
}

/// Returns a box for each database, ticked unless the person chose others.
fn databases(list: &[Database], choices: &Choices) -> String {
    if list.is_empty() {
        return String::new();
    }
    let chosen = choices.databases.as_ref();
    let mut text = String::from(
        "<fieldset class=\"check-list\"><legend>Databases</legend><div class=\"check-list-boxes\">",
    );
    for database in list {
        let is_ticked = chosen.is_none_or(|chosen| chosen.contains(&database.name));
        let _ = write!(
            text,
            "<label class=\"check\"><input type=\"checkbox\" name=\"database.{}\" value=\"on\"{}> {}\
             </label>",
            escape(&database.name),
            checked(is_ticked),
            escape(&database.title)
        );
    }
    text + "</div></fieldset>"
}

/// Returns a box for each named scope that is asked for and open to the person, ticked unless the
/// person did not allow it before.
fn scopes(settings: &Settings, consent: &Consent<'_>) -> String {
    let asked = consent.wish.scope.iter();
    let named = asked.filter_map(|word| settings.named_scope(word));
    let chosen = consent.choices.scopes.as_ref();
    let mut boxes = String::new();
    for scope in named.filter(|scope| scope.may_be_open_to(consent.person)) {
        let is_ticked = chosen.is_none_or(|chosen| chosen.contains(&scope.name));
        let _ = write!(
            boxes,
            "<label class=\"check\"><input type=\"checkbox\" name=\"scope.{}\" value=\"on\"{}> {}\
             </label>",
            escape(&scope.name),
            checked(is_ticked),
            escape(&scope.title)
        );
    }
    if boxes.is_empty() {
        return boxes;
    }
    format!(
        "<fieldset class=\"check-list\"><legend>Further rights</legend>\
         <div class=\"check-list-boxes\">{boxes}</div></fieldset>"
    )
}

fn checked(is_ticked: bool) -> &'static str {
    if is_ticked { " checked" } else { "" }
}

/// Returns where a browser goes after the consent, as HTML.
fn destination(address: Option<&str>) -> String {
    let Some(address) = address else {
        return "a device. Only go on if you started this on a device in front of you.".to_owned();
    };
    if let Some(host) = address::shown_host(address) {
        return escape(host);
    }
    "a program on this computer. Allow this only if you have just started to connect it yourself."
        .to_owned()
}

// === impl Choices ===

impl From<GivenConsent> for Choices {
    /// Takes the choices of the consent before. Changes are allowed anew each time.
    fn from(given: GivenConsent) -> Self {
        Self {
            tenant: given.tenant,
            databases: given.databases,
            may_write: false,
            scopes: Some(given.scope.split(' ').map(str::to_owned).collect()),
        }
    }
}
