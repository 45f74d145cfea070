//! The structured answer.

use serde::Serialize;
use ziggurat_mcp::{Property, Schema, Structure};

use crate::execute_explain::{findings::Findings, plan::Plan};

/// A plan and its findings.
#[derive(Serialize)]
pub(super) struct Explained<'a> {
    pub(super) database: &'a str,
    pub(super) query: &'a str,
    pub(super) plan: &'a str,
    #[serde(flatten)]
    pub(super) findings: &'a Findings,
    /// The steps of a plan as text, if the client asked for this structure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nodes: Option<Vec<PlanNode<'a>>>,
}

/// A step of a plan.
#[derive(Serialize)]
pub(super) struct PlanNode<'a> {
    /// The position of the step above.
    parent: Option<usize>,
    label: &'a str,
    rows_planned: Option<f64>,
    rows: Option<f64>,
    loops: Option<f64>,
    ms: Option<f64>,
    /// The time without the steps below.
    own_ms: Option<f64>,
    hit: u64,
    read: u64,
    batches: Option<u64>,
    sorted_on_disk: bool,
    /// Positions in `issues`.
    findings: Vec<usize>,
}

// === impl PlanNode ===

impl<'a> PlanNode<'a> {
    /// Describes the steps of a plan as text.
    pub(super) fn all(plan: &'a str, findings: &Findings) -> Vec<Self> {
        let plan = Plan::read(plan);
        let mut own: Vec<f64> = plan.nodes.iter().map(|node| node.milliseconds).collect();
        for node in &plan.nodes {
            if let Some(parent) = node.parent {
                own[parent] -= node.milliseconds;
            }
        }
        let nodes = plan.nodes.iter().zip(own).enumerate();
        let nodes = nodes.map(|(at, (node, own))| {
            let is_measured = node.rows.is_some();
            Self {
                parent: node.parent,
                label: node.label,
                rows_planned: node.rows_planned,
                rows: node.rows,
                loops: node.runs,
                ms: is_measured.then(|| rounded(node.milliseconds)),
                own_ms: is_measured.then(|| rounded(own.max(0.0))),
                hit: node.blocks.hit,
                read: node.blocks.read,
                batches: Some(node.batches).filter(|batches| *batches > 0),
                sorted_on_disk: node.sorted_on_disk,
                findings: findings.of_node(at),
            }
        });
        nodes.collect()
    }
}

/// Returns milliseconds with three digits behind the point.
fn rounded(milliseconds: f64) -> f64 {
    (milliseconds * 1e3).round() / 1e3
}

// === impl Explained ===

impl Explained<'_> {
    pub(super) fn schema() -> Schema {
        let plan = Property::string("The plan, as PostgreSQL writes it: as text or as JSON.");
        let issues = Property::strings("The findings about slow steps; empty for a plan in JSON.");
        Schema::new()
            .with_required("database", Property::string("The database of the plan."))
            .with_required("query", Property::string("The query."))
            .with_required("plan", plan)
            .with_required("issues", issues)
            .with_required(
                "recommendations",
                Property::strings("The advice for each finding."),
            )
    }

    pub(super) fn structure(&self) -> Structure {
        Structure::new(self).expect("texts are JSON")
    }
}
