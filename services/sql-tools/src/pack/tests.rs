//! Tests of the definitions of the tools for administrators.

use super::{ADMINISTRATOR_TOOLS, DEFINITIONS, read};

#[test]
fn the_definitions_have_no_problems_and_the_names_that_are_taken() {
    let (pack, problems) = read(DEFINITIONS);
    assert_eq!(problems, [""; 0]);
    let names: Vec<_> = pack.definitions.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ADMINISTRATOR_TOOLS);
    assert!(pack.definitions.iter().all(|it| it.write.is_none()));
}
