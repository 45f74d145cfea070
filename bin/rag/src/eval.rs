//! The commands `eval` and `eval generate`: measure a pipeline, and draft questions for that.

mod generate;
mod golden;
mod lines;
mod options;
mod report;
mod trec;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use thiserror::Error;
use ziggurat_rag_service::evaluation::{ARMS, Evaluator};
use ziggurat_runtime::console::print_error;
use ziggurat_telemetry::Metrics;

use self::{
    golden::GoldenQuestion,
    report::{AnswerFigures, ArmFigures, DEPTH, Latency, Measures, QuestionFigures, Report, share},
    trec::Run,
};
use crate::{
    app::{PipelineBuilder, Reusable},
    commands::{self, ended},
    configuration::ConfigSources,
    ingest, logs, print,
    secrets::Secrets,
};

pub(crate) use self::options::{
    EvalOptions, FLAGS, GENERATE_FLAGS, GENERATE_HEAD, GenerateOptions, HEAD,
    generate as generate_command, measure as eval_command,
};

/// Interval between two notes of the progress on a terminal.
const REDRAW: Duration = Duration::from_millis(200);

/// Number of passages after the fusion that documents are found among.
const PASSAGES: usize = 1000;

/// Runs the command `eval`, and returns its exit code: 1 if it fails, or if a figure is worse than
/// in the baseline.
pub(crate) fn run(config: Option<&Path>, options: &EvalOptions) -> ExitCode {
    ended(evaluate(config, options))
}

/// Runs the command `eval generate`, and returns its exit code.
pub(crate) fn generate(config: Option<&Path>, options: &GenerateOptions) -> ExitCode {
    ended(generate::run(config, options))
}

/// Error for judged ids that nothing has.
#[derive(Debug, Error)]
#[error("none of the {} judged ids is in the {place}{hint}", ids.len())]
pub(crate) struct Strangers {
    ids: Vec<String>,
    place: &'static str,
    hint: &'static str,
}

/// Returns the judged ids, unless a run has one of them.
fn strangers(
    questions: &[GoldenQuestion],
    runs: &[(String, Run)],
    options: &EvalOptions,
) -> Option<Strangers> {
    let judged = questions.iter().flat_map(|question| question.grades.keys());
    let judged: BTreeSet<_> = judged.cloned().collect();
    let mut found = runs.iter().flat_map(|(_, run)| run.values().flatten());
    let is_strange = !judged.is_empty() && !found.any(|id| judged.contains(id));
    is_strange.then(|| Strangers {
        ids: judged.into_iter().collect(),
        place: if options.runs.is_empty() {
            "table"
        } else {
            "runs"
        },
        hint: if options.is_by_document {
            ""
        } else {
            "; did you mean -by-document?"
        },
    })
}

fn evaluate(config: Option<&Path>, options: &EvalOptions) -> anyhow::Result<()> {
    // Read first: a wrong file should not cost all the answers.
    let baseline = match &options.baseline {
        Some((path, tolerance)) => Some((baseline_of(path)?, *tolerance)),
        None => None,
    };
    let questions = questions(options)?;
    let (report, runs) = if options.runs.is_empty() {
        ask(config, &questions, options)?
    } else {
        read_runs(&questions, options)?
    };
    if print(&report.table()) != ExitCode::SUCCESS {
        bail!("standard output is closed");
    }
    write(&report, &questions, &runs, options)?;
    let Some((before, tolerance)) = baseline else {
        return Ok(());
    };
    if before.questions != report.questions {
        print_error(&format!(
            "the baseline has {} judged questions and this evaluation {}: make a new baseline\n",
            before.questions, report.questions
        ));
    }
    let losses = report.losses(&before, tolerance);
    if losses.is_empty() {
        return Ok(());
    }
    bail!("worse than the baseline:\n{}", losses.join("\n"))
}

fn baseline_of(path: &Path) -> anyhow::Result<Report> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{shown} cannot be read"))?;
    serde_json::from_str(&text).with_context(|| format!("{shown} is not what -o has written"))
}

/// Returns the questions with the judgements of all files. With a run, they may come from the
/// judgements alone.
fn questions(options: &EvalOptions) -> anyhow::Result<Vec<GoldenQuestion>> {
    let mut questions = match &options.questions {
        Some(path) => golden::read(path)?,
        None if options.runs.is_empty() => {
            bail!("name a file of questions, or files with -run and -qrels")
        }
        None if options.qrels.is_none() => bail!("-run needs -qrels or a file of questions"),
        None => Vec::new(),
    };
    if let Some(path) = &options.qrels {
        let mut qrels = trec::read_qrels(path)?;
        for question in &mut questions {
            question
                .grades
                .extend(qrels.remove(&question.id).unwrap_or_default());
        }
        if options.questions.is_none() {
            questions.extend(qrels.into_iter().map(|(id, grades)| GoldenQuestion {
                id,
                query: String::new(),
                grades,
                answer_has: Vec::new(),
            }));
        }
    }
    if options.is_by_document {
        for question in &mut questions {
            let mut grades = BTreeMap::new();
            for (id, grade) in &question.grades {
                let best = grades.entry(document(id).to_owned()).or_insert(*grade);
                *best = (*best).max(*grade);
            }
            question.grades = grades;
        }
    }
    if questions.iter().all(|question| question.grades.is_empty()) && !options.has_answers {
        bail!(
            "no question has judgements: add \"relevant\" or -qrels, or measure answers alone with \
             -answers"
        );
    }
    let is_unchecked =
        !options.has_answers && questions.iter().any(|one| !one.answer_has.is_empty());
    if is_unchecked && options.runs.is_empty() {
        print_error("answer_has is checked only with -answers, which costs a completion each\n");
    }
    Ok(questions)
}

/// Returns the document of a passage: its id up to the last `#`.
fn document(id: &str) -> &str {
    id.rsplit_once('#').map_or(id, |(document, _)| document)
}

/// Measures runs of files.
fn read_runs(
    questions: &[GoldenQuestion],
    options: &EvalOptions,
) -> anyhow::Result<(Report, Vec<(String, Run)>)> {
    let mut runs = Vec::new();
    for path in &options.runs {
        let name = path.file_stem().unwrap_or_default().display().to_string();
        let mut run = trec::read_run(path)?;
        for ids in run.values_mut() {
            by_document(ids, options);
        }
        runs.push((name, run));
    }
    if let Some(strangers) = strangers(questions, &runs, options) {
        bail!(strangers);
    }
    Ok((report(questions, &runs), runs))
}

/// Replaces ids of passages by the ids of their documents, if the options ask for it. A document has
/// the rank of its best passage.
fn by_document(ids: &mut Vec<String>, options: &EvalOptions) {
    if !options.is_by_document {
        return;
    }
    let mut seen = BTreeSet::new();
    ids.retain_mut(|id| {
        id.truncate(document(id).len());
        seen.insert(id.clone())
    });
    ids.truncate(DEPTH);
}

/// Asks the pipeline.
fn ask(
    config: Option<&Path>,
    questions: &[GoldenQuestion],
    options: &EvalOptions,
) -> anyhow::Result<(Report, Vec<(String, Run)>)> {
    with_pipeline(
        config,
        options.pipeline.as_deref(),
        async |name, evaluator| {
            let judged: Vec<_> = questions
                .iter()
                .filter(|question| !question.grades.is_empty())
                .collect();
            let mut runs: Vec<_> = ARMS.map(|arm| (arm.to_owned(), Run::new())).into();
            let mut times = vec![Vec::new(); ARMS.len()];
            let mut progress = StepCounter::new(judged.len(), "questions");
            let depth = if options.is_by_document {
                PASSAGES
            } else {
                DEPTH
            };
            for question in judged {
                let found = evaluator.search(&question.query, depth).await;
                let found = found.with_context(|| format!("question {}", question.id))?;
                for result in found {
                    let place = ARMS.iter().position(|arm| *arm == result.arm);
                    let place = place.context("the search has no name")?;
                    let mut ids = result.ids;
                    by_document(&mut ids, options);
                    runs[place].1.insert(question.id.clone(), ids);
                    times[place].push(result.milliseconds);
                }
                progress.step();
            }
            drop(progress);
            let asked = runs.into_iter().zip(times);
            let (runs, times): (Vec<_>, Vec<_>) =
                asked.filter(|(_, times)| !times.is_empty()).unzip();
            if let Some(strangers) = strangers(questions, &runs, options)
                && !evaluator
                    .has_any(&strangers.ids, options.is_by_document)
                    .await?
            {
                bail!(strangers);
            }
            let mut report = report(questions, &runs);
            for (arm, times) in report.arms.iter_mut().zip(times) {
                arm.latency = Some(Latency::of(times));
            }
            report.pipeline = Some(name.to_owned());
            if options.has_answers {
                report.answers = Some(answers(evaluator, questions).await?);
            }
            Ok((report, runs))
        },
    )
}

/// Measures runs. A judged question that a run does not have counts as one without results.
fn report(questions: &[GoldenQuestion], runs: &[(String, Run)]) -> Report {
    let judged = questions
        .iter()
        .filter(|question| !question.grades.is_empty());
    let mut all = vec![Vec::new(); runs.len()];
    let per_question = judged.map(|question| {
        let measured = runs.iter().zip(&mut all).map(|((name, run), all)| {
            let ids = run.get(&question.id).into_iter().flatten();
            let ids: Vec<_> = ids.map(String::as_str).collect();
            let measures = Measures::of(&ids, &question.grades);
            all.push(measures);
            (name.clone(), measures)
        });
        QuestionFigures {
            id: question.id.clone(),
            arms: measured.collect(),
            query: Some(question.query.clone()).filter(|query| !query.is_empty()),
        }
    });
    let per_question: Vec<_> = per_question.collect();
    let arms = runs.iter().zip(&all).map(|((name, _), all)| ArmFigures {
        arm: name.clone(),
        measures: Measures::mean(all),
        latency: None,
    });
    Report {
        questions: per_question.len(),
        arms: arms.collect(),
        per_question,
        ..Report::default()
    }
}

/// Answers every question, and checks the answers.
async fn answers(
    evaluator: &Evaluator,
    questions: &[GoldenQuestion],
) -> anyhow::Result<AnswerFigures> {
    let (mut valid, mut expected, mut has_expected) = (0.0, 0, 0.0);
    let (mut citations, mut supported) = (0, 0.0);
    let mut times = Vec::new();
    let mut progress = StepCounter::new(questions.len(), "answers");
    for question in questions {
        let began = Instant::now();
        let answer = evaluator.answer(&question.query).await;
        let answer = answer.with_context(|| format!("question {}", question.id))?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        valid += f64::from(answer.citations > 0 && answer.dropped_citations == 0);
        citations += answer.citations;
        let unsupported = answer.unsupported_citations;
        supported += u32::try_from(answer.citations - unsupported).map_or(0.0, f64::from);
        if !question.answer_has.is_empty() {
            expected += 1;
            has_expected += f64::from(question.is_answered_by(&answer.text));
        }
        progress.step();
    }
    Ok(AnswerFigures {
        answers: times.len(),
        valid_citations: share(valid, times.len()),
        supported_citations: (citations > 0).then(|| share(supported, citations)),
        has_expected: (expected > 0).then(|| share(has_expected, expected)),
        latency: Latency::of(times),
    })
}

/// Writes the files that are asked for.
fn write(
    report: &Report,
    questions: &[GoldenQuestion],
    runs: &[(String, Run)],
    options: &EvalOptions,
) -> anyhow::Result<()> {
    if let Some(path) = &options.output {
        let text = serde_json::to_string_pretty(report)? + "\n";
        let written = fs::write(path, text);
        written.with_context(|| format!("{} cannot be written", path.display()))?;
    }
    if let Some(path) = &options.written_qrels {
        let judgements = questions.iter().map(|one| (&*one.id, &one.grades));
        trec::write_qrels(path, judgements)?;
    }
    if let Some(folder) = &options.written_runs {
        let made = fs::create_dir_all(folder);
        made.with_context(|| format!("{} cannot be created", folder.display()))?;
        for (name, run) in runs {
            trec::write_run(&folder.join(format!("{name}.run")), name, run)?;
        }
    }
    Ok(())
}

/// Does something with a pipeline of the configuration.
fn with_pipeline<T>(
    config: Option<&Path>,
    name: Option<&str>,
    work: impl AsyncFnOnce(&str, &Evaluator) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (sources, secrets) = (ConfigSources::of_process(), Secrets::default());
    let mut configuration = commands::load(config, &sources)?;
    logs::start_for_command(&sources.environment, secrets.clone());
    let name = ingest::pipeline(&configuration, name)?.name.clone();
    configuration
        .pipelines
        .retain(|pipeline| pipeline.name == name);
    let timeout = configuration.server.request_timeout;
    commands::with_pools(async |pools| {
        let builder = PipelineBuilder::new(pools.clone(), sources, secrets, Metrics::off());
        let mut set = builder.make(&configuration, &Reusable::default())?;
        let pipeline = set.take_pipelines().pop();
        let evaluator = Evaluator::new(pipeline.context("there is no pipeline")?, timeout);
        work(&name, &evaluator).await
    })
}

/// Counts steps on a terminal; elsewhere it prints nothing.
struct StepCounter {
    all: usize,
    done: usize,
    what: &'static str,
    /// Time of the last note; `None` if there is no terminal.
    shown: Option<Instant>,
}

// === impl StepCounter ===

impl StepCounter {
    fn new(all: usize, what: &'static str) -> Self {
        let shown = io::stderr().is_terminal().then(Instant::now);
        Self {
            all,
            done: 0,
            what,
            shown,
        }
    }

    fn step(&mut self) {
        self.done += 1;
        if let Some(shown) = &mut self.shown
            && shown.elapsed() >= REDRAW
        {
            *shown = Instant::now();
            print_error(&format!("\r{} of {} {}", self.done, self.all, self.what));
        }
    }
}

impl Drop for StepCounter {
    fn drop(&mut self) {
        if self.shown.is_some() {
            print_error("\r\x1b[K");
        }
    }
}
