//! The form for the code of a device.

use crate::{
    pages::{alert, escape, factor::grouped, field, form, main_button},
    settings::Settings,
};

/// Returns the form for the code of a device.
pub(crate) fn code(
    settings: &Settings,
    flow: &str,
    given: Option<&str>,
    problem: Option<&str>,
) -> String {
    let action = escape(&settings.address("/oauth/device"));
    let given = grouped(given.unwrap_or_default(), "-");
    let attributes = format!(
        "value=\"{given}\" autocomplete=\"off\" autocapitalize=\"characters\" spellcheck=\"false\" \
         required autofocus"
    );
    format!(
        "<p>Only go on if you started this on a device in front of you, and the device shows this \
         code.</p>{}{}{}{}</form>",
        alert(problem),
        form(&action, flow),
        field("user_code", "Code on the device", &attributes),
        main_button("Go on"),
    )
}
