//! The handbook of the shop: short texts, and a vector for each.

use std::fmt::Write as _;

use sqlx::PgConnection;
use ziggurat_llm::Embedder;

/// Sections, articles and their texts, one per line.
pub(super) const TEXT: &str = include_str!("handbook.md");

/// An article of the handbook.
#[derive(Debug)]
struct Article {
    section: &'static str,
    title: &'static str,
    text: &'static str,
}

/// Fills the table `handbook`.
pub(super) async fn fill(connection: &mut PgConnection) -> sqlx::Result<()> {
    let embedder = Embedder::local();
    let (mut sections, mut titles, mut texts, mut vectors) = (vec![], vec![], vec![], vec![]);
    for Article {
        section,
        title,
        text,
    } in articles()
    {
        vectors.push(written(
            &vector(&embedder, &format!("{title}. {text}")).await?,
        ));
        sections.push(section);
        titles.push(title);
        texts.push(text);
    }
    sqlx::query(
        "INSERT INTO handbook (section, title, body, embedding)
         SELECT section, title, body, vector::vector
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
              AS a (section, title, body, vector)",
    )
    .bind(sections)
    .bind(titles)
    .bind(texts)
    .bind(vectors)
    .execute(connection)
    .await?;
    Ok(())
}

/// Splits the text into sections, each with its name, and its text from the name on.
pub(super) fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = TEXT.strip_prefix("# ").unwrap_or(TEXT).split("\n# ");
    sections.map(|section| (section.lines().next().unwrap_or_default(), section))
}

/// Splits the text into articles.
fn articles() -> Vec<Article> {
    let (mut section, mut title) = ("", "");
    let mut articles = Vec::new();
    for line in TEXT.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix("# ") {
            section = name;
        } else if let Some(name) = line.strip_prefix("## ") {
            title = name;
        } else {
            articles.push(Article {
                section,
                title,
                text: line,
            });
        }
    }
    articles
}

async fn vector(embedder: &Embedder, text: &str) -> sqlx::Result<Vec<f32>> {
    let embedding = embedder.embed(text).await;
    let embedding = embedding.map_err(|error| sqlx::Error::Encode(error.into()))?;
    Ok(embedding.vector)
}

/// A vector in the syntax of pgvector.
fn written(vector: &[f32]) -> String {
    let mut text = String::from("[");
    for (at, value) in vector.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{value}");
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_article_has_a_section_a_title_and_one_text() {
        let articles = articles();
        assert_eq!(articles.len(), TEXT.matches("\n## ").count());
        for article in &articles {
            let Article {
                section,
                title,
                text,
            } = article;
            assert!(!section.is_empty() && !title.is_empty(), "{article:?}");
            assert!((60..400).contains(&text.len()), "{title}");
        }
    }

    #[tokio::test]
    async fn a_question_finds_its_article() {
        let embedder = Embedder::local();
        let mut vectors = Vec::new();
        for Article { title, text, .. } in articles() {
            let vector = vector(&embedder, &format!("{title}. {text}")).await;
            vectors.push((title, vector.expect("a vector")));
        }
        for (question, expected) in [
            (
                "what to do with terracotta pots in frost",
                "Terracotta and frost",
            ),
            ("my parcel was broken when it arrived", "Damaged on arrival"),
            ("how do I clean a cast iron pan", "Cleaning a cast-iron pan"),
            ("when is the counter open", "Opening hours"),
            ("how much does delivery cost", "What delivery costs"),
        ] {
            let asked = vector(&embedder, question).await.expect("a vector");
            let closeness = |(_, vector): &(&str, Vec<f32>)| -> f32 {
                asked.iter().zip(vector).map(|(a, b)| a * b).sum()
            };
            let best = vectors
                .iter()
                .max_by(|a, b| closeness(a).total_cmp(&closeness(b)))
                .expect("a handbook");
            assert_eq!(best.0, expected, "{question}");
        }
    }
}
