//! Tests of previews of SQL tools.

use super::*;
use crate::sql_tools::writing::{asked, confirmed};

pub(super) const TOOLS: &str = "tools:
- name: drop_order
  title: Drop an order
  description: D
  database: shop
  write: true
  statement: DELETE FROM orders WHERE id = :id AND :who = 'local'
  parameters: [{name: id, type: integer}, {name: who, type: string, from: caller}]
- name: drop_carefully
  description: D
  database: shop
  write: true
  confirm: always
  statement: DELETE FROM orders WHERE id = :id RETURNING status
  parameters: [{name: id, type: integer}]
- {name: add_table, description: D, database: shop, write: true, statement: CREATE TABLE new (a int)}
";

fn shop(keys: &str) -> Shop {
    Shop::with(keys, "custom_definitions_path: own.yaml\n")
}

#[test]
fn a_tool_shows_its_values_and_the_changed_rows() {
    let shop = shop("mode: offer");
    let call = json!({"name": "drop_order", "arguments": {"id": 7}});
    let question = asked(&shop.client, &call, &json!({}));
    let expected = format!(
        "The tool \"Drop an order\" would change 2 rows in the database shop:\n\nid: \"7\"\n\n{DELETED}\
         \n\nCommit exactly this change?"
    );
    assert_eq!(message(&question), expected);
    let other = json!({"name": "drop_order", "arguments": {"id": 8}});
    assert_eq!(
        asked(&shop.client, &other, &confirmed(&question, true)),
        Value::Null
    );
    let done = asked(&shop.client, &call, &confirmed(&question, true));
    assert_eq!(text(&done), "Rows affected: 1");
    assert_eq!(shop.orders(), 1);
}

#[test]
fn a_tool_that_always_asks_requires_a_preview() {
    let shop = shop("mode: offer, approve: client");
    let (text, is_error) = shop.client.tool("drop_carefully", &json!({"id": 7}));
    assert!(
        is_error && text.starts_with("This change needs an approval"),
        "{text}"
    );
    let arguments = json!({"id": 7});
    let params = json!({"name": "drop_carefully", "arguments": arguments});
    let shown = result(&shop.client, "tools/call", &params);
    let shown = super::text(&shown);
    let (before, seal) = shown.split_once("approve: \"").expect("a seal");
    assert!(
        before.starts_with("The tool \"drop_carefully\" would change 2 rows"),
        "{shown}"
    );
    assert_eq!(shop.orders(), 2);
    let seal = seal.trim_end_matches("\".");
    let arguments = json!({"id": 8, "approve": seal});
    let params = json!({"name": "drop_carefully", "arguments": arguments});
    let other = result(&shop.client, "tools/call", &params);
    let first = "The tool \"drop_carefully\" would change 1 row";
    assert!(
        super::text(&other).starts_with(first),
        "the seal is of other values: {other}"
    );
    let arguments = json!({"id": 7, "approve": seal});
    let params = json!({"name": "drop_carefully", "arguments": arguments});
    let done = result(&shop.client, "tools/call", &params);
    assert!(super::text(&done).contains("open"), "{done}");
    assert_eq!(shop.orders(), 1);
    assert!(properties(&shop.client, "drop_carefully")["approve"].is_object());
    // Without a person and without a demand it writes as before.
    let params = json!({"name": "drop_order", "arguments": {"id": 8}});
    let done = result(&shop.client, "tools/call", &params);
    assert_eq!(super::text(&done), "Rows affected: 1");
}

#[test]
fn a_tool_without_a_preview_does_not_run_where_one_is_required() {
    let shop = shop("mode: require");
    let call = json!({"name": "add_table", "arguments": {}});
    let refused = asked(&shop.client, &call, &json!({}));
    let expected = "The statement was not run: it changes definitions (pg_class).";
    assert_eq!(text(&refused), expected);
    let params = json!({"name": "drop_order", "arguments": {"id": 7}});
    let refused = result(&shop.client, "tools/call", &params);
    assert!(
        text(&refused).starts_with("This change needs an approval"),
        "{refused}"
    );
    assert_eq!(shop.orders(), 2);
}
