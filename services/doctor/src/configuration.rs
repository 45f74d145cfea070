//! Findings about a configuration that was read.

use ziggurat_runtime::{
    causes,
    config::{LoadError, Loaded},
};

use crate::Finding;

const READ: &str = "config.read";
const KEYS: &str = "config.keys";

/// Beginning of a problem with a key.
const UNKNOWN: &str = "unknown key ";

/// Returns findings about a configuration: that it was read, and its warnings.
#[must_use]
pub fn of<T>(loaded: &Loaded<T>) -> Vec<Finding> {
    let read = if loaded.path.is_file() {
        format!("read {}", loaded.path.display())
    } else {
        "there is no configuration file: flags, the environment and defaults count".to_owned()
    };
    let mut findings = vec![Finding::ok(READ, read)];
    let warnings = loaded.warnings.iter();
    findings
        .extend(warnings.map(|it| Finding::warn(KEYS, it, "correct the setting, or remove it")));
    if loaded.warnings.is_empty() {
        findings.push(Finding::ok(KEYS, "every key is known and has an effect"));
    }
    findings
}

/// Returns findings about a configuration that cannot be used.
#[must_use]
pub fn of_failure(error: &LoadError) -> Vec<Finding> {
    let LoadError::Invalid(problems) = error else {
        return vec![unreadable(&causes(error))];
    };
    problems.iter().map(|problem| invalid(problem)).collect()
}

/// Returns the finding about a file that cannot be read.
#[must_use]
pub fn unreadable(problem: &str) -> Finding {
    let fix = "correct the file, or name another one with -config";
    Finding::fail(READ, problem, fix)
}

/// Returns the finding about an invalid setting.
#[must_use]
pub fn invalid(problem: &str) -> Finding {
    let Some(rest) = problem.strip_prefix(UNKNOWN) else {
        return Finding::fail(READ, problem, "correct the setting");
    };
    let meant = rest.split_once("(did you mean '");
    let meant = meant.and_then(|(_, rest)| rest.split_once('\''));
    let fix = match meant {
        Some((key, _)) => format!("write '{key}', or remove the key"),
        None => "remove the key".to_owned(),
    };
    Finding::fail(KEYS, problem, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_names_the_known_one_and_other_problems_are_about_the_file() {
        let error = LoadError::Invalid(vec![
            "unknown key 'htp' in a.yaml (did you mean 'http'?)".to_owned(),
            "http.address: has no port".to_owned(),
        ]);
        let findings = of_failure(&error);
        assert_eq!((findings[0].id, findings[1].id), (KEYS, READ));
        let fix = findings[0].fix.as_deref();
        assert_eq!(fix, Some("write 'http', or remove the key"));
    }
}
