//! Tests of the definitions of the tools for administrators.

use super::{
    ADMINISTRATOR_TOOLS, DEFINITIONS,
    health::{STATEMENTS, definition},
    read, statement,
};
use crate::index_advice::NO_TOP_QUERIES;

#[test]
fn the_definitions_have_no_problems_and_the_names_that_are_taken() {
    let (pack, problems) = read(DEFINITIONS);
    assert_eq!(problems, [""; 0]);
    let names: Vec<_> = pack.definitions.iter().map(|it| &*it.name).collect();
    assert_eq!([names, vec!["index_advice"]].concat(), ADMINISTRATOR_TOOLS);
    assert!(pack.definitions.iter().all(|it| it.write.is_none()));
}

#[test]
fn each_other_statement_is_read_and_the_checks_are_those_that_db_health_chooses() {
    assert!(statement("top_queries", NO_TOP_QUERIES, &[]).is_some());
    for entry in STATEMENTS {
        let (name, text) = entry;
        let definition = definition(entry).expect(name);
        let parameters = definition.parameters.len();
        assert_eq!(parameters, usize::from(text.contains(":schema")), "{name}");
        assert!(DEFINITIONS.contains(&format!("'{name}'")), "{name}");
    }
}
