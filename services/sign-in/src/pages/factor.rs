//! The forms of a second factor.

use ziggurat_text::percent;

use crate::{
    pages::{alert, another_account, escape, field, form, main_button, place},
    people::Person,
    settings::Settings,
};

/// Returns the form for a code.
pub(crate) fn code(settings: &Settings, flow: &str, problem: Option<&str>) -> String {
    let mut body =
        String::from("<p>Type the code that your authenticator app shows, or a recovery code.</p>");
    body += &code_form(settings, flow, problem, " autofocus");
    body + &another_account(settings, flow)
}

/// Returns the form in which a person sets up an authenticator app.
pub(crate) fn set_up(
    settings: &Settings,
    flow: &str,
    person: &Person,
    key: &str,
    problem: Option<&str>,
) -> String {
    let address = address(settings, person, key);
    let body = format!(
        "<p>Add this key to an authenticator app. Then type the code that the app shows.</p>\
         <p class=\"sign-in-key\"><code>{}</code></p><p><a href=\"{}\">Open an app on this device</a></p>",
        grouped(key, " "),
        escape(&address),
    );
    body + &code_form(settings, flow, problem, "")
}

/// Returns the page with the recovery codes.
pub(crate) fn recovery(settings: &Settings, flow: &str, codes: &[String]) -> String {
    let items = codes
        .iter()
        .map(|code| format!("<li><code>{code}</code></li>"));
    let items: String = items.collect();
    format!(
        "<p>Keep these codes for the day on which you lose your app. Each of them holds once. This \
         page does not come back.</p><ul class=\"sign-in-codes\">{items}</ul>{}{}</form>",
        form(&escape(&settings.address("/oauth/second-factor")), flow),
        main_button("I have kept them"),
    )
}

/// Puts letters into groups of four.
pub(crate) fn grouped(letters: &str, between: &str) -> String {
    let letters: Vec<_> = letters.chars().collect();
    let groups: Vec<String> = letters
        .chunks(4)
        .map(|group| group.iter().collect())
        .collect();
    groups.join(between)
}

/// Returns the field for a code, with its label and further attributes.
pub(crate) fn code_field(more: &str) -> String {
    let attributes = format!(
        "autocomplete=\"one-time-code\" autocapitalize=\"none\" spellcheck=\"false\" required{more}"
    );
    field("code", "Code", &attributes)
}

fn code_form(settings: &Settings, flow: &str, problem: Option<&str>, more: &str) -> String {
    format!(
        "{}{}{}{}</form>",
        alert(problem),
        form(&escape(&settings.address("/oauth/second-factor")), flow),
        code_field(more),
        main_button("Go on"),
    )
}

/// Returns the address that an authenticator app opens.
fn address(settings: &Settings, person: &Person, key: &str) -> String {
    let encoded = |text: &str| percent::encode(text).collect::<String>();
    let (place, name) = (encoded(place(settings)), encoded(&person.name));
    format!("otpauth://totp/{place}:{name}?secret={key}&issuer={place}")
}
