//! The command `-prove`: what one caller is answered does not depend on the rows of another.

mod parties;
mod rag;
mod served;
mod weaknesses;

use std::{fs, process::ExitCode, sync::Arc};

use anyhow::{Context as _, anyhow, bail};
use tokio::{runtime, task::JoinSet, time};
use ziggurat_calls::limits;
use ziggurat_databases::Databases;
use ziggurat_postgres::{
    database::{Database, Settings},
    driver::Row,
    pool::{Pool, Pools},
    single_round_trip::ReadOnlyQuery,
};
use ziggurat_prove::{Party, Proof, ProveError, Report, Search, ThrowAwayDatabase, World, sarif};
use ziggurat_runtime::{
    Secret,
    console::{print_error, print_warnings},
    signals,
};

use self::{parties::Callers, rag::Pipelines, served::Served};
use crate::{
    app,
    arguments::{Overrides, ProveOptions, ProveTarget},
    check::CLOSE_TIMEOUT,
    configuration::{ConfigSources, Configuration, Entry, Loaded, TelemetrySettings},
    interface::{NAME, VERSION},
    problems,
};

/// Name of the connections of the owner.
const OWNER: &str = "owner";

/// Facts that tell one database from all others.
const MARKS: &str = "SELECT concat_ws(' ', (SELECT oid FROM pg_catalog.pg_database \
                     WHERE datname = pg_catalog.current_database()), \
                     pg_catalog.pg_postmaster_start_time())";

/// Makes the proof, prints its findings, and writes the file that is asked for.
pub(crate) fn run(overrides: &Overrides, options: &ProveOptions) -> ExitCode {
    let proved = prove(overrides, options).and_then(|report| {
        crate::print(&report.to_string())?;
        if let Some(path) = &options.sarif {
            let document = sarif::document(&report, NAME, VERSION);
            let text = format!("{document:#}\n");
            fs::write(path, text).with_context(|| format!("-sarif {}", path.display()))?;
        }
        Ok(report)
    });
    match proved {
        Ok(report) => report.exit_code().into(),
        Err(error) => {
            for line in problems(&error) {
                print_error(&format!("ERROR: {line}\n"));
            }
            ExitCode::FAILURE
        }
    }
}

fn prove(overrides: &Overrides, options: &ProveOptions) -> anyhow::Result<Report> {
    let mut loaded = Configuration::load(overrides, &ConfigSources::of_process())?;
    print_warnings(&loaded.warnings);
    let callers = Callers::find(options, &loaded.value)?;
    put_first(&mut loaded.value, options.database.as_deref())?;
    let pipelines = options.rag.as_ref().map(|config| Pipelines {
        config: config.clone(),
        database: loaded.value.databases[0].database.settings().clone(),
        copy: None,
    });
    quiet(&mut loaded.value);
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::from_iter([reaper.run()]);
        let proved = match &options.target {
            // Boxed: one for each run of the command.
            ProveTarget::Copy(url) => {
                Box::pin(in_copy(loaded, &callers, url, pipelines, &pools)).await
            }
            ProveTarget::Canaries(path) => {
                let text = fs::read_to_string(path);
                let text = text.with_context(|| format!("-canaries {}", path.display()))?;
                let values: Vec<_> = text.lines().map(|line| line.trim().to_owned()).collect();
                Box::pin(in_place(
                    loaded,
                    &callers,
                    &values,
                    pipelines.as_ref(),
                    &pools,
                ))
                .await
            }
        };
        pools.close_all();
        drop(pools);
        time::timeout(CLOSE_TIMEOUT, tasks.join_next()).await.ok();
        proved
    })
}

/// Puts the database that is proved in front of the others, where it is the one of every caller.
fn put_first(configuration: &mut Configuration, name: Option<&str>) -> anyhow::Result<()> {
    let databases = &mut configuration.databases;
    let mut names = databases.iter().map(|entry| entry.database.name());
    let place = match name {
        Some(name) => {
            let place = names.position(|it| it == name);
            place.with_context(|| format!("there is no database '{name}'"))?
        }
        None if databases.is_empty() => bail!("no database is configured"),
        None => 0,
    };
    databases[..=place].rotate_right(1);
    Ok(())
}

/// Leaves out the parts that would write files, ask other services, or stop the calls. The callers
/// are found already, so their tokens are not needed.
fn quiet(configuration: &mut Configuration) {
    configuration.auth.is_enabled = false;
    configuration.state = None;
    configuration.audit = None;
    configuration.telemetry = TelemetrySettings::default();
    configuration.callers = limits::Settings::default();
}

/// Makes the proof in a throw-away database, which is empty afterwards, whatever happens.
async fn in_copy(
    mut loaded: Loaded,
    callers: &Callers,
    url: &Secret,
    mut pipelines: Option<Pipelines>,
    pools: &Pools,
) -> anyhow::Result<Report> {
    let stop = signals::stop().context("cannot listen to signals")?;
    let owner = owner(url, &loaded.value)?;
    let pool = pools.pool(OWNER, &owner);
    refuse_configured(&owner, &pool, &loaded.value, pools).await?;
    let throw_away = ThrowAwayDatabase::open(&pool).await?;
    lead_to(&mut loaded.value.databases, owner.settings())?;
    if let Some(pipelines) = &mut pipelines {
        pipelines.copy = Some(owner.settings().clone());
    }
    let proved = tokio::select! {
        proved = in_worlds(&loaded, callers, &throw_away, pipelines.as_ref(), pools) => proved,
        () = stop => Err(anyhow!("interrupted")),
    };
    let emptied = throw_away.empty().await;
    let report = proved?;
    emptied?;
    Ok(report)
}

async fn in_worlds(
    loaded: &Loaded,
    callers: &Callers,
    throw_away: &ThrowAwayDatabase,
    pipelines: Option<&Pipelines>,
    pools: &Pools,
) -> anyhow::Result<Report> {
    let configuration = &loaded.value;
    let database = &configuration.databases[0].database;
    let parties = parties(configuration, callers, pools).await?;
    let may_write = database.allows_writes();
    let mut proof = Proof::new(database.name(), throw_away, parties, may_write).await?;
    for world in World::BOTH {
        proof.plant(world).await?;
        let server = Served::start(loaded, callers, pipelines).await?;
        let ask = async |side, request: &_| server.ask(side, request).await;
        proof.ask(world, server.pipelines(), ask).await;
        server.stop().await?;
    }
    let weaknesses = weaknesses::of(&configuration.databases[0], pools).await?;
    Ok(proof.report(weaknesses))
}

/// Looks for known values of B in the database itself. Statements may only read there.
async fn in_place(
    mut loaded: Loaded,
    callers: &Callers,
    values: &[String],
    pipelines: Option<&Pipelines>,
    pools: &Pools,
) -> anyhow::Result<Report> {
    for entry in &mut loaded.value.databases {
        entry.database = Arc::new(entry.database.read_only());
    }
    let configuration = &loaded.value;
    let parties = parties(configuration, callers, pools).await?;
    let name = configuration.databases[0].database.name();
    let search = Search::new(name, parties, values).await?;
    let weaknesses = weaknesses::of(&configuration.databases[0], pools).await?;
    let server = Served::start(&loaded, callers, pipelines).await?;
    let ask = async |side, request: &_| server.ask(side, request).await;
    let report = search.report(weaknesses, server.pipelines(), ask).await;
    server.stop().await?;
    Ok(report)
}

/// Describes both callers, with connections of their own.
async fn parties(
    configuration: &Configuration,
    callers: &Callers,
    pools: &Pools,
) -> anyhow::Result<[Party; 2]> {
    let databases = Databases::new(pools.clone(), app::configured(configuration));
    let [one, two] = callers.all();
    let one = one.party(configuration, &databases).await?;
    Ok([one, two.party(configuration, &databases).await?])
}

/// Reads the connection of the owner from a URL.
fn owner(url: &Secret, configuration: &Configuration) -> anyhow::Result<Arc<Database>> {
    let base = configuration.databases[0].database.settings();
    let settings = Settings::from_url(url.expose(), base).context("-copy")?;
    let settings = Settings {
        allow_writes: true,
        ..settings
    };
    Ok(Arc::new(Database::try_from(settings).context("-copy")?))
}

/// Refuses a database of the configuration, by its address, and by itself if it answers.
async fn refuse_configured(
    owner: &Database,
    pool: &Pool,
    configuration: &Configuration,
    pools: &Pools,
) -> anyhow::Result<()> {
    let (own, hosts) = (marks(pool).await?, owner.settings().all_hosts());
    for entry in &configuration.databases {
        let database = &entry.database;
        let is_named = database.settings().database == owner.settings().database
            && database
                .settings()
                .all_hosts()
                .iter()
                .any(|it| hosts.contains(it));
        let pool = pools.pool(OWNER, database);
        if is_named || marks(&pool).await.is_ok_and(|it| it == own) {
            let why = format!("it is the configured database '{}'", database.name());
            return Err(ProveError::Refused(why).into());
        }
    }
    Ok(())
}

async fn marks(pool: &Pool) -> anyhow::Result<Vec<String>> {
    let query = ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: MARKS.to_owned(),
        values: Vec::new(),
    };
    let text = |row: &Row| row.text(0).map(str::to_owned);
    let lease = pool.lease().await;
    let lease = lease.map_err(|error| anyhow!(error.cause()))?;
    Ok(query.read(lease, text).await?)
}

/// Lets the first database of a list lead to the copy, with the roles that it has.
fn lead_to(databases: &mut [Entry], copy: &Settings) -> anyhow::Result<()> {
    let entry = &mut databases[0];
    let settings = Settings {
        host: copy.host.clone(),
        port: copy.port,
        given_port: copy.given_port,
        hosts: copy.hosts.clone(),
        connect_command: None,
        database: copy.database.clone(),
        ..entry.database.settings().clone()
    };
    entry.database = Arc::new(Database::try_from(settings).context("-copy")?);
    Ok(())
}
