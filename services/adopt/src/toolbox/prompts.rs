//! Prompts.

use crate::{Adoption, Input, document::Members, toolbox::Item, tree::Node};

/// Reads a prompt.
pub(super) fn read(input: &Input<'_>, item: Item<'_>, adoption: &mut Adoption) {
    let place = input.place(item.node.line, item.name);
    let kind = item.kind();
    if !matches!(kind.as_str(), "" | "custom") {
        adoption
            .report
            .missing(place, "a prompt of a kind that is not known here");
        return;
    }
    if adoption.taken_prompts.iter().any(|it| it == item.name) {
        adoption.report.missing(place, "the name is taken");
        return;
    }
    adoption.taken_prompts.push(item.name.to_owned());
    let list = |key: &str| item.node.find(key).map(Node::list).unwrap_or_default();
    let names: Vec<_> = list("arguments")
        .iter()
        .filter_map(|it| it.find_text("name"))
        .collect();
    let mut prompt = Members::default();
    prompt.set("name", item.name);
    prompt.set_if("description", item.node.find_text("description"));
    let arguments: Vec<_> = list("arguments").iter().map(argument).collect();
    if !arguments.is_empty() {
        prompt.set("arguments", arguments);
    }
    let messages: Vec<_> = list("messages")
        .iter()
        .map(|it| message(it, &names))
        .collect();
    prompt.set("messages", messages);
    adoption.prompts.push(prompt);
    adoption.report.same(place, format!("prompt {}", item.name));
}

fn argument(node: &Node) -> Members {
    let mut argument = Members::default();
    argument.set("name", node.find_text("name").unwrap_or_default());
    argument.set_if("description", node.find_text("description"));
    let is_optional = node.find("default").is_some() || node.find_bool("required") == Some(false);
    if !is_optional {
        argument.set("required", true);
    }
    argument
}

fn message(node: &Node, names: &[String]) -> Members {
    let mut text = node.find_text("content").unwrap_or_default();
    for name in names {
        for place in [format!("{{{{.{name}}}}}"), format!("{{{{ .{name} }}}}")] {
            text = text.replace(&place, &format!("{{{{{name}}}}}"));
        }
    }
    let mut content = Members::default();
    content.set("type", "text");
    content.set("text", text);
    let mut message = Members::default();
    message.set(
        "role",
        node.find_text("role").unwrap_or_else(|| "user".to_owned()),
    );
    message.set("content", content);
    message
}
