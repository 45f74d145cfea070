//! `version`: identifies the build.

use std::fmt::Write as _;

use serde::Serialize;

use crate::{
    context::Context,
    failure::Failure,
    output::{View, print},
    tree::VERSION,
};

#[derive(Serialize)]
struct Build {
    #[serde(rename = "version")]
    number: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    #[serde(rename = "build_date", skip_serializing_if = "Option::is_none")]
    date: Option<&'static str>,
    modules: [Module; 1],
}

#[derive(Serialize)]
struct Module {
    name: &'static str,
    version: &'static str,
}

/// Prints the version. A release build sets commit and time; other builds leave them out, because
/// asking git and the clock would make builds irreproducible.
pub(super) fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let build = Build {
        number: VERSION,
        commit: option_env!("ZIGGURAT_GIT_COMMIT"),
        date: option_env!("ZIGGURAT_BUILD_TIME"),
        modules: [Module {
            name: "platform",
            version: VERSION,
        }],
    };
    let mut text = format!("{}\n", build.number);
    for (label, value) in [("commit:     ", build.commit), ("build date: ", build.date)] {
        if let Some(value) = value {
            let _ = writeln!(text, "{label}{value}");
        }
    }
    text.push_str("modules:\n");
    for module in &build.modules {
        let _ = writeln!(text, "  {} {}", module.name, module.version);
    }
    print::report(context, &build, View::Plain(text))
}
