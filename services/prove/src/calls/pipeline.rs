//! Pipelines of `ziggurat-rag`.

use serde::Deserialize;

use crate::{
    calls::request::Request,
    report::Place,
    schema::{Relation, Schema},
};

/// A pipeline that reads the database.
#[derive(Clone, Debug, Deserialize)]
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// Its tables, each with the column of its texts.
    pub tables: Vec<(String, String)>,
}

// === impl Pipeline ===

impl Pipeline {
    /// Returns the place of findings about the pipeline and a table.
    pub(super) fn place(&self, database: &str, relation: Option<&Relation>) -> Place {
        let place = match relation {
            Some(it) => Place::of_object(database, &it.schema, &it.name),
            None => Place::of_database(database),
        };
        Place {
            part: Some(format!("pipeline {}", self.name)),
            ..place
        }
    }

    pub(super) fn ask(&self, text: String) -> Request {
        Request::Question {
            pipeline: self.name.clone(),
            text,
        }
    }

    /// Returns the table of a configured name. One without a schema is in the first that has it.
    pub(super) fn relation<'a>(name: &str, schema: &'a Schema) -> Option<&'a Relation> {
        let name = unquoted(name);
        let named =
            |it: &&Relation| it.name == name || format!("{}.{}", it.schema, it.name) == name;
        let mut named = schema.relations.iter().filter(named);
        let first = named.clone().next();
        named.find(|it| it.schema == "public").or(first)
    }
}

/// Returns a name as the catalogue has it.
pub(super) fn unquoted(name: &str) -> String {
    name.replace('"', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_a_pipeline_is_found_with_and_without_its_schema() {
        let relation = |schema: &str, name: &str| {
            let members = serde_json::json!({
                "oid": format!("{schema}.{name}"), "schema": schema, "name": name, "quoted": "",
                "kind": "r", "is_partition": false, "is_protected": false, "policies": [],
                "read_by_policies": [], "columns": [], "unique": [],
            });
            serde_json::from_value(members).expect("a relation")
        };
        let schema = Schema {
            relations: vec![
                relation("a", "docs"),
                relation("public", "docs"),
                relation("a", "Odd"),
            ],
            ..Schema::default()
        };
        for (name, expected) in [
            ("docs", Some("public.docs")),
            ("a.docs", Some("a.docs")),
            ("\"Odd\"", Some("a.Odd")),
            ("a.\"Odd\"", Some("a.Odd")),
            ("other", None),
        ] {
            let found = Pipeline::relation(name, &schema);
            assert_eq!(found.map(|it| &*it.oid), expected, "{name}");
        }
    }
}
