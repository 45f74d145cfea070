use super::*;

fn finding(object: &str, rule: Rule, case: Option<usize>) -> Finding {
    Finding {
        place: Place::of_object("shop", "public", object),
        text: "text".to_owned(),
        rule,
        case: case.map(|number| ("tool".to_owned(), number)),
    }
}

/// Returns a report of these findings.
fn report(findings: Vec<Finding>) -> Report {
    let mut report = Report {
        findings,
        ..Report::default()
    };
    report.finish();
    report
}

#[test]
fn errors_decide_about_the_exit_code_then_tables_that_were_not_tried() {
    let place = Place::of_database("shop");
    let policy = |name: &str| Rule::Policy(name.to_owned());
    for (rule, code) in [
        (Rule::Row, [3, 3]),
        (Rule::Statistics, [3, 3]),
        (policy("policy-true"), [3, 3]),
        (policy("policy-view"), [0, 4]),
        (Rule::Size, [0, 4]),
        (Rule::Timing, [0, 4]),
    ] {
        let mut report = report(vec![finding("t", rule.clone(), None)]);
        assert_eq!(report.exit_code(), code[0], "{rule:?}");
        report.inconclusive.push((place.clone(), "why".to_owned()));
        assert_eq!(report.exit_code(), code[1], "{rule:?}");
    }
}

#[test]
fn findings_that_follow_from_another_one_of_the_object_have_no_line() {
    let report = report(vec![
        finding("u", Rule::Count, Some(9)),
        finding("t", Rule::Count, Some(8)),
        finding("t", Rule::Plan, Some(7)),
        finding("t", Rule::Row, Some(5)),
        finding("t", Rule::Row, Some(2)),
        finding("t", Rule::Size, Some(6)),
        finding("t", Rule::Timing, None),
    ]);
    let expected = "\
pg://shop/public/t: error row: text (tool, case 2)
pg://shop/public/t: note size: text (tool, case 6)
pg://shop/public/t: note timing: text
pg://shop/public/u: error count: text (tool, case 9)
0 calls on 0 objects, 2 errors, 0 warnings, 1 note, 0 inconclusive
";
    assert_eq!(report.to_string(), expected);
}
