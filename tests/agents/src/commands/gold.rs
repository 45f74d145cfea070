//! Runs the statements of the corpus.

use ziggurat_local_pg::LocalPg;

use super::with_each;

/// Runs all statements as the server would. Returns the problems.
pub(crate) async fn gold(pg: &LocalPg) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    with_each(pg, async |database, running, asked| {
        let mut reader = running.connect_as_reader().await?;
        for (question, _) in &asked {
            if let Err(error) = question.check(&mut reader).await {
                problems.push(format!("{}: {error:#}", database.name));
            }
        }
        Ok(())
    })
    .await?;
    Ok(problems)
}
