//! A server that asks in the middle of a call: whom, whether it may, and what it hears.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::any_transport::Activity;
use crate::backend::call::peer::{Peer, Question};
use crate::json::{Object, Raw, RawRef};
use crate::model::Abilities;
use crate::wire::{Request, RpcError, encode};

pub(crate) const ELICITATION: &str = "elicitation/create";
pub(crate) const SAMPLING: &str = "sampling/createMessage";
pub(crate) const ROOTS: &str = "roots/list";

/// The call a server's question belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    /// None if the client is asked while no call of it runs.
    pub(crate) call: Option<u64>,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) pulse: Option<Arc<Activity>>,
}

/// Why a question cannot be put to anybody.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nobody {
    NoCall,
    SeveralOwners,
    TooMany,
}

impl Nobody {
    fn error(self) -> RpcError {
        RpcError::internal(match self {
            Nobody::NoCall => "there is nobody to ask: no call of a client is running on this connection",
            Nobody::TooMany => "too many questions of this call are not answered yet",
            Nobody::SeveralOwners => {
                "it cannot be told whom to ask: calls of several clients are running on this connection (with \
                 `scope: session` in the proxy's config each client has one of its own)"
            }
        })
    }
}

/// What both ends of a connection agreed may be asked, and how long an answer may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) declared: Abilities,
    pub(crate) patience: Duration,
}

/// The answer to a server's request, as it is sent back.
pub(crate) async fn answer(
    request: Request,
    asker: Result<Asker, Nobody>,
    terms: Terms,
    ended: &CancellationToken,
) -> String {
    let outcome = tokio::select! {
        biased;
        // The server hears it, so that it does not wait for an answer that will not come.
        () = ended.cancelled() => Err(RpcError::internal("the call has ended")),
        outcome = ask(&request, asker, terms) => outcome,
    };
    encode::outcome(&request.id, &outcome)
}

async fn ask(request: &Request, asker: Result<Asker, Nobody>, terms: Terms) -> Result<Raw, RpcError> {
    let params = request.params.clone().unwrap_or_else(|| crate::json::raw(&serde_json::json!({})));
    permitted(terms.declared, &request.method, &params)?;
    let asker = asker.map_err(Nobody::error)?;
    permitted(asker.peer.askable(), &request.method, &params)?;
    // The time a person takes is not the server's.
    let _waiting = asker.pulse.as_ref().map(Activity::pause);
    let question = Question { method: request.method.clone(), params, patience: terms.patience };
    match tokio::time::timeout(terms.patience, asker.peer.ask(question)).await {
        Ok(answer) => answer,
        Err(_) => Err(RpcError::internal("nobody answered in time")),
    }
}

/// Whether a client with these abilities may be asked this.
pub(crate) fn permitted(abilities: Abilities, method: &str, params: &RawRef) -> Result<(), RpcError> {
    let object = Object::of(params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let refused = |what: &str| Err(RpcError::invalid_params(&format!("the client did not declare {what}")));
    match method {
        ELICITATION if abilities.form || abilities.url => match object.string("mode").as_deref() {
            None | Some("form") if abilities.form => Ok(()),
            Some("url") if abilities.url && !is_web(&object) => {
                Err(RpcError::invalid_params("a person is sent to `http` and `https` addresses only"))
            }
            Some("url") if abilities.url => Ok(()),
            Some(mode @ ("form" | "url")) => refused(&format!("the elicitation mode `{mode}`")),
            None => refused("the elicitation mode `form`"),
            Some(other) => Err(RpcError::invalid_params(&format!("unknown elicitation mode `{other}`"))),
        },
        SAMPLING if abilities.sampling => {
            let uses_tools = object.get("tools").is_some() || object.get("toolChoice").is_some();
            if uses_tools && !abilities.sampling_tools { refused("`sampling.tools`") } else { Ok(()) }
        }
        ROOTS if abilities.roots => Ok(()),
        other => Err(RpcError::method_not_found(other)),
    }
}

fn is_web(params: &Object<'_>) -> bool {
    params.string("url").is_some_and(|url| url.starts_with("https://") || url.starts_with("http://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(abilities: Abilities, method: &str, params: &str) -> Result<(), i64> {
        permitted(abilities, method, &crate::json::valid(params.to_owned()).unwrap()).map_err(|error| error.code())
    }

    #[test]
    fn a_client_is_asked_only_what_it_declared() {
        let form = Abilities { form: true, ..Abilities::default() };
        assert_eq!(asked(form, ELICITATION, "{}"), Ok(()));
        assert_eq!(asked(form, ELICITATION, r#"{"mode":"form"}"#), Ok(()));
        assert_eq!(asked(form, ELICITATION, r#"{"mode":"url"}"#), Err(-32602));
        assert_eq!(asked(form, ELICITATION, r#"{"mode":"dance"}"#), Err(-32602));
        assert_eq!(asked(form, SAMPLING, "{}"), Err(-32601));
        let url = Abilities { url: true, ..Abilities::default() };
        assert_eq!(asked(url, ELICITATION, r#"{"mode":"url","url":"https://example.com/"}"#), Ok(()));
        assert_eq!(asked(url, ELICITATION, r#"{"mode":"url","url":"javascript:alert(1)"}"#), Err(-32602));
        assert_eq!(asked(url, ELICITATION, "{}"), Err(-32602));
        let sampling = Abilities { sampling: true, ..Abilities::default() };
        assert_eq!(asked(sampling, SAMPLING, "{}"), Ok(()));
        assert_eq!(asked(sampling, SAMPLING, r#"{"tools":[]}"#), Err(-32602));
        assert_eq!(asked(Abilities::default(), ROOTS, "{}"), Err(-32601));
        assert_eq!(asked(form, "vendor/ask", "{}"), Err(-32601));
    }
}
