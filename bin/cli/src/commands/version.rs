//! `version`: which build this is.

use std::fmt::Write as _;

use serde::Serialize;

use crate::{
    context::Context,
    failure::Failure,
    output::{self, View},
};

#[derive(Serialize)]
struct Build {
    #[serde(rename = "version")]
    number: &'static str,
    commit: &'static str,
    #[serde(rename = "build_date")]
    date: &'static str,
    modules: [Module; 1],
}

#[derive(Serialize)]
struct Module {
    name: &'static str,
    version: &'static str,
}

/// What is not known of a build that nobody told.
const UNKNOWN: &str = "unknown";

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints the version. Time and commit are those whoever builds a release names: asking the clock
/// and git while building would make no two builds the same.
pub(super) fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let build = Build {
        number: VERSION,
        commit: option_env!("ZIGGURAT_GIT_COMMIT").unwrap_or(UNKNOWN),
        date: option_env!("ZIGGURAT_BUILD_TIME").unwrap_or(UNKNOWN),
        modules: [Module {
            name: "platform",
            version: VERSION,
        }],
    };
    let mut text = format!(
        "{}\ncommit:     {}\nbuild date: {}\nmodules:\n",
        build.number, build.commit, build.date
    );
    for module in &build.modules {
        let _ = writeln!(text, "  {} {}", module.name, module.version);
    }
    output::report(context, &build, View::Plain(text))
}
