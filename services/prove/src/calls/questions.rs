//! Questions to the pipelines of `ziggurat-rag`.

use crate::{
    calls::{
        case::{Case, Known},
        pipeline::{Pipeline, unquoted},
        request::{Request, has_failed},
    },
    canary::Canaries,
    party::Side,
    planting::text_of,
    report::Place,
    rule::Rule,
    schema::Relation,
};

/// Limit on the known values that a pipeline is asked for.
const MAX_VALUES: usize = 50;

/// Limit on the characters of an answer that are shown.
const SHOWN: usize = 200;

/// Makes up the questions: for the name of each table, and for texts of both sides in it, or for
/// known values of B.
pub(super) fn of_pipelines(known: &Known<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for pipeline in known.pipelines {
        for (table, column) in &pipeline.tables {
            let relation = Pipeline::relation(table, known.whole);
            let case = |text| Case {
                place: pipeline.place(known.database, relation),
                is_table: true,
                ..Case::of_database(known, Rule::Row, "ziggurat-rag", pipeline.ask(text))
            };
            cases.extend(
                texts(known, relation, (table, column))
                    .into_iter()
                    .map(case),
            );
        }
    }
    cases
}

/// Asks as B, and returns the pipelines and tables without a row of B in any answer, and the last answer.
pub(crate) async fn blind(
    cases: &[Case],
    canaries: &Canaries,
    server: &impl AsyncFn(Side, &Request) -> String,
) -> Vec<(Place, String)> {
    let is_seen = |answer: &str| canaries.are_in(answer, &[]);
    asked_as_b(cases, is_seen, server).await
}

/// Asks as B, and returns the pipelines that only fail, and the last answer.
pub(crate) async fn failing(
    cases: &[Case],
    server: &impl AsyncFn(Side, &Request) -> String,
) -> Vec<(Place, String)> {
    asked_as_b(cases, |answer| !has_failed(answer), server).await
}

/// Returns the places without a good answer to B, and the last answer.
async fn asked_as_b(
    cases: &[Case],
    is_good: impl Fn(&str) -> bool,
    server: &impl AsyncFn(Side, &Request) -> String,
) -> Vec<(Place, String)> {
    let mut bad: Vec<(Place, String)> = Vec::new();
    let mut good = Vec::new();
    let questions = cases
        .iter()
        .filter(|it| matches!(it.request, Request::Question { .. }));
    for case in questions {
        if good.contains(&&case.place) {
            continue;
        }
        let answer = server(Side::B, &case.request).await;
        bad.retain(|(place, _)| *place != case.place);
        if is_good(&answer) {
            good.push(&case.place);
        } else {
            let part = case.place.part.as_deref().unwrap_or_default();
            let answer: String = answer.trim_end().chars().take(SHOWN).collect();
            let reason = format!("no row of B came back to B through the {part}: {answer}");
            bad.push((case.place.clone(), reason));
        }
    }
    bad
}

fn texts(
    known: &Known<'_>,
    relation: Option<&Relation>,
    (table, column): (&str, &str),
) -> Vec<String> {
    let column = unquoted(column);
    let planted = |side| {
        let rows = known.planted.rows_of(side, &relation?.oid);
        text_of(rows.first()?, &column)
    };
    let mut texts = vec![unquoted(table)];
    texts.extend(planted(Side::A));
    if let Some(text) = planted(Side::B) {
        texts.push(text);
    } else {
        let values = known.planted.canaries.values().take(MAX_VALUES);
        texts.extend(values.map(str::to_owned));
    }
    texts
}
