//! The Starlark module `math`.

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::{Heap, Value};

use proxy_script::script_error;

pub(crate) fn register_math(builder: &mut GlobalsBuilder) {
    builder.namespace("math", members);
}

/// Mathematical functions. A result that is not a finite number is an error.
#[starlark_module]
fn members(builder: &mut GlobalsBuilder) {
    /// The ratio of a circle's circumference to its diameter, 3.14159...
    const pi: f64 = std::f64::consts::PI;
    /// The base of natural logarithms.
    const e: f64 = std::f64::consts::E;

    /// Returns `x` to the power of `y`: `math.pow(2, 10)` is `1024.0`.
    fn pow(x: UnpackFloat, y: UnpackFloat) -> starlark::Result<f64> {
        finite("pow", x.0.powf(y.0))
    }

    /// Returns the square root: `math.sqrt(9)` is `3.0`.
    fn sqrt(x: UnpackFloat) -> starlark::Result<f64> {
        finite("sqrt", x.0.sqrt())
    }

    /// Rounds up to an integer: `math.ceil(4.2)` is `5`.
    fn ceil<'v>(x: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        whole("ceil", x, f64::ceil, heap)
    }

    /// Rounds down to an integer: `math.floor(-4.2)` is `-5`.
    fn floor<'v>(x: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        whole("floor", x, f64::floor, heap)
    }

    /// Rounds to `decimals` digits after the decimal point, halves away from zero: `math.round(2.718, 1)` is `2.7`.
    fn round(x: UnpackFloat, #[starlark(default = 0)] decimals: i32) -> starlark::Result<f64> {
        if !(0..=15).contains(&decimals) {
            return Err(script_error(format!("`decimals` must be from 0 to 15, not {decimals}")));
        }
        let scale = 10_f64.powi(decimals);
        let scaled = x.0 * scale;
        // A number this large has no digits after the decimal point.
        if scaled.is_infinite() {
            return finite("round", x.0);
        }
        finite("round", scaled.round() / scale)
    }

    /// Returns the absolute value as a float: `math.abs(-5)` is `5.0`. The built-in `abs()` keeps integers.
    fn abs(x: UnpackFloat) -> starlark::Result<f64> {
        finite("abs", x.0.abs())
    }

    /// Returns the natural logarithm, or the logarithm to `base`: `math.log(8, 2)` is `3.0`.
    fn log(x: UnpackFloat, base: Option<UnpackFloat>) -> starlark::Result<f64> {
        finite("log", base.map_or_else(|| x.0.ln(), |base| x.0.log(base.0)))
    }

    /// Returns `math.e` to the power of `x`.
    fn exp(x: UnpackFloat) -> starlark::Result<f64> {
        finite("exp", x.0.exp())
    }

    /// Returns the sine of `x`, in radians: `math.sin(math.pi / 2)` is `1.0`.
    fn sin(x: UnpackFloat) -> starlark::Result<f64> {
        finite("sin", x.0.sin())
    }

    /// Returns the cosine of `x`, in radians.
    fn cos(x: UnpackFloat) -> starlark::Result<f64> {
        finite("cos", x.0.cos())
    }

    /// Returns the tangent of `x`, in radians.
    fn tan(x: UnpackFloat) -> starlark::Result<f64> {
        finite("tan", x.0.tan())
    }
}

fn finite(function: &str, result: f64) -> starlark::Result<f64> {
    if result.is_finite() {
        return Ok(result);
    }
    Err(script_error(format!("the result of math.{function}() is not a finite number")))
}

fn whole<'v>(function: &str, x: Value<'v>, round: fn(f64) -> f64, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    use starlark::values::UnpackValue;
    if x.get_type() == "int" {
        return Ok(x);
    }
    let number = UnpackFloat::unpack_value(x)?
        .ok_or_else(|| script_error(format!("math.{function}() takes a number, not a `{}`", x.get_type())))?;
    let rounded = finite(function, round(number.0))?;
    // Beyond 2^53, a float does not represent every integer.
    if rounded.abs() > 9_007_199_254_740_992.0 {
        return Err(script_error(format!("math.{function}(): {rounded:e} is too large for an exact integer")));
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked above")]
    Ok(heap.alloc(rounded as i64))
}
