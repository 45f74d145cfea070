//! The commands `-make-receipt-key` and `-verify-receipt`.

use std::{path::Path, process::ExitCode};

use ziggurat_receipts::{Judged, Keys, PublicKey, VerifyError, make_key_file};
use ziggurat_runtime::{causes, console::print_error};

use crate::{
    arguments::{Overrides, ReceiptOptions},
    check::replay::{self, Outcome},
    configuration::{ConfigSources, Configuration},
    problems,
};

/// Exit code of a good answer with other rows than now.
const OTHER_ROWS: u8 = 3;

/// Makes a key that signs receipts.
///
/// # Errors
/// Fails if a file exists or cannot be written.
pub(crate) fn make_key(path: &Path) -> anyhow::Result<()> {
    let (id, public) = make_key_file(path)?;
    let (path, public) = (path.display(), public.display());
    crate::print(&format!(
        "{path}: key {id}; its public half is in {public}\n"
    ))
}

/// Verifies an answer by its receipt, and runs its request again if that is asked for.
pub(crate) fn run(overrides: &Overrides, options: &ReceiptOptions) -> ExitCode {
    let file = options.verification.file.display();
    let judged = keys(overrides, options).and_then(|keys| {
        let judged = options.verification.judge(&keys);
        judged.map_err(anyhow::Error::from)
    });
    let judged = match judged {
        Ok(judged) => judged,
        Err(error) => return refuse(options, &error),
    };
    let mut text = format!("{file}: {}\n", judged.describe());
    let mut code = ExitCode::SUCCESS;
    if options.replays {
        let (more, outcome) = replayed(overrides, options, &judged);
        text.push_str(&format_lines(&file.to_string(), &more));
        code = match outcome {
            Outcome::Same => ExitCode::SUCCESS,
            Outcome::Other => OTHER_ROWS.into(),
            Outcome::Failed => ExitCode::FAILURE,
        };
    }
    crate::print(&text).map_or(ExitCode::FAILURE, |()| code)
}

/// Writes the first line behind the name of the file, and the others as they are.
fn format_lines(file: &str, lines: &[String]) -> String {
    format!("{file}: {}\n", lines.join("\n"))
}

/// Prints why an answer is not good, or cannot be verified.
fn refuse(options: &ReceiptOptions, error: &anyhow::Error) -> ExitCode {
    let file = options.verification.file.display();
    let fault = error.downcast_ref::<VerifyError>();
    if let Some(VerifyError::Fault(fault)) = fault {
        // Where nothing can be printed, the exit code says it.
        crate::print(&format!("{file}: {fault}\n")).ok();
        return ExitCode::FAILURE;
    }
    for line in problems(error) {
        print_error(&format!("ERROR: {file}: {line}\n"));
    }
    ExitCode::FAILURE
}

/// Returns the public keys of the file that is named, or else of the configuration.
fn keys(overrides: &Overrides, options: &ReceiptOptions) -> anyhow::Result<Vec<PublicKey>> {
    if let Some(keys) = options.verification.named_keys()? {
        return Ok(keys);
    }
    let loaded = Configuration::load(overrides, &ConfigSources::of_process())?;
    let keys = loaded.value.receipts.keys()?;
    Ok(keys.as_ref().map(Keys::public).unwrap_or_default())
}

/// Runs a request again, and describes the changes.
fn replayed(
    overrides: &Overrides,
    options: &ReceiptOptions,
    judged: &Judged,
) -> (Vec<String>, Outcome) {
    let loaded = Configuration::load(overrides, &ConfigSources::of_process());
    let replayed = match loaded {
        Ok(loaded) => replay::run(&loaded.value, options.caller.as_ref(), judged),
        Err(error) => Err(error.into()),
    };
    replayed.unwrap_or_else(|error| (vec![causes(&*error)], Outcome::Failed))
}
