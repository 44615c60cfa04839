//! Answers requests that a server sends to a client: elicitation, sampling and roots.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use crate::call::{Asker, Attribution, Peer, Question};
use proxy_json::{Object, Raw, RawRef};
use proxy_model::Abilities;
use proxy_wire::{Request, RpcError, encode};

pub(crate) const ELICITATION: &str = "elicitation/create";
const SAMPLING: &str = "sampling/createMessage";
const ROOTS: &str = "roots/list";

/// The client that a request of the server is for.
#[derive(Clone, Debug)]
pub(crate) struct Recipient {
    /// The call during which the server asks. `None` if none of the client's calls is running.
    pub(crate) call: Option<u64>,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) activity: Option<Arc<Activity>>,
}

/// Why no client can be asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoRecipient {
    NoCall,
    SeveralOwners,
    TooManyOfCall,
    TooManyOfConnection,
}

impl NoRecipient {
    fn error(self) -> RpcError {
        RpcError::internal(match self {
            NoRecipient::NoCall => "no client to ask: no client call is running on this connection",
            NoRecipient::TooManyOfCall => "this call has too many unanswered server requests",
            NoRecipient::TooManyOfConnection => "this connection has too many unanswered server requests",
            NoRecipient::SeveralOwners => {
                "ambiguous client: calls from several clients are running on this connection (set `scope: session` in the \
                 proxy's config to give each client its own)"
            }
        })
    }
}

/// What the server was told its clients can be asked, and how long an answer may take.
#[derive(Clone, Debug)]
pub(crate) struct QuestionTerms {
    pub(crate) declared: Abilities,
    pub(crate) timeout: Duration,
    pub(crate) attribution: Attribution,
}

/// The encoded response to a request of the server. `ended` is cancelled when the call it belongs to has ended.
pub(crate) async fn answer(
    server: &str,
    request: Request,
    recipient: Result<Recipient, NoRecipient>,
    terms: QuestionTerms,
    ended: &CancellationToken,
) -> String {
    let outcome = tokio::select! {
        biased;
        // Answered with an error, so that the server does not wait for an answer that will not come.
        () = ended.cancelled() => Err(RpcError::internal("the call has ended")),
        outcome = ask(server, &request, recipient, terms) => outcome,
    };
    encode::outcome(&request.id, &outcome)
}

async fn ask(
    server: &str,
    request: &Request,
    recipient: Result<Recipient, NoRecipient>,
    terms: QuestionTerms,
) -> Result<Raw, RpcError> {
    let params = request.params.clone().unwrap_or_else(|| proxy_json::raw(&serde_json::json!({})));
    check_permitted(terms.declared, &request.method, &params)?;
    let recipient = recipient.map_err(NoRecipient::error)?;
    check_permitted(recipient.peer.askable(), &request.method, &params)?;
    // The time the client takes does not count toward the timeout of the server's call.
    let _pause = recipient.activity.as_ref().map(Activity::pause);
    let params = terms.attribution.params(server, &request.method, params);
    let question =
        Question { method: request.method.clone(), params, answer_timeout: terms.timeout, asker: Asker::Server };
    match tokio::time::timeout(terms.timeout, recipient.peer.ask(question)).await {
        Ok(answer) => answer,
        Err(_) => Err(RpcError::internal("the client did not answer in time")),
    }
}

/// Checks whether a client with these abilities can be asked this.
pub(crate) fn check_permitted(abilities: Abilities, method: &str, params: &RawRef) -> Result<(), RpcError> {
    let object = Object::of(params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let refused = |what: &str| Err(RpcError::invalid_params(&format!("the client did not declare {what}")));
    match method {
        ELICITATION if abilities.form || abilities.url => match object.string("mode").as_deref() {
            None | Some("form") if abilities.form => Ok(()),
            Some("url") if abilities.url && !is_web(&object) => {
                Err(RpcError::invalid_params("the elicitation URL must be `http` or `https`"))
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
        check_permitted(abilities, method, &proxy_json::valid(params.to_owned()).unwrap()).map_err(|error| error.code())
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
