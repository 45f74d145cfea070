//! Tools.

use crate::{
    Adoption, Input, Surroundings,
    report::Place,
    tool::{Tool, Unfit, parameter::Parameter},
    toolbox::{Item, builtin, sources::Sources, template},
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
        let mut tool = tool(item.node, place, database, surroundings);
        if let Ok(tool) = &mut tool {
            tool.changes.extend(adoption.sets.required(item));
        }
        if let Some((name, writes)) = adoption.add_tool(tool, place) {
            adoption.sets.know(item.name, &[&name], writes);
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
    adoption.sets.required(item);
    adoption.sets.know(item.name, built_in.ours, false);
}

/// Reads a tool with a statement.
fn tool(
    node: &Node,
    place: Place<'_>,
    database: usize,
    surroundings: &Surroundings<'_>,
) -> Result<Tool, Unfit> {
    let mut tool = Tool::read(node, place, database, surroundings)?;
    let mut names = Parameter::read_all(node, "templateParameters", &mut tool.changes)?;
    tool.statement = template::identifiers(&tool.statement, &names)?;
    for parameter in &mut names {
        parameter.is_identifier = true;
    }
    tool.parameters.append(&mut names);
    Ok(tool)
}
