//! Parameters of tools.

use crate::{
    document::{Members, Yaml},
    name,
    tool::{Unfit, types::Typed},
    tree::{Node, Value},
};

/// Limit on the characters of a description.
const MAX_DESCRIPTION: usize = 500;

/// Characters that make a text an expression.
const OF_EXPRESSIONS: [char; 14] = [
    '.', '*', '+', '?', '(', ')', '[', ']', '{', '}', '|', '^', '$', '\\',
];

/// A parameter of a tool of another server.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) original: String,
    pub(crate) name: String,
    description: String,
    pub(crate) declared: Declared,
    default: Option<Node>,
    is_required: bool,
    pub(crate) allowed: Vec<String>,
    pub(crate) pattern: Option<String>,
    min: Option<String>,
    max: Option<String>,
    is_sensitive: bool,
    /// The claim that fills it.
    claim: Option<String>,
    /// True if it is a name in the statement.
    pub(crate) is_identifier: bool,
}

/// Types of other servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    Text,
    Integer,
    Float,
    Boolean,
    Map,
    List(Box<Declared>),
}

// === impl Declared ===

impl Declared {
    fn read(node: &Node) -> Self {
        match node.find_text("type").as_deref() {
            Some("integer" | "int") => Self::Integer,
            Some("float" | "number") => Self::Float,
            Some("boolean" | "bool") => Self::Boolean,
            Some("map" | "object" | "json") => Self::Map,
            Some("array" | "list") => {
                let items = node.find("items").map(Self::read);
                Self::List(Box::new(items.unwrap_or(Self::Text)))
            }
            _ => Self::Text,
        }
    }
}

// === impl Parameter ===

impl Parameter {
    /// Reads the list of a tool under a key.
    pub(crate) fn read_all(
        tool: &Node,
        key: &str,
        changes: &mut Vec<String>,
    ) -> Result<Vec<Self>, Unfit> {
        let list = tool.find(key).map(Node::list).unwrap_or_default().iter();
        list.map(|it| Self::read(it, changes)).collect()
    }

    /// Reads the entry of a parameter. Sentences about differences are added to `changes`.
    fn read(node: &Node, changes: &mut Vec<String>) -> Result<Self, Unfit> {
        let original = node.find_text("name").unwrap_or_default();
        let unfit = |key| Unfit::Key(original.clone(), key);
        let name = name::ours(&original).ok_or_else(|| unfit("its name"))?;
        if name != original {
            changes.push(format!("parameter {original} is {name} here"));
        }
        if node.find("excludedValues").is_some() {
            return Err(unfit("excludedValues"));
        }
        let mut parameter = Self {
            description: node.find_text("description").unwrap_or_default(),
            declared: Declared::read(node),
            default: node.find("default").cloned(),
            is_required: node.find_bool("required").unwrap_or(true),
            allowed: Vec::new(),
            pattern: None,
            min: node.find_text("minValue"),
            max: node.find_text("maxValue"),
            is_sensitive: node.find_bool("secure").unwrap_or(false),
            claim: claim(node),
            is_identifier: false,
            original: original.clone(),
            name,
        };
        if let Some((end, _)) = parameter.description.char_indices().nth(MAX_DESCRIPTION) {
            parameter.description.truncate(end);
            changes.push(format!("parameter {original}: the description is cut"));
        }
        if parameter.claim.is_some() {
            let claim = parameter.claim.as_deref().unwrap_or_default();
            changes.push(format!(
                "parameter {original}: from the claim {claim} of the caller"
            ));
        }
        if node.find("valueType").is_some() {
            changes.push(format!(
                "parameter {original}: the values of the map are not checked"
            ));
        }
        let allowed = node.find("allowedValues").or(node.find("allowed_values"));
        parameter.allow(allowed.map(Node::texts).unwrap_or_default(), changes)?;
        let is_number = matches!(parameter.declared, Declared::Integer | Declared::Float);
        if (parameter.min.is_some() || parameter.max.is_some()) && !is_number {
            return Err(unfit("minValue"));
        }
        Ok(parameter)
    }

    /// Takes the allowed values: as a list, or as an expression if one of them is one.
    fn allow(&mut self, values: Vec<String>, changes: &mut Vec<String>) -> Result<(), Unfit> {
        let of_items = match &self.declared {
            Declared::List(items) => items,
            declared => declared,
        };
        if values.is_empty() {
            return Ok(());
        }
        match of_items {
            Declared::Text if values.iter().any(|it| it.contains(OF_EXPRESSIONS)) => {
                changes.push(format!(
                    "parameter {}: allowedValues is a pattern for the whole value",
                    self.original
                ));
                let each: Vec<_> = values.iter().map(|it| format!("(?:{it})")).collect();
                self.pattern = Some(each.join("|"));
            }
            Declared::Text | Declared::Integer => self.allowed = values,
            _ => return Err(Unfit::Key(self.original.clone(), "allowedValues")),
        }
        Ok(())
    }

    /// Returns the definition of a name.
    pub(crate) fn identifier(&self) -> Members {
        let mut members = self.start("identifier");
        members.set("allowed", self.allowed.clone());
        let default = self.default.as_ref().and_then(Node::text);
        members.set_if("default", default.filter(|it| self.allowed.contains(it)));
        members
    }

    /// Returns the definition of a value.
    pub(super) fn value(&self, typed: &Typed) -> Result<Members, Unfit> {
        let mut members = self.start(typed.kind);
        let mut rules = Members::default();
        let scalar = typed.items.unwrap_or(typed.kind);
        if !self.allowed.is_empty() && self.claim.is_none() {
            let plain = |it: &String| Yaml::Plain(it.clone());
            rules.set(
                "allowed",
                match scalar {
                    "integer" => Yaml::Row(self.allowed.iter().map(plain).collect()),
                    _ => self.allowed.clone().into(),
                },
            );
        }
        rules.set_if("pattern", self.pattern.clone());
        if matches!(scalar, "integer" | "number") {
            rules.set_if("min", self.min.clone().map(Yaml::Plain));
            rules.set_if("max", self.max.clone().map(Yaml::Plain));
        }
        if let Some(item) = typed.items {
            let mut items = Members::default();
            items.set("type", item);
            items.extend(&rules);
            members.set("items", items);
        } else {
            members.extend(&rules);
        }
        if self.is_sensitive {
            members.set("sensitive", true);
        }
        match (&self.claim, &self.default) {
            (Some(claim), _) => {
                let mut from = Members::default();
                from.set("claim", claim.as_str());
                members.set("from", from);
            }
            (None, Some(default)) => {
                let default = value(default, typed.kind, typed.items);
                let wrong = || Unfit::Default(self.original.clone());
                members.set("default", default.ok_or_else(wrong)?);
            }
            (None, None) if !self.is_required => members.set("required", false),
            (None, None) => {}
        }
        Ok(members)
    }

    fn start(&self, kind: &str) -> Members {
        let mut members = Members::default();
        members.set("name", self.name.as_str());
        members.set("type", kind);
        if !self.description.is_empty() {
            members.set("description", self.description.as_str());
        }
        members
    }
}

/// Returns the claim of the first service that fills a parameter.
fn claim(node: &Node) -> Option<String> {
    let services = node.find("authServices").or(node.find("authSources"))?;
    services.list().first()?.find_text("field")
}

/// Writes a default as a value of a type.
fn value(node: &Node, kind: &str, items: Option<&str>) -> Option<Yaml> {
    let text = || node.text();
    match (kind, &node.value) {
        ("array", Value::List(list)) => {
            let item = items.unwrap_or("string");
            let values = list.iter().map(|it| value(it, item, None));
            values.collect::<Option<_>>().map(Yaml::Row)
        }
        ("integer", _) => text()
            .filter(|it| it.parse::<i64>().is_ok())
            .map(Yaml::Plain),
        ("number", _) => text()
            .filter(|it| it.parse::<f64>().is_ok())
            .map(Yaml::Plain),
        ("boolean", Value::Boolean(value)) => Some((*value).into()),
        ("array" | "json" | "boolean", _) => None,
        _ => text().map(Yaml::Text),
    }
}
