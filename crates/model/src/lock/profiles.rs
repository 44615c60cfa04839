//! Client profiles in a lock file: their names, and the choice of what a client's profile is compared with.

use crate::{Abilities, ClientProfile, Era};

/// The name of an ability in a lock file, and its flag.
type NamedAbility = (&'static str, fn(&mut Abilities) -> &mut bool);

const ABILITIES: [NamedAbility; 6] = [
    ("form", |abilities| &mut abilities.form),
    ("url", |abilities| &mut abilities.url),
    ("sampling", |abilities| &mut abilities.sampling),
    ("samplingTools", |abilities| &mut abilities.sampling_tools),
    ("samplingContext", |abilities| &mut abilities.sampling_context),
    ("roots", |abilities| &mut abilities.roots),
];

/// The name of a profile: the era, then the abilities, such as `session+form+url`.
pub fn profile_name(profile: ClientProfile) -> String {
    let mut name = profile.era.as_str().to_owned();
    let mut abilities = profile.abilities;
    for (ability, flag) in ABILITIES {
        if *flag(&mut abilities) {
            name.push('+');
            name.push_str(ability);
        }
    }
    name
}

/// The profile of this name.
pub(super) fn parse_profile(name: &str) -> Option<ClientProfile> {
    let mut parts = name.split('+');
    let era = match parts.next()? {
        "session" => Era::Session,
        "stateless" => Era::Stateless,
        _ => return None,
    };
    let mut abilities = Abilities::NONE;
    for part in parts {
        let (_, flag) = ABILITIES.iter().find(|(ability, _)| *ability == part)?;
        *flag(&mut abilities) = true;
    }
    Some(ClientProfile { era, abilities })
}

/// The candidate that clients of a profile are compared with: what clients of exactly this profile saw, or else clients of
/// the era with fewer abilities, or else any. A candidate without profiles is for everybody.
pub fn chosen<T>(candidates: &[T], profiles: impl Fn(&T) -> &[ClientProfile], wanted: ClientProfile) -> Option<&T> {
    if let Some(for_all) = candidates.iter().find(|candidate| profiles(candidate).is_empty()) {
        return Some(for_all);
    }
    let seen = || candidates.iter().flat_map(|candidate| profiles(candidate).iter().map(move |seen| (seen, candidate)));
    let of_era = || seen().filter(|(seen, _)| seen.era == wanted.era);
    let fitting = of_era().filter(|(seen, _)| seen.abilities.is_subset_of(wanted.abilities));
    let best = fitting
        .max_by_key(|(seen, _)| seen.abilities.count())
        .or_else(|| of_era().min_by_key(|(seen, _)| seen.abilities.count()));
    best.map(|(_, candidate)| candidate).or(candidates.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Abilities = Abilities { form: true, ..Abilities::NONE };
    const BOTH: Abilities = Abilities { url: true, ..FORM };

    #[test]
    fn a_name_means_its_profile() {
        let profiles = [ClientProfile::SESSION, ClientProfile::STATELESS, ClientProfile::TERMINAL];
        for (profile, name) in profiles.into_iter().zip(["session", "stateless", "session+form+url"]) {
            assert_eq!(profile_name(profile), name);
            assert_eq!(parse_profile(name), Some(profile));
        }
        for name in ["", "sessions", "session+", "session+fly", "stateless form"] {
            assert_eq!(parse_profile(name), None, "{name}");
        }
    }

    #[test]
    fn a_client_is_compared_with_what_clients_like_it_saw() {
        let profile = |era, abilities| ClientProfile { era, abilities };
        let candidates = [
            ("none", vec![ClientProfile::SESSION]),
            ("form", vec![profile(Era::Session, FORM)]),
            ("stateless", vec![ClientProfile::STATELESS]),
        ];
        let of = |wanted| chosen(&candidates, |(_, seen)| seen, wanted).map(|(name, _)| *name);
        assert_eq!(of(profile(Era::Session, BOTH)), Some("form"));
        assert_eq!(of(ClientProfile::SESSION), Some("none"));
        assert_eq!(of(profile(Era::Stateless, BOTH)), Some("stateless"));
        let only = [("form", vec![profile(Era::Session, FORM)])];
        let of = |wanted| chosen(&only, |(_, seen)| seen, wanted).map(|(name, _)| *name);
        assert_eq!([of(ClientProfile::SESSION), of(ClientProfile::STATELESS)], [Some("form"); 2]);
    }
}
