//! Determines which tools, resources, prompts and areas of the REST API a caller sees.
//!
//! An operator puts names into [`Toolsets`], and says which callers each set is for. A caller has the
//! union of its sets and nothing else; its [`View`] is made once per call. The crate knows no protocol
//! and no accounts: the program says who calls, and asks the view before it looks a name up.
//!
//! ```
//! use std::sync::Arc;
//! use ziggurat_calls::toolsets::{Area, Narrowing, Offered, Toolsets, View};
//! use ziggurat_tokens::CallerId;
//! use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("server.yaml");
//! std::fs::write(
//!     &path,
//!     "toolsets:
//!      - name: analyst
//!        tools: [query_database, 'orders_*']
//!        resources: ['pg://shop/*']
//!        rest: [databases]
//!        for: {users: [alice]}",
//! )?;
//! let (sources, flags) = (ConfigSources::default(), Flags::default());
//! let input = Input::new(&sources, &flags);
//! let loaded = input.load(Some(&path), |file| Toolsets::read(file, &[]))?;
//! let toolsets = Arc::new(loaded.value.ok_or("toolsets")?);
//!
//! let offered = Offered {
//!     tools: vec!["query_database", "orders_by_day"],
//!     ..Offered::default()
//! };
//! let found = toolsets.check(&offered);
//! assert!(found.problems.is_empty());
//! assert_eq!(found.warnings, ["toolsets: 'analyst': no resource fits pg://shop/*"]);
//!
//! let alice = CallerId::User("alice");
//! let view: View = toolsets.view(&alice, None);
//! assert!(view.has_tool("orders_by_day") && view.names_tool("query_database"));
//! assert!(!view.has_tool("count_rows") && !view.names_tool("orders_by_day"));
//! assert!(view.has_resource("pg://shop/public/orders"));
//! assert!(view.has_template("pg://{database}/{schema}") && view.has_area(Area::Databases));
//! assert!(!toolsets.view(&CallerId::User("bob"), None).has_tool("query_database"));
//!
//! let narrowing = Narrowing::new(None, Some("tools=orders_*")).map_err(|_| "too many")?;
//! let narrow = toolsets.view(&alice, narrowing.as_ref());
//! assert!(narrow.has_tool("orders_by_day") && !narrow.has_tool("query_database"));
//! assert!(toolsets.are_open_to(&alice, "analyst") && !toolsets.are_open_to(&alice, "admin"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Names
//!
//! A `*` at the end of a name stands for any end. A resource is compared by its URI as it was
//! written. A resource template is seen if one of its resources may be.

mod narrowing;
mod patterns;
mod sets;
#[cfg(test)]
mod tests;
mod toolset;
mod view;

pub use self::{
    narrowing::{Narrowing, TooManyNames},
    sets::{Found, Offered, Toolsets},
    toolset::Area,
    view::View,
};
