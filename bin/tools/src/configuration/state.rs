//! Settings of the database in which replicas share their state.

use ziggurat_runtime::config::Section;
use ziggurat_state::StateSettings;

use crate::configuration::provider;

/// Reads the section, and the variable with the URL.
pub(super) fn read(file: &Section<'_>) -> Option<StateSettings> {
    let url = provider::secret(file, "url", &["ZIGGURAT_STATE_URL"]);
    StateSettings::read(file, url)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::configuration::fixture::Case;

    const URL: &str = "postgres://app:swordfish@db.example/state";

    fn url(case: &Case) -> Option<String> {
        let state = case.configuration().state;
        Some(state?.url()?.expose().to_owned())
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
    fn an_invalid_url_is_refused_and_not_shown() {
        for (url, reason) in [
            ("mysql://app:swordfish@db/x", "a connection URL starts with"),
            ("postgres://:swordfish@db/x", "has no user"),
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
    fn certificates_are_read_when_the_server_starts() {
        let case = Case::new().file(&format!("state: {{url: \"{URL}\", sslrootcert: /no/ca}}"));
        let expected = "invalid configuration: state.url: database 'state': sslrootcert cannot be \
                        read";
        assert_eq!(case.error(), expected);
    }

    #[test]
    fn the_password_is_not_in_debug_output() {
        let case = Case::new().file(&format!("state: {{url: \"{URL}\"}}"));
        let shown = format!("{:?}", case.configuration());
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}
