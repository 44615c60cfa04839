//! `profile()`: the view for which a session script runs.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;

use super::world::World;

#[starlark_module]
pub fn register_profile(builder: &mut GlobalsBuilder) {
    /// Returns the name of the profile (a key of `profiles` in the config) for which the script runs, or `""` at the top
    /// level of the config. The script runs once for each profile, at the top level and in handlers.
    ///
    /// ```python
    /// if profile() == "research":
    ///     instructions("Cite the sources that you use.")
    /// ```
    fn profile(eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<String> {
        Ok(World::of(eval)?.settings.profile.as_deref().unwrap_or_default().to_owned())
    }
}
