//! A database for a program that is not written in Rust.
//!
//! Makes one, runs the SQL of a file in it, prints its URL, and keeps it until standard input ends:
//! `cargo run -p ziggurat-local-pg --example database -- sample.sql`. With a folder as second
//! argument it uses a separate server with PostgreSQL's default settings and its data in that
//! folder.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    path::Path,
};

use sqlx::{AssertSqlSafe, Connection as _};
use ziggurat_local_pg::LocalPg;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let script = arguments.next();
    let pg = match arguments.next() {
        Some(folder) => LocalPg::private(Path::new(&folder)).await?,
        None => LocalPg::start().await?,
    };
    let database = pg.database().await?;
    if let Some(path) = script {
        let sql = fs::read_to_string(path)?;
        let mut connection = database.connect().await?;
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
        connection.close().await?;
    }
    writeln!(io::stdout(), "{}", database.url())?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
