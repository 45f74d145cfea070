//! The findings as SARIF 2.1.0, for services that show them beside the code.

use serde_json::{Value, json};

use crate::{
    canary::Seed,
    report::{Finding, Place, Report},
    rule::{Level, Rule},
};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Rule of the objects without rows of B.
const INCONCLUSIVE: &str = "inconclusive";

/// Writes a report of a program of this name and version.
#[must_use]
pub fn document(report: &Report, program: &str, version: &str) -> Value {
    let mut rules: Vec<(String, Level, &str)> = Vec::new();
    for finding in &report.findings {
        let (name, level) = (finding.rule.name(), finding.rule.level());
        if !rules.iter().any(|it| it.0 == name) {
            let about = match &finding.rule {
                Rule::Policy(_) => "a weakness of row security in the schema",
                rule => rule.sentence(),
            };
            rules.push((name.to_owned(), level, about));
        }
    }
    if !report.inconclusive.is_empty() {
        let about = "no canary of B could be planted";
        rules.push((INCONCLUSIVE.to_owned(), Level::Note, about));
    }
    rules.sort_by(|one, two| one.0.cmp(&two.0));
    let index = |name: &str| rules.iter().position(|it| it.0 == name).unwrap_or_default();
    let findings = report
        .findings
        .iter()
        .map(|it| of_finding(it, index(it.rule.name())));
    let others = report.inconclusive.iter().map(|(place, reason)| {
        result(
            INCONCLUSIVE,
            index(INCONCLUSIVE),
            Level::Note,
            reason,
            place,
            "",
        )
    });
    let results: Vec<_> = findings.chain(others).collect();
    let described: Vec<_> = rules.iter().map(described).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": program,
                "version": version,
                "rules": described,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn described((name, level, about): &(String, Level, &str)) -> Value {
    json!({
        "id": name,
        "shortDescription": {"text": about},
        "defaultConfiguration": {"level": level.to_string()},
    })
}

fn of_finding(finding: &Finding, index: usize) -> Value {
    let (entrance, text) = match &finding.case {
        Some((entrance, number)) => (
            &**entrance,
            format!("{} ({entrance}, case {number})", finding.text),
        ),
        None => ("", finding.text.clone()),
    };
    let (rule, level) = (finding.rule.name(), finding.rule.level());
    result(rule, index, level, &text, &finding.place, entrance)
}

fn result(
    rule: &str,
    index: usize,
    level: Level,
    text: &str,
    place: &Place,
    entrance: &str,
) -> Value {
    let (kind, name) = match &place.object {
        Some((schema, name)) => ("object", format!("{schema}.{name}")),
        None => ("namespace", place.database.clone()),
    };
    json!({
        "ruleId": rule,
        "ruleIndex": index,
        "level": level.to_string(),
        "message": {"text": format!("{place}: {text}")},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": file(place)},
                "region": {"startLine": 1},
            },
            "logicalLocations": [{"name": name, "fullyQualifiedName": place.to_string(), "kind": kind}],
        }],
        "partialFingerprints": {"ziggurat/v1": fingerprint(rule, place, entrance)},
    })
}

/// Returns a path for services that show findings in files only.
fn file(place: &Place) -> String {
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || "._-".contains(*it);
    let plain = |text: &str| {
        let letters = text.chars().map(|it| if is_plain(&it) { it } else { '_' });
        letters.collect::<String>()
    };
    match &place.object {
        Some((schema, name)) => {
            format!(
                "pg/{}/{}/{}.sql",
                plain(&place.database),
                plain(schema),
                plain(name)
            )
        }
        None => format!("pg/{}.sql", plain(&place.database)),
    }
}

/// Returns digits that stay the same as long as the rule, the object and the way in do.
fn fingerprint(rule: &str, place: &Place, entrance: &str) -> String {
    let mut seed = Seed::of(&format!("{rule}\n{place}\n{entrance}"));
    format!("{:016x}{:016x}", seed.next(), seed.next())
}
