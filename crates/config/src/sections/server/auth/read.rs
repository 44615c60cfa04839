//! Reads `auth` of a server.

use super::endpoints::{EndpointKeys, refuse_keys_of_metadata};
use super::own_keys::{AuthKind, KINDS, OwnKeys};
use super::types::{
    AuthConfig, ClientCredentialsConfig, ClientProof, EnterpriseConfig, IdToken, OAuthConfig, OAuthEndpoints,
    PersonalAccounts, RegisteredClient, ResourceChoice, SignedConfig, SigningAlgorithm, SubjectTokenType,
    TokenExchangeConfig,
};
use crate::sections::oauth_values::{read_metadata_url, read_port, read_scope, read_secret, read_url};
use crate::sections::server::{OpenApiConfig, TransportConfig};
use crate::syntax::reader::{Fields, ValueReader};
use proxy_base::diagnostic::Location;
use proxy_model::Secret;

const ALGORITHMS: [(&str, SigningAlgorithm); 5] = [
    ("RS256", SigningAlgorithm::Rs256),
    ("RS384", SigningAlgorithm::Rs384),
    ("RS512", SigningAlgorithm::Rs512),
    ("ES256", SigningAlgorithm::Es256),
    ("ES384", SigningAlgorithm::Es384),
];

const SUBJECT_TOKEN_TYPES: [(&str, SubjectTokenType); 3] = [
    ("access_token", SubjectTokenType::AccessToken),
    ("id_token", SubjectTokenType::IdToken),
    ("jwt", SubjectTokenType::Jwt),
];

/// The maximum length of `about`, in characters: it is part of the description of a tool.
const MAX_ABOUT: usize = 200;

/// Reads `auth`. All keys of all types are read, so that they are known and report their errors; the type decides which
/// of them may be there.
pub(in crate::sections::server) fn read_auth(
    fields: &mut Fields,
    transport: &TransportConfig,
) -> Option<(AuthConfig, Location)> {
    let reader = fields.get("auth")?;
    Some((read_section(&reader, transport)?, reader.place()))
}

fn read_section(reader: &ValueReader, transport: &TransportConfig) -> Option<AuthConfig> {
    match transport {
        TransportConfig::Stdio { .. } => {
            return reader.fail("requires `url`: a server with `command` gets its credentials from `env`");
        }
        TransportConfig::OpenApi(api) if api.url.is_none() => {
            return reader.fail("requires `url`: credentials are sent only to a host that the config names");
        }
        TransportConfig::Http { headers, .. } | TransportConfig::OpenApi(OpenApiConfig { headers, .. }) => {
            if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
                return reader.fail("conflicts with the header `Authorization` in `headers`: remove one of them");
            }
        }
    }
    let mut fields = reader.fields()?;
    let declared = fields.get("type");
    let kind = declared.as_ref().and_then(|kind| kind.choice(&KINDS));
    if kind == Some(AuthKind::Passthrough) {
        return declared?.fail("a client's token is never sent to a server: use `tokenExchange`");
    }
    let named_issuer = fields.get("issuer");
    let issuer = named_issuer.as_ref().and_then(read_url);
    let client = read_client(&mut fields, "clientId", "clientSecret");
    let scopes = fields.read("scopes", |scopes| scopes.list(read_scope)).unwrap_or_default();
    let resource = fields.read("resource", read_resource).unwrap_or(ResourceChoice::Auto);
    let mut own = OwnKeys::default();
    let endpoints = EndpointKeys::read(&mut fields, &mut own);
    if fields.get("authorizationUrl").is_some() {
        refuse_keys_of_metadata(&mut fields);
    }
    let oauth = read_oauth(&mut fields, &mut own);
    let proof = read_private_key(&mut fields, &mut own);
    let enterprise = read_enterprise(&mut fields, &mut own);
    let exchange = read_exchange(&mut fields, &mut own);
    let personal = read_personal(&mut fields, &mut own);
    fields.finish();
    let Some(kind) = kind else {
        let problem = "missing key `type`: `oauth`, `clientCredentials`, `enterprise`, `tokenExchange` or `signed`";
        return if declared.is_some() { None } else { reader.fail(problem) };
    };
    own.refuse_others(kind);
    match kind {
        AuthKind::OAuth => {
            let endpoints = endpoints.of_people(reader)?;
            let has_place = named_issuer.is_some() || endpoints.is_some();
            if !has_place && matches!(transport, TransportConfig::OpenApi(_)) {
                return reader.fail(
                    "missing key `issuer`, or `authorizationUrl` and `tokenUrl`: an API does not say where to log in",
                );
            }
            if !has_place && client.is_some() {
                return reader
                    .fail("missing key `issuer`: `clientId` is sent only to the authorization server that issued it");
            }
            if endpoints.is_some() && client.is_none() {
                return reader.fail("missing key `clientId`: without metadata the proxy cannot register itself");
            }
            if oauth.shared && personal.is_some() {
                return reader.fail("`shared` conflicts with `per: person`, where nobody shares an account");
            }
            let issuer = issuer.or_else(|| endpoints.as_ref().map(OAuthEndpoints::default_issuer));
            let resource = resource_with(resource, endpoints.as_ref());
            let oauth = OAuthConfig { issuer, endpoints, client, scopes, resource, personal, ..oauth };
            Some(AuthConfig::OAuth(oauth))
        }
        AuthKind::ClientCredentials => {
            let endpoints = endpoints.of_machine()?;
            let Some(client) = client else { return reader.fail("missing key `clientId`") };
            let proof = match (client.secret, proof) {
                (Some(_), Some(_)) => return reader.fail("`clientSecret` and `privateKeyFile` are mutually exclusive"),
                (Some(secret), None) => ClientProof::Secret(secret),
                (None, Some(proof)) => proof,
                (None, None) => return reader.fail("missing key `clientSecret` or `privateKeyFile`"),
            };
            let client_id = client.id;
            let issuer = issuer.or_else(|| endpoints.as_ref().map(OAuthEndpoints::default_issuer));
            let resource = resource_with(resource, endpoints.as_ref());
            let own = ClientCredentialsConfig { issuer, endpoints, client_id, proof, scopes, resource };
            Some(AuthConfig::ClientCredentials(own))
        }
        AuthKind::Enterprise => {
            let EnterpriseKeys { id_token, idp_token_url, idp_client } = enterprise;
            let Some(id_token) = id_token else { return reader.fail("missing key `idTokenFile` or `idToken`") };
            let Some(idp_token_url) = idp_token_url else { return reader.fail("missing key `idpTokenUrl`") };
            let Some(idp_client) = idp_client else { return reader.fail("missing key `idpClientId`") };
            let Some(client) = client else { return reader.fail("missing key `clientId`") };
            if resource == ResourceChoice::None {
                return reader
                    .fail("`resource: none` is not possible with `type: enterprise`: its tokens are for one resource");
            }
            let enterprise = EnterpriseConfig { id_token, idp_token_url, idp_client, issuer, client, scopes, resource };
            Some(AuthConfig::Enterprise(enterprise))
        }
        AuthKind::TokenExchange => {
            if let Some(issuer) = named_issuer {
                return issuer.fail("has no effect with `type: tokenExchange` (did you mean `subjectIssuer`?)");
            }
            let Some(token_url) = endpoints.token() else { return reader.fail("missing key `tokenUrl`") };
            let Some(client) = client else { return reader.fail("missing key `clientId`") };
            Some(AuthConfig::TokenExchange(TokenExchangeConfig {
                token_url,
                client,
                audience: exchange.audience,
                resource,
                scopes,
                subject_token_type: exchange.subject_token_type,
                subject_issuer: exchange.subject_issuer,
            }))
        }
        AuthKind::Signed => {
            let has_more = client.is_some() || !scopes.is_empty() || resource != ResourceChoice::Auto;
            if has_more || named_issuer.is_some() {
                return reader.fail("`type: signed` has no other keys: the key is `serve.identityKey`");
            }
            // Filled in once `serve` is read.
            Some(AuthConfig::Signed(SignedConfig { key: Secret::new(""), issuer: String::new() }))
        }
        AuthKind::Passthrough => None,
    }
}

/// Only metadata tell of a resource: beside endpoints there is none that the config does not name.
fn resource_with(resource: ResourceChoice, endpoints: Option<&OAuthEndpoints>) -> ResourceChoice {
    match (resource, endpoints) {
        (ResourceChoice::Auto, Some(_)) => ResourceChoice::None,
        (resource, _) => resource,
    }
}

fn read_resource(reader: &ValueReader) -> Option<ResourceChoice> {
    match reader.word()?.as_str() {
        "auto" => Some(ResourceChoice::Auto),
        "none" => Some(ResourceChoice::None),
        uri if url::Url::parse(uri).is_ok_and(|url| url.fragment().is_none()) => {
            Some(ResourceChoice::Uri(uri.to_owned()))
        }
        _ => reader.fail("expected `auto`, `none` or an absolute URI without `#`"),
    }
}

fn read_oauth<'a>(fields: &mut Fields<'a>, own: &mut OwnKeys<'a>) -> OAuthConfig {
    let kind = AuthKind::OAuth;
    let defaults = OAuthConfig::default();
    OAuthConfig {
        client_metadata_url: own.read(fields, kind, "clientMetadataUrl", read_metadata_url),
        register: own.read(fields, kind, "register", ValueReader::boolean).unwrap_or(defaults.register),
        require_pkce_metadata: own
            .read(fields, kind, "requirePkceMetadata", ValueReader::boolean)
            .unwrap_or(defaults.require_pkce_metadata),
        redirect_port: own.read(fields, kind, "redirectPort", read_port).unwrap_or(defaults.redirect_port),
        shared: own.read(fields, kind, "shared", ValueReader::boolean).unwrap_or(defaults.shared),
        ..defaults
    }
}

/// `per` and `about`: whether everybody has an account of their own, and what for.
fn read_personal<'a>(fields: &mut Fields<'a>, own: &mut OwnKeys<'a>) -> Option<PersonalAccounts> {
    let kind = AuthKind::OAuth;
    let is_personal = own.read(fields, kind, "per", |per| per.choice(&[("everyone", false), ("person", true)]));
    let is_personal = is_personal.unwrap_or_default();
    let about = own.read(fields, kind, "about", |about| {
        let text = about.string()?;
        match text.chars().count() {
            _ if !is_personal => about.fail("requires `per: person`"),
            0..=MAX_ABOUT => Some(text),
            _ => about.fail(&format!("must have at most {MAX_ABOUT} characters")),
        }
    });
    is_personal.then(|| PersonalAccounts { about: about.unwrap_or_default(), ..PersonalAccounts::default() })
}

fn read_private_key<'a>(fields: &mut Fields<'a>, own: &mut OwnKeys<'a>) -> Option<ClientProof> {
    let kind = AuthKind::ClientCredentials;
    let file = own.read(fields, kind, "privateKeyFile", ValueReader::path_value);
    let key_id = own.read(fields, kind, "keyId", ValueReader::word);
    let algorithm = own.read(fields, kind, "algorithm", |reader| reader.choice(&ALGORITHMS));
    let algorithm = algorithm.unwrap_or(SigningAlgorithm::Es256);
    file.map(|file| ClientProof::PrivateKey { file, key_id, algorithm })
}

struct EnterpriseKeys {
    id_token: Option<IdToken>,
    idp_token_url: Option<String>,
    idp_client: Option<RegisteredClient>,
}

fn read_enterprise<'a>(fields: &mut Fields<'a>, own: &mut OwnKeys<'a>) -> EnterpriseKeys {
    let kind = AuthKind::Enterprise;
    let text = own.read(fields, kind, "idToken", ValueReader::secret).map(IdToken::Text);
    let file = own.read(fields, kind, "idTokenFile", ValueReader::path_value).map(IdToken::File);
    let idp_token_url = own.read(fields, kind, "idpTokenUrl", read_url);
    let id = own.read(fields, kind, "idpClientId", ValueReader::word);
    let secret = own.read(fields, kind, "idpClientSecret", read_secret);
    EnterpriseKeys { id_token: file.or(text), idp_token_url, idp_client: id.map(|id| RegisteredClient { id, secret }) }
}

struct ExchangeKeys {
    audience: Option<String>,
    subject_token_type: SubjectTokenType,
    subject_issuer: Option<String>,
}

fn read_exchange<'a>(fields: &mut Fields<'a>, own: &mut OwnKeys<'a>) -> ExchangeKeys {
    let kind = AuthKind::TokenExchange;
    let token_type = own.read(fields, kind, "subjectTokenType", |reader| reader.choice(&SUBJECT_TOKEN_TYPES));
    ExchangeKeys {
        audience: own.read(fields, kind, "audience", ValueReader::word),
        subject_token_type: token_type.unwrap_or(SubjectTokenType::AccessToken),
        subject_issuer: own.read(fields, kind, "subjectIssuer", ValueReader::word),
    }
}

fn read_client(fields: &mut Fields, id: &'static str, secret: &'static str) -> Option<RegisteredClient> {
    let (id, secret) = (fields.read(id, ValueReader::word), fields.get(secret));
    match (id, secret) {
        (Some(id), secret) => Some(RegisteredClient { id, secret: secret.as_ref().and_then(read_secret) }),
        (None, Some(secret)) => secret.fail("requires `clientId`"),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    fn auth(text: &str) -> AuthConfig {
        let config = loaded(&format!("mcpServers: {{a: {{url: 'https://h/mcp', auth: {text}}}}}"));
        config.servers["a"].auth.clone().unwrap()
    }

    fn problems(text: &str) -> Vec<String> {
        let found = errors(&format!("mcpServers: {{a: {{url: 'https://h/mcp', auth: {text}}}}}"));
        found.iter().map(|text| text.split_once(' ').unwrap().1.to_owned()).collect()
    }

    #[test]
    fn a_log_in_with_a_browser_needs_nothing_but_its_type() {
        assert_eq!(auth("{type: oauth}"), AuthConfig::OAuth(OAuthConfig::default()));
        let AuthConfig::OAuth(full) = auth(
            "{type: oauth, issuer: 'https://as', clientId: me, clientSecret: s, scopes: [read, 'repo:write'], \
             resource: none, requirePkceMetadata: false, redirectPort: 8123, register: false, shared: true, \
             clientMetadataUrl: 'https://h/client.json'}",
        ) else {
            panic!("another type")
        };
        assert_eq!(full.client, Some(RegisteredClient { id: "me".into(), secret: Some(Secret::new("s")) }));
        assert_eq!((full.resource, full.redirect_port, full.scopes.len()), (ResourceChoice::None, 8123, 2));
        assert!(full.shared && !full.register && !full.require_pkce_metadata);
    }

    #[test]
    fn the_proxy_logs_in_as_itself_with_a_secret_or_a_key() {
        let AuthConfig::ClientCredentials(with_key) =
            auth("{type: clientCredentials, clientId: jobs, privateKeyFile: key.pem, keyId: k1, scopes: [run]}")
        else {
            panic!("another type")
        };
        let ClientProof::PrivateKey { file, key_id, algorithm } = with_key.proof else { panic!("a secret") };
        assert!(file.is_absolute() && file.ends_with("key.pem"));
        assert_eq!((key_id.as_deref(), algorithm), (Some("k1"), SigningAlgorithm::Es256));
        assert_eq!(
            problems("{type: clientCredentials, clientId: jobs}"),
            ["`mcpServers.a.auth`: missing key `clientSecret` or `privateKeyFile`"]
        );
        let both = problems("{type: clientCredentials, clientId: jobs, clientSecret: s, privateKeyFile: k}");
        assert_eq!(both, ["`mcpServers.a.auth`: `clientSecret` and `privateKeyFile` are mutually exclusive"]);
    }

    #[test]
    fn endpoints_stand_for_the_metadata_of_an_authorization_server() {
        let urls = "authorizationUrl: 'https://as/authorize?prompt=consent', tokenUrl: 'https://tokens/t'";
        let AuthConfig::OAuth(people) = auth(&format!("{{type: oauth, {urls}, clientId: me}}")) else {
            panic!("another type")
        };
        let endpoints = people.endpoints.unwrap();
        assert_eq!(endpoints.authorization.as_deref(), Some("https://as/authorize?prompt=consent"));
        assert_eq!(endpoints.token, "https://tokens/t");
        assert_eq!(people.issuer.as_deref(), Some("https://as"), "whose page people see");
        assert_eq!(people.resource, ResourceChoice::None, "nothing tells of one");
        let named = auth(&format!("{{type: oauth, {urls}, clientId: me, issuer: 'https://as/x', resource: 'urn:y'}}"));
        let AuthConfig::OAuth(named) = named else { panic!("another type") };
        assert_eq!(named.issuer.as_deref(), Some("https://as/x"));
        assert_eq!(named.resource, ResourceChoice::Uri("urn:y".to_owned()));
        let AuthConfig::ClientCredentials(own) =
            auth("{type: clientCredentials, tokenUrl: 'https://as/t', clientId: me, clientSecret: s}")
        else {
            panic!("another type")
        };
        assert_eq!(own.endpoints, Some(OAuthEndpoints { authorization: None, token: "https://as/t".to_owned() }));
        assert_eq!((own.issuer.as_deref(), own.resource), (Some("https://as/t"), ResourceChoice::None));
    }

    #[test]
    fn half_of_the_endpoints_and_what_needs_metadata_is_an_error() {
        let first = |text: &str| problems(text).remove(0);
        assert!(first("{type: oauth, tokenUrl: 'https://as/t', clientId: c}").contains("key `authorizationUrl`"));
        assert!(first("{type: oauth, authorizationUrl: 'https://as/a', clientId: c}").contains("key `tokenUrl`"));
        let both = "authorizationUrl: 'https://as/a', tokenUrl: 'https://as/t'";
        assert!(first(&format!("{{type: oauth, {both}}}")).contains("missing key `clientId`"));
        let idle = first(&format!("{{type: oauth, {both}, clientId: c, requirePkceMetadata: false}}"));
        assert!(idle.contains("requirePkceMetadata`: has no effect with `authorizationUrl`"), "{idle}");
        let enterprise = first(
            "{type: enterprise, tokenUrl: 'https://as/t', idToken: x, idpTokenUrl: 'https://i/t', idpClientId: i, clientId: c}",
        );
        assert!(enterprise.contains("requires `type: oauth`, `clientCredentials` or `tokenExchange`"), "{enterprise}");
        assert!(
            first("{type: oauth, authorizationUrl: 'http://as/a', tokenUrl: 'https://as/t', clientId: c}")
                .contains("must begin with `https://`")
        );
        let own = "{type: clientCredentials, authorizationUrl: 'https://as/a', clientId: c, clientSecret: s}";
        assert!(first(own).contains("requires `type: oauth`"), "{}", first(own));
    }

    #[test]
    fn a_company_vouches_for_the_local_user() {
        let AuthConfig::Enterprise(enterprise) = auth(
            "{type: enterprise, idTokenFile: id.jwt, idpTokenUrl: 'https://idp/token', idpClientId: i, \
             idpClientSecret: s, clientId: c, clientSecret: t}",
        ) else {
            panic!("another type")
        };
        assert!(matches!(enterprise.id_token, IdToken::File(file) if file.is_absolute()));
        assert_eq!(enterprise.idp_client.id, "i");
        let without = "{type: enterprise, idToken: x, idpTokenUrl: 'https://idp/token', idpClientId: i, clientId: c, resource: none}";
        assert!(problems(without)[0].contains("`resource: none` is not possible"));
        assert_eq!(
            problems("{type: enterprise, idToken: x, idpTokenUrl: 'https://idp/token', clientId: c}"),
            ["`mcpServers.a.auth`: missing key `idpClientId`"]
        );
    }

    #[test]
    fn the_token_of_each_caller_is_exchanged() {
        let with = |auth: &str| {
            format!("mcpServers: {{a: {{url: 'https://h/mcp', auth: {auth}}}}}\nauth: {{issuers: ['https://as']}}\n")
        };
        let config = loaded(&with(
            "{type: tokenExchange, tokenUrl: 'https://as/token', clientId: proxy, clientSecret: s, audience: api, \
             scopes: [read], subjectTokenType: jwt}",
        ));
        let Some(AuthConfig::TokenExchange(exchange)) = &config.servers["a"].auth else { panic!("another type") };
        assert_eq!((exchange.token_url.as_str(), exchange.audience.as_deref()), ("https://as/token", Some("api")));
        assert_eq!(exchange.subject_token_type, SubjectTokenType::Jwt);
        let problem = |auth: &str| errors(&with(auth)).remove(0);
        assert!(problem("{type: tokenExchange, clientId: c}").contains("missing key `tokenUrl`"));
        assert!(problem("{type: tokenExchange, tokenUrl: 'https://as/t'}").contains("missing key `clientId`"));
        let plain = "{type: tokenExchange, tokenUrl: 'http://as.example/t', clientId: c}";
        let found = errors(&with(plain));
        assert!(found.iter().any(|text| text.contains("must begin with `https://`")), "{found:?}");
        let other = "{type: tokenExchange, tokenUrl: 'https://as/t', clientId: c, issuer: 'https://as'}";
        assert!(problem(other).contains("did you mean `subjectIssuer`?"));
        assert!(problem("{type: oauth, audience: x}").contains("requires `type: tokenExchange`"));
        let required = with("{type: tokenExchange, tokenUrl: 'https://as/t', clientId: c}, required: true");
        let found = errors(&required);
        assert!(found[0].contains("`mcpServers.a.required`: has no effect here"), "{found:?}");
    }

    #[test]
    fn a_clients_token_cannot_be_forwarded() {
        for kind in ["passthrough", "bearer", "forward"] {
            let found = problems(&format!("{{type: {kind}}}"));
            assert!(found[0].contains("a client's token is never sent to a server"), "{found:?}");
        }
    }

    #[test]
    fn a_server_has_one_kind_of_credentials() {
        let found = errors("mcpServers:\n  a: {command: x, auth: {type: oauth}}\n");
        assert!(found[0].contains("`mcpServers.a.auth`: requires `url`"), "{found:?}");
        let found = errors("mcpServers:\n  a: {url: 'https://h/', headers: {authorization: x}, auth: {type: oauth}}\n");
        assert!(found[0].contains("conflicts with the header `Authorization`"), "{found:?}");
    }

    #[test]
    fn wrong_values_say_what_is_right() {
        assert_eq!(
            problems("{scopes: [a]}"),
            [
                "`mcpServers.a.auth`: missing key `type`: `oauth`, `clientCredentials`, `enterprise`, `tokenExchange` or `signed`"
            ]
        );
        assert!(problems("{type: oauth, clientId: x}")[0].contains("missing key `issuer`"));
        assert!(problems("{type: oauth, clientSecret: x}")[0].contains("requires `clientId`"));
        assert!(problems("{type: oauth, issuer: 'http://as', clientId: x}")[0].contains("must begin with `https://`"));
        assert!(problems("{type: oauth, issuer: 'https://as/?a=b'}")[0].contains("must not contain `?` or `#`"));
        assert!(problems("{type: oauth, scopes: ['a b']}")[0].contains("a scope must not contain spaces"));
        assert!(problems("{type: oauth, resource: here}")[0].contains("`auto`, `none` or an absolute URI"));
        assert!(problems("{type: oauth, clientMetadataUrl: 'https://h'}")[0].contains("must have a path"));
        assert!(problems("{type: oauth, keyId: k}")[0].contains("requires `type: clientCredentials`"));
        assert!(problems("{type: oauth, redirectPort: 70000}")[0].contains("up to 65535"));
    }
}
