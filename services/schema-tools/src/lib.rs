//! Tools and resources that describe the tables of a database.
//!
//! `search_schema` finds tables by the words of a question, `get_schema_info` lists them, and
//! resources describe one table. None of them reads rows.

mod get_schema_info;
mod glossary;
mod glossary_info;
mod search_schema;
mod table_details;
mod table_info;

pub use self::{
    get_schema_info::GetSchemaInfo,
    glossary::{Glossary, GlossaryEntry},
    glossary_info::GlossaryInfo,
    search_schema::SearchSchema,
    table_info::TableInfo,
};
