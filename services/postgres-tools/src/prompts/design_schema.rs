//! `design-schema`: designs tables from requirements.

use ziggurat_mcp::{
    PromptArgument, PromptArguments, PromptDescriptor, PromptHandler, Rendered, Template,
};

const REQUIREMENTS: &str = "requirements";
const USE_CASE: &str = "use_case";
const FULL_FEATURED: &str = "full_featured";

const PLACEHOLDER: &str = "[your requirements]";
const GENERAL: &str = "general";

const TEXT: &str = "\
Design a PostgreSQL schema for these requirements:

{{requirements}}

Use case: {{use_case}}

{{scope}}

1. Research. Call get_schema_info once. If the database already has tables, follow their naming, \
their key types and their conventions, and reuse what fits instead of designing it again. If a \
documentation search is available, look up what you are not sure of; otherwise mark it as an \
assumption.
2. Entities. List the things the requirements speak of, what identifies each, and how they relate \
(one to one, one to many, many to many). Put every question the requirements leave open into a \
list and answer it with the simplest assumption.
3. Data types. text rather than varchar(n) unless a limit is part of the requirements; timestamptz \
rather than timestamp; numeric for money; uuid or bigint identity columns for keys, one of them \
throughout; jsonb only for what has no fixed shape; boolean rather than a flag of one letter; \
vector for embeddings, with the dimensions of the model that makes them.
4. Normalisation. {{normalisation}}
5. Indexes. {{indexes}} Every foreign key that is joined or cascaded over gets one, for PostgreSQL \
does not create it. Name the query each index serves; without one, leave the index out.
6. Extensions. Name only those the design needs, such as vector for embeddings or pg_trgm for \
similar spellings, and say what would be lost without each.
7. Constraints. NOT NULL wherever a value always exists, UNIQUE for every natural key, CHECK for \
the rules of a single row, foreign keys with a deliberate ON DELETE. A rule kept only by the \
application is not kept.
8. Avoid: entity-attribute-value tables, lists in a text column, several references in one column \
with a type beside it, the same fact in two tables without a reason, a table per customer or per \
month written by hand, names that need quotes, and triggers where a constraint would do.

Answer in this form:
   - the assumptions, one line each;
   - the entities and their relations, as a short list;
   - the complete DDL in one SQL block, in an order in which it runs, with COMMENT ON for every \
table and for each column whose name does not explain itself;
   - the indexes, each with the query it serves;
   - two or three example queries that show that the requirements are met;
   - what was left out on purpose, and when to add it.

Do not execute the DDL: show it to me first.
";

const MINIMAL: &str = "\
Keep it strictly minimal: only the tables and columns the requirements name or cannot do without. \
No audit columns, no soft deletion, no tags, settings or history that they do not name. When in \
doubt, leave it out and list it at the end.";

const COMPREHENSIVE: &str = "\
Make it comprehensive: a design for production that also covers what such a system needs sooner \
or later, such as created and updated times, history where changes matter, roles and permissions, \
and room for growth. Keep what the requirements name apart from what you add, so that I can drop \
the latter.";

/// The requirements of a use case for the design.
struct UseCase {
    name: &'static str,
    normalisation: &'static str,
    indexes: &'static str,
}

const USE_CASES: [UseCase; 4] = [
    UseCase {
        name: "oltp",
        normalisation: "Third normal form: many small transactions write here, and each fact \
            must be changed in one place only. Denormalise nothing without a measured reason.",
        indexes: "Few and narrow ones, since every write pays for each; partial indexes for \
            states that are rare and often asked for.",
    },
    UseCase {
        name: "olap",
        normalisation: "A star: fact tables with one row per event at a stated grain, and \
            dimension tables around them. Repeating a label in a dimension is fine; a chain of \
            joins is not. Partition large fact tables by time.",
        indexes: "BRIN on columns that grow with time, B-tree on the keys of the dimensions; \
            materialised views for the totals that are asked for every day.",
    },
    UseCase {
        name: "hybrid",
        normalisation: "Third normal form for what is written all day, and materialised views or \
            summary tables for what is reported from it. Say how fresh the reports have to be \
            and how they are refreshed.",
        indexes: "Narrow ones on the tables that are written, generous ones on the summaries; \
            keep the two apart.",
    },
    UseCase {
        name: GENERAL,
        normalisation: "Third normal form as the starting point. Depart from it only where a \
            query of the requirements gets markedly simpler, and say where.",
        indexes: "What the queries in the requirements filter, join and sort by.",
    },
];

/// Guides a model through the design of a schema.
#[derive(Clone, Copy, Debug, Default)]
pub struct DesignSchema;

// === impl DesignSchema ===

impl PromptHandler for DesignSchema {
    fn describe(&self) -> PromptDescriptor {
        PromptDescriptor::new(
            "design-schema",
            "Designs a PostgreSQL schema from requirements: entities, types, constraints, \
             indexes and complete DDL.",
        )
        .with_title("Design a schema")
        .with_argument(PromptArgument::required(
            REQUIREMENTS,
            "The data that the application stores, and its queries.",
        ))
        .with_argument(
            PromptArgument::optional(USE_CASE, "oltp, olap, hybrid or general; default: general.")
                .with_choices(&["general", "oltp", "olap", "hybrid"]),
        )
        .with_argument(
            PromptArgument::optional(
                FULL_FEATURED,
                "true for a comprehensive design; default: strictly minimal.",
            )
            .boolean(),
        )
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        let requirements = arguments.text(REQUIREMENTS).unwrap_or(PLACEHOLDER);
        let use_case = UseCase::named(arguments.text(USE_CASE).unwrap_or(GENERAL));
        let scope = if arguments.is_true(FULL_FEATURED) {
            COMPREHENSIVE
        } else {
            MINIMAL
        };
        let text = Template::new(TEXT).fill(|name| match name {
            REQUIREMENTS => Some(requirements),
            USE_CASE => Some(use_case.name),
            "scope" => Some(scope),
            "normalisation" => Some(use_case.normalisation),
            "indexes" => Some(use_case.indexes),
            _ => None,
        });
        let name = use_case.name;
        let about = format!("Database schema design for: {requirements} (use case: {name})");
        Rendered::new(about).with_user_text(text)
    }
}

// === impl UseCase ===

impl UseCase {
    /// Returns the use case of this name; an unknown name gets the general one.
    fn named(name: &str) -> &'static Self {
        let [.., general] = &USE_CASES;
        let is_meant = |case: &&Self| case.name.eq_ignore_ascii_case(name.trim());
        USE_CASES.iter().find(is_meant).unwrap_or(general)
    }
}
