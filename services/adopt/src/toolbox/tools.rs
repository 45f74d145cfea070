//! Tools.

use crate::{
    Adoption, Input, Surroundings, name,
    report::Place,
    tool::{Tool, Types, Unfit, filled, parameter::Parameter, writes},
    toolbox::{Item, builtin, sources::Sources, template, toolsets::Sets},
    tree::Node,
};

/// The kinds of tools with a statement.
const STATEMENTS: [&str; 1] = ["postgres-sql"];

/// Reads a tool.
pub(super) fn read(
    input: &Input<'_>,
    item: Item<'_>,
    sources: &Sources,
    surroundings: &Surroundings<'_>,
    sets: &mut Sets,
    adoption: &mut Adoption,
) {
    let place = input.place(item.node.line, item.name);
    let kind = item.kind();
    let source = item.node.find_text("source").unwrap_or_default();
    let Some(database) = sources.find(&source) else {
        adoption
            .report
            .missing(place, format!("a tool of the kind {kind}"));
        return;
    };
    if STATEMENTS.contains(&kind.as_str()) {
        let tool = tool(
            item,
            place,
            database,
            surroundings,
            &mut sets.required(item),
        );
        match tool {
            Ok(tool) => {
                sets.know(item.name, &[&tool.name], tool.writes);
                adoption.add_tool(tool, place);
            }
            Err(error) => adoption.report.missing(place, error.to_string()),
        }
        return;
    }
    let Some(built_in) = builtin::find(&kind) else {
        adoption
            .report
            .missing(place, format!("a tool of the kind {kind}"));
        return;
    };
    let ours = built_in.ours.join(", ");
    let pack = if built_in.is_dba {
        adoption.dba = true;
        " of the administrator's pack, which is on"
    } else {
        ""
    };
    adoption
        .report
        .changed(place, format!("{kind}: {ours}{pack}"));
    if kind.ends_with("execute-sql") {
        let what = "statements only read here; to let them write, set allow_writes: true of the \
                    database";
        adoption.report.changed(place, what);
    }
    sets.required(item);
    sets.know(item.name, built_in.ours, false);
}

fn tool(
    item: Item<'_>,
    place: Place<'_>,
    database: usize,
    surroundings: &Surroundings<'_>,
    changes: &mut Vec<String>,
) -> Result<Tool, Unfit> {
    let node = item.node;
    let own = name::ours(item.name).ok_or_else(|| Unfit::Refused("no name".to_owned()))?;
    let statement = filled(node, "statement", surroundings, changes);
    let description = filled(node, "description", surroundings, changes);
    let mut read = |key: &str| {
        let list = node.find(key).map(Node::list).unwrap_or_default().iter();
        let list = list.map(|it| Parameter::read(it, changes));
        list.collect::<Result<Vec<_>, _>>()
    };
    let mut names = read("templateParameters")?;
    let statement = template::identifiers(&statement, &names)?;
    for parameter in &mut names {
        parameter.is_identifier = true;
    }
    let mut parameters = read("parameters")?;
    parameters.append(&mut names);
    Ok(Tool {
        file: place.file.to_owned(),
        line: place.line,
        original: item.name.to_owned(),
        name: own,
        description,
        database,
        writes: writes(&statement)?,
        statement,
        parameters,
        row_limit: None,
        types: Types::Declared,
        changes: std::mem::take(changes),
    })
}
