//! Where replicas keep what they share.

use std::path::PathBuf;

use serde::Deserialize;
use ziggurat_services::store::StateDatabase;

use super::{Invalid, Secret, Surroundings, api_key, environment::Reader};

/// The section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawState {
    url: Option<Secret>,
    url_file: Option<PathBuf>,
}

/// Where replicas keep what they share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// The database, with the password of its role.
    pub(crate) url: Secret,
}

// === impl RawState ===

impl RawState {
    pub(super) fn check(
        self,
        reader: &mut Reader<'_>,
        around: &Surroundings,
    ) -> Result<Option<State>, Invalid> {
        const KEY: &str = "state.url";
        let names = ["ZIGGURAT_STATE_URL"];
        let url = api_key::find(&names, self.url_file, self.url, KEY, (reader, around));
        let Some(url) = url else {
            return Ok(None);
        };
        StateDatabase::describe(url.expose())
            .map_err(|error| Invalid::key(KEY, error.to_string()))?;
        Ok(Some(State { url }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::configuration::fixture::Case;

    const URL: &str = "postgres://app:swordfish@db.example/state";

    fn url(case: &Case) -> Option<String> {
        let state = case.configuration().state;
        state.map(|state| state.url.expose().to_owned())
    }

    #[test]
    fn the_environment_comes_before_a_file_and_a_file_before_the_configuration() {
        assert_eq!(url(&Case::new()), None);
        let case = Case::new().file(&format!("state: {{url: \"{URL}\"}}"));
        assert_eq!(url(&case).as_deref(), Some(URL));
        let path = case.path("url");
        fs::write(&path, format!("{URL}2\n")).expect("written");
        let both = format!("state: {{url: \"{URL}\", url_file: {}}}", path.display());
        let case = case.file(&both);
        assert_eq!(url(&case), Some(format!("{URL}2")));
        let other = format!("{URL}3");
        let case = case.env(&[("ZIGGURAT_STATE_URL", &other)]);
        assert_eq!(url(&case), Some(other));
        assert_eq!(case.warnings(), [""; 0]);
    }

    #[test]
    fn a_url_that_will_not_do_is_refused_and_not_repeated() {
        for (url, reason) in [
            ("mysql://app:swordfish@db/x", "a connection URL starts with"),
            ("postgres://:swordfish@db/x", "names no user"),
            ("postgres://app:sword@fish@db/x", "more than one '@'"),
        ] {
            let case = Case::new().file(&format!("state: {{url: \"{url}\"}}"));
            let error = case.error();
            assert!(
                error.starts_with("invalid configuration: state.url: "),
                "{error}"
            );
            assert!(error.contains(reason), "{error}");
            assert!(!error.contains("fish"), "{error}");
        }
    }

    #[test]
    fn the_password_shows_nowhere() {
        let case = Case::new().file(&format!("state: {{url: \"{URL}\"}}"));
        let shown = format!("{:?}", case.configuration());
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}
