//! Entries of clients: how a client starts another server, and the entry that starts ours.

mod command;
mod paste;
mod servers;
mod supabase;
#[cfg(test)]
mod tests;

use crate::{
    AdoptError, Adoption, Input, Surroundings,
    client::{
        command::{Command, Server},
        paste::{Entry, Section},
        servers::Replacement,
    },
    tree::{Node, Value},
};

/// Names of the sections with the servers of a client.
const SECTIONS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp_servers"];

/// Reads the entries of a client, and makes the entries that replace them.
pub(crate) fn read(
    input: &Input<'_>,
    nodes: &[Node],
    surroundings: &Surroundings<'_>,
    adoption: &mut Adoption,
) -> Result<(), AdoptError> {
    let mut sections = Vec::new();
    for node in nodes {
        find(node, &mut sections);
    }
    let mut is_known = false;
    for (section, node) in sections {
        let mut entries = Vec::new();
        for (name, entry) in node.members() {
            let Some(command) = Command::read(entry) else {
                continue;
            };
            let Some(server) = command.server() else {
                continue;
            };
            is_known = true;
            let place = input.place(entry.line, name);
            let replaced = replace(server, &command, surroundings, place, adoption);
            entries.extend(replaced.map(|launch| Entry { name, launch }));
        }
        if !entries.is_empty() {
            let section = Section { section, entries };
            adoption.entries.push(section.render());
        }
    }
    if is_known {
        Ok(())
    } else {
        Err(AdoptError::NoEntry)
    }
}

/// Finds the sections of a document, also those within other settings.
fn find<'a>(node: &'a Node, sections: &mut Vec<(&'a str, &'a Node)>) {
    for (name, member) in node.members() {
        match &member.value {
            Value::Map(_) if SECTIONS.contains(&&**name) => sections.push((name, member)),
            _ => find(member, sections),
        }
    }
}

fn replace(
    server: Server,
    command: &Command,
    surroundings: &Surroundings<'_>,
    place: crate::report::Place<'_>,
    adoption: &mut Adoption,
) -> Option<paste::Launch> {
    let mut replacement = Replacement {
        command,
        place,
        config: surroundings.config,
        adoption,
    };
    match server {
        Server::Reference => replacement.reference(),
        Server::Crystal => replacement.crystal(),
        Server::Dbhub => replacement.dbhub(),
        Server::Toolbox => replacement.toolbox(),
        Server::Supabase => replacement.supabase(),
    }
}
