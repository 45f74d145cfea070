//! `platform membership`: people who belong to the account.

use crate::{
    commands::record::RecordKind,
    output::{Column, Show},
};

/// Memberships.
pub(crate) static MEMBERSHIP: RecordKind = RecordKind {
    noun: "membership",
    title: "Membership",
    plural: "memberships",
    titles: "memberships",
    columns: &[
        Column::new("id", "ID", Show::Text),
        Column::new("user_name", "USER NAME", Show::Text),
        Column::new("user_email", "USER EMAIL", Show::Text),
        Column::new("is_owner", "OWNER", Show::YesNo),
        Column::new("created_at", "CREATED", Show::Day),
    ],
    question: "Remove team member {}?",
    asks_as_typed: false,
    has_names: false,
};
