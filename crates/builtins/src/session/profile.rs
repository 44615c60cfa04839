//! `profile()`: the view for which a session script runs.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;

use super::world::World;

#[starlark_module]
pub fn register_profile(builder: &mut GlobalsBuilder) {
    /// Returns the name of the profile (a key of `profiles` in the config) that the script runs for, or `""` if there is
    /// none.
    ///
    /// ```python
    /// if profile() == "research":
    ///     instructions("Cite the sources that you use.")
    /// ```
    fn profile(eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<String> {
        Ok(World::of(eval)?.settings.profile.as_deref().unwrap_or_default().to_owned())
    }
}
