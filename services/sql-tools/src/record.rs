//! Facts about a call that are recorded before it runs.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use ziggurat_databases::Databases;
use ziggurat_mcp::Caller;
use ziggurat_tokens::Identity;

use crate::{
    SqlTools,
    arguments::{self, Members},
    definition::Definition,
    input_schema::APPROVE,
    parameter::{Filling, Parameter},
    tool::serves,
};

/// Text that stands for a value that is recorded nowhere.
const CONCEALED: &str = "***";

/// Facts about a call of a tool, for the audit trail.
///
/// Serialized, it is the object of the arguments in the order of the file. The values of parameters
/// that are sensitive, or filled with a fact about the caller, are `***`. Arguments that the tool
/// does not have are left out, because a sensitive value may stand below a wrong name.
pub struct CallRecord<'a> {
    definition: &'a Definition,
    members: Members<'a>,
    /// The statement that the call runs; `None` if its arguments are wrong.
    pub statement: Option<String>,
}

// === impl SqlTools ===

impl SqlTools {
    /// Returns whether a tool exists, but not for this caller.
    #[must_use]
    pub fn hide(&self, tool: &str, databases: &Databases, caller: &Caller) -> bool {
        let definition = self.definition(tool);
        definition.is_some_and(|it| !serves(it, databases, caller))
    }

    /// Returns the record of a call; `None` if there is no such tool, or the arguments are not an
    /// object.
    #[must_use]
    pub fn record<'a>(
        &'a self,
        tool: &str,
        arguments: Option<&'a str>,
        databases: &Databases,
        caller: &Caller,
    ) -> Option<CallRecord<'a>> {
        let definition = self.definition(tool)?;
        let mut members: Members<'_> = serde_json::from_str(arguments.unwrap_or("{}")).ok()?;
        if definition.write.is_some() && !definition.parameters.iter().any(|it| it.name == APPROVE)
        {
            members.take(APPROVE);
        }
        let identity = caller.extension::<Identity>();
        let role = definition.role(databases, identity);
        let values = arguments::read(definition, &members, identity, role.as_deref());
        Some(CallRecord {
            definition,
            members,
            statement: values.ok().map(|values| definition.statement(&values)),
        })
    }

    /// Returns the names of the arguments of a tool that are not shown.
    #[must_use]
    pub fn hidden_arguments(&self, tool: &str) -> Vec<String> {
        let definition = self.definition(tool);
        let parameters = definition.map_or(&[][..], |it| &it.parameters);
        let is_hidden =
            |it: &&Parameter| it.is_sensitive || matches!(it.filling, Filling::Bound(_));
        let hidden = parameters.iter().filter(is_hidden);
        hidden.map(|it| it.name.clone()).collect()
    }

    /// Returns whether a tool may change data.
    #[must_use]
    pub fn writes(&self, tool: &str) -> bool {
        let definition = self.definition(tool);
        definition.is_some_and(|definition| definition.write.is_some())
    }

    fn definition(&self, tool: &str) -> Option<&Definition> {
        let index = *self.names.get(tool)?;
        self.definitions.get(index).map(|it| &**it)
    }
}

// === impl CallRecord ===

impl CallRecord<'_> {
    /// Returns the database that the operator has chosen; `None` for the current one of the caller.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.definition.database.as_deref()
    }
}

impl fmt::Debug for CallRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The arguments do not belong in a log.
        f.debug_struct("CallRecord").finish_non_exhaustive()
    }
}

impl Serialize for CallRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for parameter in &self.definition.parameters {
            let Parameter { name, filling, .. } = parameter;
            let sent = self.members.raw(name);
            match (filling, sent) {
                (Filling::Required | Filling::Optional, None) => {}
                (Filling::Bound(_), _) => map.serialize_entry(name, CONCEALED)?,
                _ if parameter.is_sensitive => map.serialize_entry(name, CONCEALED)?,
                (_, Some(sent)) => map.serialize_entry(name, sent)?,
                (Filling::Default(_, default), None) => map.serialize_entry(name, default)?,
            }
        }
        map.end()
    }
}
