//! Authentication of callers.

use std::path::PathBuf;

use ziggurat_runtime::config::Section;
use ziggurat_tokens::{CallerNames, TokenFile, issuer::TrustedIssuer};

use crate::configuration::pipelines::Pipeline;

/// Path of what tokens of an issuer are for.
const PATH: &str = "/v1";

/// The tokens that callers need. At least one of the two is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Auth {
    /// The file with the API tokens, if there are any.
    pub(crate) token_file: Option<PathBuf>,
    /// An external issuer of tokens that are accepted, if there is one.
    pub(crate) issuer: Option<TrustedIssuer>,
}

/// Reads the section; returns none if the file does not have it, and callers need no token.
pub(super) fn read(server: &Section<'_>) -> Option<Auth> {
    let (key, file) = (server.key("auth"), server.section("auth"));
    let auth = Auth {
        token_file: file.key("token_file").resolved_path(),
        issuer: TrustedIssuer::read(&file.section("issuer"), PATH),
    };
    if !server.names_key("auth") {
        return None;
    }
    let has_tokens = auth.token_file.is_some() || auth.issuer.is_some();
    key.check(
        has_tokens,
        "names no tokens: set token_file, or issuer.url, or both",
    );
    Some(auth)
}

/// Returns the names of callers in a pipeline, with its own name.
fn named(pipeline: &Pipeline) -> impl Iterator<Item = (&str, &CallerNames)> {
    let masks = pipeline.masks.iter().flat_map(|masks| &masks.callers);
    let of_masks = masks.flat_map(|callers| [&callers.only, &callers.unless]);
    let callers = of_masks.chain([&pipeline.callers]).flatten();
    callers.map(|callers| (&*pipeline.name, callers))
}

/// Warns of callers in `for` and `unless` that do not exist. A token file that cannot be read is reported
/// elsewhere.
pub(super) fn check_callers(file: &Section<'_>, auth: Option<&Auth>, pipelines: &[Pipeline]) {
    let tokens = auth.and_then(|auth| auth.token_file.as_ref());
    let tokens = tokens.map(|path| TokenFile::new(path).list().unwrap_or_default());
    let tokens = tokens.unwrap_or_default();
    for (name, callers) in pipelines.iter().flat_map(named) {
        let absent = callers.tokens().iter();
        let absent = absent.filter(|id| tokens.iter().all(|token| token.id != **id));
        for id in absent {
            file.warn(format!("pipelines: '{name}': no API token has the id {id}"));
        }
        for user in callers.users() {
            file.warn(format!(
                "pipelines: '{name}': this server has no users, so none is named {user}"
            ));
        }
    }
}
