//! PostgreSQL for extensions: pooled connections, statements with parameters, rows as JSON. Errors never contain a
//! password.

mod column;
mod error_reporter;
mod literal;
mod datetime;
mod number;
mod pools;
mod connection_string;
mod reachable;
mod tls;

use std::time::Duration;

use futures::TryStreamExt;
use serde_json::{Map, Value};
use tokio_postgres::Statement as Prepared;
use tokio_postgres::types::ToSql;

use super::statement::check_size;
use super::{Folder, Hosts, Statement, Wants};
use column::Cell;
use connection_string::ConnectionTarget;
use error_reporter::ErrorReporter;
use literal::Literal;
use pools::Lease;
pub use pools::Pools;

/// Timeout of a statement, including the wait for a connection.
const TIME_LIMIT: Duration = Duration::from_secs(30);

const TABLES: &str = "SELECT tablename::text, tablename::text AS name FROM pg_catalog.pg_tables WHERE schemaname = $1 ORDER BY tablename";
const COLUMNS: &str = "SELECT column_name::text, data_type::text, is_nullable::text, column_default::text, \
    character_maximum_length::int, column_name::text AS name, data_type::text AS type \
    FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position";

pub fn list_tables(connection: &str, schema: &str) -> Statement {
    Statement::built_in(connection, TABLES, &[schema])
}

pub fn describe_table(connection: &str, table: &str, schema: &str) -> Statement {
    Statement::built_in(connection, COLUMNS, &[schema, table])
}

/// Runs a statement, and returns its rows as a list of dicts, or the number of affected rows.
pub async fn perform(pools: &Pools, hosts: &Hosts, folder: &Folder, statement: &Statement) -> Result<Value, String> {
    // Check the parameters before connecting.
    parameters(&statement.params)?;
    let mut target = ConnectionTarget::of(&statement.database, folder)?;
    pools::complete(&mut target.config);
    let errors = ErrorReporter::new(&target.config);
    let work = async {
        reachable::check(&mut target.config, hosts).await?;
        let lease = pools.lease(&statement.database, target, &errors).await?;
        let result = run(&lease, statement, &errors).await;
        lease.release();
        result
    };
    match tokio::time::timeout(TIME_LIMIT, work).await {
        Ok(result) => result,
        Err(_) => Err(format!("the statement was cancelled after {} s (timeout)", TIME_LIMIT.as_secs())),
    }
}

async fn run(lease: &Lease, statement: &Statement, errors: &ErrorReporter) -> Result<Value, String> {
    let prepared = lease.prepare(&statement.sql).await.map_err(|error| errors.of(&error))?;
    let literals = literals(&prepared, &statement.params)?;
    let params = literals.iter().map(|literal| literal as &(dyn ToSql + Sync));
    if statement.wants == Wants::Count {
        return lease.execute_raw(&prepared, params).await.map(Value::from).map_err(|error| errors.of(&error));
    }
    let rows = lease.query_raw(&prepared, params).await.map_err(|error| errors.of(&error))?;
    futures::pin_mut!(rows);
    let (mut found, mut size) = (Vec::new(), 0);
    while let Some(row) = rows.try_next().await.map_err(|error| errors.of(&error))? {
        let mut members = Map::new();
        for (index, column) in row.columns().iter().enumerate() {
            let cell: Cell = row.try_get(index).map_err(|error| errors.column(column.name(), &error))?;
            size += cell.weight + column.name().len() + 8;
            members.insert(column.name().to_owned(), cell.value);
        }
        check_size(size)?;
        found.push(Value::Object(members));
    }
    Ok(Value::Array(found))
}

fn literals(prepared: &Prepared, params: &Value) -> Result<Vec<Literal>, String> {
    let expected = prepared.params().len();
    let parameters = parameters(params)?;
    if parameters.len() != expected {
        return Err(format!("the statement has {expected} parameters, but `params` has {}", parameters.len()));
    }
    Ok(parameters.iter().cloned().map(Literal).collect())
}

fn parameters(params: &Value) -> Result<&[Value], String> {
    match params {
        Value::Null => Ok(&[]),
        Value::Array(values) => Ok(values),
        _ => Err("`params` must be a list: parameters are `$1`, `$2`, ...".to_owned()),
    }
}
