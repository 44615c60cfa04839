//! The module `postgres`: PostgreSQL databases.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneOr;

use super::{perform, statement};
use proxy_host_io::{Statement, Wants, postgres};

/// PostgreSQL. `connection` is `postgresql://user:password@host:5432/database`, best read with `env.get()`. Connections are
/// pooled. `params` is a list for `$1`, `$2`; each value is converted to the type of its parameter.
///
/// Numbers (`numeric` too) become numbers, dates and times ISO 8601 strings, `json` values, arrays lists, `uuid` and enums
/// strings, `bytea` `{"base64": "..."}`, and NULL None. A database without a public address is reached only if `allowed_hosts`
/// names its host (`localhost` for a Unix socket). `sslmode` in the connection string selects TLS and the check of the
/// certificate, up to `verify-full`; `sslrootcert` names a file of root certificates in the extension's folder.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Runs a statement and returns its rows as a list of dicts: `postgres.query(connection, "SELECT * FROM users WHERE id = $1", [7])`.
    fn query<'v>(
        connection: &str,
        sql: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.query", statement(connection, sql, params, Wants::Rows, eval)?, eval)
    }

    /// Runs a statement and returns the number of changed rows.
    fn execute<'v>(
        connection: &str,
        sql: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.execute", statement(connection, sql, params, Wants::Count, eval)?, eval)
    }

    /// The tables of a schema: a list of dicts with `tablename` and `name` (the same).
    fn list_tables<'v>(
        connection: &str,
        #[starlark(default = "public")] schema: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.list_tables", postgres::list_tables(connection, schema), eval)
    }

    /// The columns of a table: a list of dicts with `column_name`, `data_type`, `is_nullable` ("YES" or "NO"),
    /// `column_default`, `character_maximum_length`, and the first two also as `name` and `type`, as in `sqlite`.
    fn describe_table<'v>(
        connection: &str,
        table: &str,
        #[starlark(default = "public")] schema: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.describe_table", postgres::describe_table(connection, table, schema), eval)
    }
}

fn run<'v>(kind: &'static str, statement: Statement, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    let recorded = statement.clone();
    perform(kind, &recorded, eval, |runtime| async move {
        postgres::perform(&runtime.host_io.postgres, &runtime.permissions().hosts, runtime.folder(), &statement).await
    })
}
