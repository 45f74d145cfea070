//! Tests of prompts.

use serde_json::{Value, json};

use crate::support::{Home, Transports};

fn transports() -> Transports {
    let mut home = Home::new();
    home.set("PGUSER", "nobody");
    home.set("PGPORT", "1");
    Transports::open(home)
}

/// Returns the description and the text of a prompt with one user message.
fn get(transports: &mut Transports, name: &str, arguments: &Value) -> (String, String) {
    let params = json!({"name": name, "arguments": arguments});
    let answer = transports.call("prompts/get", &params);
    let result = &answer["result"];
    assert_eq!(
        result.as_object().map(serde_json::Map::len),
        Some(2),
        "{answer}"
    );
    let description = result["description"].as_str().expect("a text");
    let text = result["messages"][0]["content"]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
    assert_eq!(
        result["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": text}}])
    );
    (description.to_owned(), text.to_owned())
}

#[test]
fn the_list_has_the_arguments_of_each_prompt() {
    let mut transports = transports();
    let answer = transports.call("prompts/list", &json!({}));
    let prompts = answer["result"]["prompts"].as_array().expect("a list");
    // Names of prompts, and their arguments with whether they are required.
    let expected: [(&str, &[(&str, bool)]); 4] = [
        (
            "design-schema",
            &[
                ("requirements", true),
                ("use_case", false),
                ("full_featured", false),
            ],
        ),
        ("diagnose-query-issue", &[("issue_description", false)]),
        ("explore-database", &[]),
        ("setup-semantic-search", &[("query_text", true)]),
    ];
    assert_eq!(prompts.len(), expected.len());
    for (prompt, (name, arguments)) in prompts.iter().zip(expected) {
        assert_eq!(prompt["name"], name);
        assert!(
            prompt["description"]
                .as_str()
                .is_some_and(|it| !it.is_empty())
        );
        // Absent if there are no arguments.
        assert_eq!(prompt.get("arguments").is_none(), arguments.is_empty());
        let listed = prompt["arguments"].as_array();
        let listed = listed.map_or(&[][..], Vec::as_slice);
        assert_eq!(listed.len(), arguments.len(), "{prompt}");
        for (argument, (name, required)) in listed.iter().zip(arguments) {
            assert_eq!(argument["name"], *name);
            assert!(argument["description"].is_string(), "{argument}");
            // Absent instead of false.
            let expected = required.then_some(&Value::Bool(true));
            assert_eq!(argument.get("required"), expected, "{argument}");
            if let Some(kind) = argument.get("type") {
                assert!(kind == "string" || kind == "boolean", "{argument}");
            }
        }
    }
}

#[test]
fn each_prompt_has_its_description_and_uses_its_arguments() {
    let mut transports = transports();
    let (description, text) = get(&mut transports, "explore-database", &json!({}));
    assert_eq!(description, "Systematic database exploration workflow");
    assert!(text.contains("get_schema_info"), "{text}");

    let arguments = json!({"query_text": "soft \"blue\" {{chairs}}"});
    let (description, text) = get(&mut transports, "setup-semantic-search", &arguments);
    assert!(
        description.ends_with("\"blue\" {{chairs}}\""),
        "{description}"
    );
    assert!(text.contains("soft \"blue\" {{chairs}}"), "{text}");
    let (description, text) = get(&mut transports, "setup-semantic-search", &json!({}));
    assert!(description.contains("[your search query]"), "{description}");
    assert!(text.contains("[your search query]"), "{text}");

    let arguments = json!({"issue_description": "it is slow"});
    let (description, text) = get(&mut transports, "diagnose-query-issue", &arguments);
    assert_eq!(description, "Diagnosing issue: it is slow");
    assert!(text.contains("it is slow"), "{text}");
    let (description, _) = get(&mut transports, "diagnose-query-issue", &json!({}));
    assert_eq!(
        description,
        "Diagnosing issue: query not working as expected"
    );

    let arguments = json!({"requirements": "a shop", "use_case": "olap"});
    let (description, olap) = get(&mut transports, "design-schema", &arguments);
    assert_eq!(
        description,
        "Database schema design for: a shop (use case: olap)"
    );
    assert!(olap.contains("a shop"), "{olap}");
    let arguments = json!({"requirements": "a shop"});
    let (description, general) = get(&mut transports, "design-schema", &arguments);
    assert_eq!(
        description,
        "Database schema design for: a shop (use case: general)"
    );
    assert_ne!(olap, general);
    let arguments = json!({"requirements": "a shop", "full_featured": "true"});
    let (_, full) = get(&mut transports, "design-schema", &arguments);
    assert_ne!(full, general);
}

#[test]
fn errors_of_a_request_are_described() {
    let mut transports = transports();
    let malformed = [
        (json!({}), "name"),
        (json!({"name": 7}), "name"),
        (
            json!({"name": "explore-database", "arguments": []}),
            "arguments",
        ),
        (
            json!({"name": "design-schema", "arguments": {"requirements": 7}}),
            "arguments",
        ),
        (
            json!({"name": "design-schema", "arguments": {"full_featured": true}}),
            "arguments",
        ),
        (
            json!({"name": "design-schema", "arguments": {"use_case": null}}),
            "arguments",
        ),
    ];
    for (params, about) in malformed {
        let error = &transports.call("prompts/get", &params)["error"];
        assert_eq!(error["code"], -32602, "{params}: {error}");
        assert_eq!(error["message"], "Invalid params", "{params}");
        let data = error["data"].as_str().expect("a text");
        assert!(data.contains(about), "{params}: {data}");
    }
    for name in ["nothing", "Explore-Database"] {
        let answer = transports.call("prompts/get", &json!({"name": name}));
        let data = format!(
            "prompt \"{name}\" not found. Available prompts: [design-schema \
             diagnose-query-issue explore-database setup-semantic-search]"
        );
        assert_eq!(
            answer["error"],
            json!({"code": -32603, "message": "Prompt execution error", "data": data})
        );
    }
}
