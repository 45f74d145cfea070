//! The form for the code of a device.

use crate::{
    pages::{alert, escape, factor::grouped},
    settings::Settings,
};

/// Returns the form for the code of a device.
pub(crate) fn form(
    settings: &Settings,
    flow: &str,
    given: Option<&str>,
    problem: Option<&str>,
) -> String {
    let problem = alert(problem);
    let action = escape(&settings.address("/oauth/device"));
    let given = grouped(given.unwrap_or_default(), "-");
    format!(
        "<p>Only go on if you started this on a device in front of you, and the device shows this \
         code.</p>{problem}\
         <form method=\"post\" action=\"{action}\">\
         <input type=\"hidden\" name=\"flow\" value=\"{flow}\">\
         <label for=\"user_code\">Code on the device</label>\
         <input id=\"user_code\" name=\"user_code\" value=\"{given}\" autocomplete=\"off\" \
         autocapitalize=\"characters\" spellcheck=\"false\" required autofocus>\
         <button>Go on</button></form>"
    )
}
