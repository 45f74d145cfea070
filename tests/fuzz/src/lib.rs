//! Checks the properties of every document and every message. The fuzz targets and a test with
//! committed inputs share these functions.

mod adopt;
mod documents;
mod mcp;
mod plans;

pub use self::{
    adopt::adopted,
    documents::{documents, docx},
    mcp::{over_http, over_stdio},
    plans::{StoredPlan, changed, passes, stored},
};
