//! Sets of tools, and the services that tell who callers are.

use crate::{
    Adoption, Input, Report, Surroundings,
    document::{Members, Yaml},
    name,
    report::Place,
    toolbox::Item,
    tree::Node,
    variables::{self, Filled},
};

/// The issuer of the kind `google`.
const GOOGLE: &str = "https://accounts.google.com";

/// Areas of `/api/` for a set that has everything.
const AREAS: [&str; 8] = [
    "databases",
    "schema",
    "query",
    "activity",
    "conversations",
    "library",
    "llm",
    "compact",
];

/// Names of sets that are made here.
const RESERVED: [&str; 2] = ["dba", "everything"];

/// Sets that are being read. They are made after the tools, which may turn out to have no equal here.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    /// Our tools for each tool there, without those that are not included.
    known: Vec<(String, Vec<String>)>,
    /// Tools that need a service, by its name.
    required: Vec<(String, String)>,
    asked: Vec<Asked>,
}

/// A set there.
#[derive(Debug)]
struct Asked {
    file: String,
    line: usize,
    name: String,
    tools: Vec<String>,
    /// Names of other things in it.
    others: Vec<String>,
}

/// Reads a service, which becomes an issuer of tokens.
pub(super) fn service(
    input: &Input<'_>,
    item: Item<'_>,
    surroundings: &Surroundings<'_>,
    adoption: &mut Adoption,
) {
    let place = input.place(item.node.line, item.name);
    let kind = item.kind();
    let url = match kind.as_str() {
        "google" => Some(GOOGLE.to_owned()),
        _ => item
            .node
            .find_text("issuer")
            .or(item.node.find_text("authorizationServer")),
    };
    let Some(url) = url.filter(|_| adoption.issuer.is_none()) else {
        adoption
            .report
            .missing(place, "an issuer besides the first one, or of another kind");
        return;
    };
    let audience = item
        .node
        .find_text("clientId")
        .or(item.node.find_text("audience"));
    let mut issuer = Members::default();
    issuer.set("url", url);
    let note = "the address of this server".to_owned();
    issuer.set_noted("public_url", "https://tools.example.com", Some(note));
    match audience.map(|written| variables::fill(&written, surroundings.variable)) {
        Some(Filled::Text(text) | Filled::Default(text, _)) => {
            issuer.set("audience", Yaml::from(vec![text]));
        }
        Some(Filled::Unset(name)) => {
            issuer.comment(format!("audience: [${{{name}}}]"));
            adoption
                .report
                .changed(place, format!("audience: {name} is not filled in"));
        }
        None => {}
    }
    adoption.report.changed(
        place,
        "http.auth.issuer: fill in public_url; clients send access tokens, not ID tokens",
    );
    adoption.issuer = Some(issuer);
}

// === impl Sets ===

impl Sets {
    /// Notes the service that a tool needs. Returns a sentence about it.
    pub(super) fn required(&mut self, item: Item<'_>) -> Vec<String> {
        let services = item.node.find("authRequired").map(Node::texts);
        let Some(service) = services.and_then(|it| it.into_iter().next()) else {
            return Vec::new();
        };
        let name = name::ours(&service).unwrap_or_else(|| service.clone());
        let what = format!("authRequired: in the toolset for_{name}: fill in its callers");
        self.required.push((item.name.to_owned(), service));
        vec![what]
    }

    pub(super) fn know(&mut self, original: &str, ours: &[&str], writes: bool) {
        // A set cannot name a tool that is not included.
        let ours = ours.iter().filter(|_| !writes).map(|&it| it.to_owned());
        self.known.push((original.to_owned(), ours.collect()));
    }

    /// Reads a set: a list of names, or a document with such a list.
    pub(super) fn add(&mut self, input: &Input<'_>, item: Item<'_>) {
        let others = ["prompts", "resources", "resourceTemplates"];
        let others = others.iter().filter_map(|key| item.node.find(key));
        self.asked.push(Asked {
            file: input.name.to_owned(),
            line: item.node.line,
            name: item.name.to_owned(),
            tools: item.node.find("tools").unwrap_or(item.node).texts(),
            others: others.flat_map(Node::texts).collect(),
        });
    }

    /// Makes the tools of a set, and reports what it lacks.
    fn tools(&self, asked: &Asked, own: &str, report: &mut Report) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        let mut lacks: Vec<_> = asked.others.iter().map(String::as_str).collect();
        for name in &asked.tools {
            let is_free = !self.required.iter().any(|(tool, _)| tool == name);
            match self.known.iter().find(|(known, _)| known == name) {
                Some((_, ours)) if is_free && !ours.is_empty() => {
                    let new = ours.iter().filter(|it| !tools.contains(it));
                    let new: Vec<_> = new.cloned().collect();
                    tools.extend(new);
                }
                _ => lacks.push(name),
            }
        }
        let place = Place {
            file: &asked.file,
            line: asked.line,
            name: &asked.name,
        };
        if lacks.is_empty() {
            report.same(place, format!("toolset {own}, at /mcp/x/{own}"));
        } else {
            let lacks = lacks.join(", ");
            report.changed(place, format!("toolset {own} without {lacks}"));
        }
        tools
    }

    /// Makes the sets without the tools that have no equal here. All callers see everything that needs
    /// no service.
    pub(crate) fn finish(mut self, unfit: &[String], adoption: &mut Adoption) {
        if self.asked.is_empty() && self.required.is_empty() {
            return;
        }
        for (_, ours) in &mut self.known {
            ours.retain(|it| !unfit.contains(it));
        }
        let mut sets: Vec<(String, Vec<String>)> = Vec::new();
        for asked in &self.asked {
            let mut own = name::ours(&asked.name).unwrap_or_else(|| "set".to_owned());
            let is_taken = |name: &str| sets.iter().any(|(known, _)| known == name);
            while RESERVED.contains(&&*own) || is_taken(&own) {
                own.push_str("_set");
            }
            let tools = self.tools(asked, &own, &mut adoption.report);
            sets.push((own, tools));
        }
        let mut needy: Vec<(String, Vec<String>)> = Vec::new();
        for (tool, service) in &self.required {
            let ours = self.known.iter().find(|(known, _)| known == tool);
            let ours = ours.map(|(_, ours)| ours.clone()).unwrap_or_default();
            match needy.iter_mut().find(|(known, _)| known == service) {
                Some((_, tools)) => tools.extend(ours),
                None => needy.push((service.clone(), ours)),
            }
        }
        let is_needy = |name: &String| needy.iter().any(|(_, tools)| tools.contains(name));
        let free = self.known.iter().flat_map(|(_, ours)| ours.iter());
        let mut free: Vec<_> = free.filter(|it| !is_needy(it)).cloned().collect();
        free.sort();
        free.dedup();
        let mut everything = set(
            "everything",
            if needy.is_empty() {
                vec!["*".into()]
            } else {
                free
            },
        );
        everything.set("resources", vec!["*".to_owned()]);
        everything.set("prompts", vec!["*".to_owned()]);
        everything.set("rest", AREAS.map(str::to_owned).to_vec());
        everything.set("for", all_callers());
        adoption.toolsets.push(everything);
        for (name, tools) in sets {
            let mut members = set(&name, tools);
            members.set("for", all_callers());
            adoption.toolsets.push(members);
        }
        for (service, tools) in needy {
            let name = name::ours(&service).unwrap_or(service);
            let mut members = set(&format!("for_{name}"), tools);
            // Without callers, a set is only for API tokens that name it.
            members.comment("for: the callers: users, clients, scopes, tokens");
            adoption.toolsets.push(members);
        }
    }
}

fn set(name: &str, tools: Vec<String>) -> Members {
    let mut members = Members::default();
    members.set("name", name);
    members.set("tools", tools);
    members
}

fn all_callers() -> Members {
    let mut callers = Members::default();
    callers.set("everyone", true);
    callers
}
