//! The tenant of a credential, as `auth whoami` shows it.

use serde::Serialize;

use crate::output::Node;

/// Members of a report that tell the tenant.
#[derive(Serialize)]
pub(super) struct TenantReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// Present only if true.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_trial: Option<bool>,
}

// === impl TenantReport ===

impl TenantReport {
    pub(super) fn of(tenant: Option<&Node>) -> Self {
        Self {
            tenant_name: text(tenant, "name"),
            tenant_id: text(tenant, "id"),
            plan: text(tenant, "plan"),
            plan_trial: tenant.is_some_and(is_trial).then_some(true),
        }
    }

    /// Returns the lines of a view.
    pub(super) fn lines(&self) -> [(&'static str, &'static str, String); 3] {
        let plan = match (&self.plan, self.plan_trial) {
            (Some(plan), Some(true)) => format!("{plan} (trial)"),
            (plan, _) => shown(plan.as_ref()),
        };
        [
            ("tenant_name", "Tenant", shown(self.tenant_name.as_ref())),
            ("tenant_id", "Tenant ID", shown(self.tenant_id.as_ref())),
            ("plan", "Plan", plan),
        ]
    }
}

/// Returns whether a tenant is on trial.
pub(in crate::commands) fn is_trial(tenant: &Node) -> bool {
    matches!(tenant.member("plan_trial"), Some(Node::Literal(literal)) if literal == "true")
}

/// Returns a member of a record that is a text with letters.
pub(super) fn text(record: Option<&Node>, member: &str) -> Option<String> {
    let text = record?.text(member)?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the text of a line, which is empty without a value.
pub(super) fn shown(value: Option<&String>) -> String {
    value.cloned().unwrap_or_default()
}
