//! A database for a program that is not written in Rust.
//!
//! Makes one, runs the SQL of a file in it, prints its URL, and keeps it until standard input
//! ends: `cargo run -p ziggurat-local-pg --example database -- sample.sql`.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
};

use sqlx::{AssertSqlSafe, Connection as _};
use ziggurat_local_pg::LocalPg;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let pg = LocalPg::start().await?;
    let database = pg.database().await?;
    if let Some(path) = env::args_os().nth(1) {
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
