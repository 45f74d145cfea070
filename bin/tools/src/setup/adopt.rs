//! The command `-adopt`: converts configurations of other servers, and checks what it wrote.

mod files;
mod types;

use std::{path::Path, process::ExitCode};

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
    crate::print(&adopted.text(&written, options.as_json))?;
    let problems = match written.first() {
        Some(configuration) => check::problems_of(&overrides(Path::new(configuration))?),
        None => Vec::new(),
    };
    for problem in &problems {
        print_error(&format!("ERROR: {problem}\n"));
    }
    Ok(adopted.exit_code(!problems.is_empty()))
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
    let tools = [&tool_names()[..], &ADMINISTRATOR_TOOLS].concat();
    let surroundings = Surroundings::new(target.configuration())
        .with_variables(&variable)
        .with_taken(&tools, &prompts);
    let mut adoption = Adoption::read(&inputs, options.form, &surroundings)?;
    if !options.is_offline {
        adoption = types::ask(adoption, environment)?;
    }
    Ok(adoption.finish())
}
