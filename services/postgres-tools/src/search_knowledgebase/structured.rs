//! The structured answer.

use serde::Serialize;
use ziggurat_knowledge::{Passage, Product};
use ziggurat_mcp::{Property, Schema, Structure};

/// Contains either products or passages.
#[derive(Default, Serialize)]
struct StructuredAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    products: Option<Vec<StructuredProduct<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passages: Option<Vec<StructuredPassage<'a>>>,
}

#[derive(Serialize)]
struct StructuredProduct<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    chunks: u64,
}

#[derive(Serialize)]
struct StructuredPassage<'a> {
    project: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<&'a str>,
    similarity: f64,
    text: &'a str,
}

pub(super) fn schema() -> Schema {
    let version = || Property::string("The version, if it has one.");
    let chunks = Property::integer("The number of passages about it.").with_minimum(0);
    let product = Schema::new()
        .with_required("name", Property::string("The name of the product."))
        .with_optional("version", version())
        .with_required("chunks", chunks);
    let passage = Schema::new()
        .with_required("project", Property::string("The product it is about."))
        .with_optional("version", version())
        .with_optional("title", Property::string("The title of the document."))
        .with_optional(
            "section",
            Property::string("The headings above the passage."),
        )
        .with_required(
            "similarity",
            Property::number("The similarity to the question; 1 is the closest."),
        )
        .with_required("text", Property::string("The passage."));
    Schema::new()
        .with_optional(
            "products",
            Property::objects("The products, if list_products is true.", product),
        )
        .with_optional(
            "passages",
            Property::objects("The passages that were found, closest first.", passage),
        )
}

/// Makes the structure for products.
pub(super) fn products(products: &[Product]) -> Structure {
    let products = products.iter().map(|product| StructuredProduct {
        name: &product.name,
        version: &product.version,
        chunks: product.chunks,
    });
    write(&StructuredAnswer {
        products: Some(products.collect()),
        ..StructuredAnswer::default()
    })
}

/// Makes the structure for passages.
pub(super) fn passages(found: &[Passage]) -> Structure {
    fn some(text: Option<&String>) -> Option<&str> {
        text.map(String::as_str).filter(|text| !text.is_empty())
    }

    let passages = found.iter().map(|passage| StructuredPassage {
        project: &passage.project,
        version: &passage.version,
        title: some(passage.title.as_ref()),
        section: some(passage.section.as_ref()),
        similarity: passage.similarity,
        text: &passage.text,
    });
    write(&StructuredAnswer {
        passages: Some(passages.collect()),
        ..StructuredAnswer::default()
    })
}

fn write(found: &StructuredAnswer<'_>) -> Structure {
    Structure::new(found).expect("texts and numbers are JSON")
}
