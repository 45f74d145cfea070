//! The command `-adopt`: converts configurations of other servers, and checks what it wrote.

mod files;
mod types;

use std::{path::Path, process::ExitCode};

use serde_json::json;
use ziggurat_adopt::{Adopted, Adoption, Input, Surroundings};
use ziggurat_runtime::{Environment, console::print_error};
use ziggurat_sql_tools::ADMINISTRATOR_TOOLS;

use self::files::Target;
use crate::{
    arguments::AdoptOptions,
    check,
    configuration::{BUILTIN_PROMPTS, ConfigSources, tool_names},
    setup::overrides,
};

/// Exit code if something has no equal here.
const LACKING: u8 = 3;

/// Converts the files, writes new ones, and prints the report.
pub(crate) fn run(options: &AdoptOptions) -> ExitCode {
    match adopt(options) {
        Ok(code) => code,
        Err(error) => {
            print_error(&format!("ERROR: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn adopt(options: &AdoptOptions) -> anyhow::Result<ExitCode> {
    let sources = ConfigSources::of_process();
    let target = Target::new(&options.folder)?;
    let adopted = convert(options, &target, &sources.environment)?;
    let written = target.write(&adopted.files)?;
    print(options, &adopted, &written)?;
    let problems = match written.first() {
        Some(configuration) => check::problems_of(&overrides(Path::new(configuration))?),
        None => Vec::new(),
    };
    for problem in &problems {
        print_error(&format!("ERROR: {problem}\n"));
    }
    Ok(match adopted.report.lacks_something() {
        _ if !problems.is_empty() => ExitCode::FAILURE,
        true => LACKING.into(),
        false => ExitCode::SUCCESS,
    })
}

fn convert(
    options: &AdoptOptions,
    target: &Target,
    environment: &Environment,
) -> anyhow::Result<Adopted> {
    let read: Vec<_> = options
        .files
        .iter()
        .map(|path| Ok((path.display().to_string(), files::read(path)?)))
        .collect::<anyhow::Result<_>>()?;
    let inputs: Vec<_> = read
        .iter()
        .map(|(name, text)| Input { name, text })
        .collect();
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let prompts = BUILTIN_PROMPTS.map(|(_, name)| name);
    let taken = [&tool_names()[..], &prompts, &ADMINISTRATOR_TOOLS].concat();
    let surroundings = Surroundings::new(target.configuration())
        .with_variables(&variable)
        .with_taken(&taken);
    let mut adoption = Adoption::read(&inputs, options.form, &surroundings)?;
    if !options.is_offline {
        adoption = types::ask(adoption, environment)?;
    }
    Ok(adoption.finish())
}

fn print(options: &AdoptOptions, adopted: &Adopted, written: &[String]) -> anyhow::Result<()> {
    if options.as_json {
        let report = json!({
            "report": adopted.report,
            "written": written,
            "entries": adopted.entries,
        });
        return crate::print(&format!("{report:#}\n"));
    }
    let mut text = adopted.report.text();
    for entry in &adopted.entries {
        text.push('\n');
        text.push_str(entry);
    }
    crate::print(&text)
}
