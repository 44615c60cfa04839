//! Handles the requests and notifications of the client.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use lsp_server::{ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument, Exit, Notification as _,
};
use lsp_types::request::{
    Completion, DocumentSymbolRequest, GotoDefinition, HoverRequest, Initialize, Request as _, Shutdown,
    SignatureHelpRequest,
};
use lsp_types::{
    CompletionOptions, CompletionParams, CompletionResponse, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DocumentSymbolParams, DocumentSymbolResponse, GotoDefinitionParams, HoverParams,
    HoverProviderCapability, InitializeParams, InitializeResult, OneOf, PositionEncodingKind, ServerCapabilities,
    ServerInfo, SignatureHelpOptions, SignatureHelpParams, TextDocumentPositionParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::complete::complete;
use super::connection::{self, ClientOutput, Incoming};
use super::definition::definition;
use super::document::{OpenDocument, path_of};
use super::hover::hover;
use super::signature::signature_help;
use super::symbols::symbols;
use super::worker::{CheckWorker, publish};
use super::workspace::{Workspace, WorkspaceState};
use proxy_script::on_big_stack;

/// How the server ended. A client must send `shutdown` before `exit` or closing the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LspEnd {
    Asked,
    Unasked,
}

/// Serves until the client sends `exit` or closes the connection.
pub fn serve(mut input: impl BufRead, output: Box<dyn Write + Send>, workspace: Workspace) -> std::io::Result<LspEnd> {
    let output = ClientOutput::new(output);
    let worker = CheckWorker::start(workspace, output.clone())?;
    let mut server = LanguageServer { output, worker, documents: HashMap::new(), phase: Phase::Uninitialized };
    loop {
        match connection::read(&mut input)? {
            Incoming::Message(Message::Request(request)) => server.request(request),
            Incoming::Message(Message::Notification(notification)) if notification.method == Exit::METHOD => break,
            Incoming::Message(Message::Notification(notification)) => server.notification(notification),
            // The server sends no requests, so no response is expected.
            Incoming::Message(Message::Response(_)) => {}
            Incoming::Malformed(reason) => server.output.send_parse_error(&reason),
            Incoming::Closed => break,
        }
    }
    Ok(if server.phase == Phase::ShutDown { LspEnd::Asked } else { LspEnd::Unasked })
}

/// The lifecycle of the server, as the protocol defines it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Uninitialized,
    Initialized,
    /// After `shutdown`; only `exit` may follow.
    ShutDown,
}

struct LanguageServer {
    output: ClientOutput,
    worker: CheckWorker,
    /// Open documents by URI.
    documents: HashMap<String, OpenDocument>,
    phase: Phase,
}

/// A result, or a code and message of an error.
type RequestResult = Result<Value, (ErrorCode, String)>;

fn invalid_params(message: impl ToString) -> (ErrorCode, String) {
    (ErrorCode::InvalidParams, message.to_string())
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, (ErrorCode, String)> {
    serde_json::from_value(params).map_err(invalid_params)
}

fn result(value: impl Serialize) -> RequestResult {
    serde_json::to_value(value).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}

/// The result of something that walks over a syntax tree.
fn answered<T: Serialize + Send>(answer: impl FnOnce() -> T + Send) -> RequestResult {
    result(on_big_stack(answer).map_err(|failure| (ErrorCode::InternalError, failure.diagnostic.message.clone()))?)
}

impl LanguageServer {
    fn request(&mut self, request: Request) {
        let response = match self.handle(&request.method, request.params) {
            Ok(result) => Response::new_ok(request.id, result),
            Err((code, message)) => Response::new_err(request.id, code as i32, message),
        };
        self.output.send(response);
    }

    fn handle(&mut self, method: &str, params: Value) -> RequestResult {
        match (self.phase, method) {
            (Phase::Uninitialized, Initialize::METHOD) => self.initialize(parse(params)?),
            (Phase::Uninitialized, _) => {
                Err((ErrorCode::ServerNotInitialized, "the first request must be `initialize`".to_owned()))
            }
            (Phase::ShutDown, _) => {
                Err((ErrorCode::InvalidRequest, "the server is shut down and accepts only `exit`".to_owned()))
            }
            (Phase::Initialized, Shutdown::METHOD) => {
                self.phase = Phase::ShutDown;
                Ok(Value::Null)
            }
            (Phase::Initialized, Completion::METHOD) => {
                let params: CompletionParams = parse(params)?;
                self.at(&params.text_document_position, |open, offset, workspace| {
                    Some(CompletionResponse::Array(complete(&open.document, offset, workspace)))
                })
            }
            (Phase::Initialized, HoverRequest::METHOD) => {
                let params: HoverParams = parse(params)?;
                self.at(&params.text_document_position_params, |open, offset, workspace| {
                    hover(&open.document, offset, workspace)
                })
            }
            (Phase::Initialized, GotoDefinition::METHOD) => {
                let params: GotoDefinitionParams = parse(params)?;
                self.at(&params.text_document_position_params, definition)
            }
            (Phase::Initialized, SignatureHelpRequest::METHOD) => {
                let params: SignatureHelpParams = parse(params)?;
                self.at(&params.text_document_position_params, |open, offset, workspace| {
                    signature_help(&open.document, offset, workspace)
                })
            }
            (Phase::Initialized, DocumentSymbolRequest::METHOD) => {
                let params: DocumentSymbolParams = parse(params)?;
                let open = self.open(&params.text_document.uri)?;
                answered(|| DocumentSymbolResponse::Nested(symbols(&open.document)))
            }
            (Phase::Initialized, _) => Err((ErrorCode::MethodNotFound, format!("method `{method}` is not supported"))),
        }
    }

    fn initialize(&mut self, params: InitializeParams) -> RequestResult {
        if let Some(folder) = workspace_folder(params) {
            self.worker.set_folder(folder);
        }
        self.phase = Phase::Initialized;
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::FULL),
            save: Some(TextDocumentSyncSaveOptions::Supported(true)),
            ..TextDocumentSyncOptions::default()
        };
        let trigger_characters = [".", "\"", "'", "/"].map(str::to_owned).to_vec();
        let capabilities = ServerCapabilities {
            position_encoding: Some(PositionEncodingKind::UTF16),
            text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
            completion_provider: Some(CompletionOptions {
                trigger_characters: Some(trigger_characters),
                ..CompletionOptions::default()
            }),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
            definition_provider: Some(OneOf::Left(true)),
            document_symbol_provider: Some(OneOf::Left(true)),
            signature_help_provider: Some(SignatureHelpOptions {
                trigger_characters: Some(["(", ","].map(str::to_owned).to_vec()),
                ..SignatureHelpOptions::default()
            }),
            ..ServerCapabilities::default()
        };
        let server_info = ServerInfo { name: "proxy".to_owned(), version: Some(proxy_base::VERSION.to_owned()) };
        result(InitializeResult { capabilities, server_info: Some(server_info) })
    }

    fn open(&self, uri: &Uri) -> Result<&OpenDocument, (ErrorCode, String)> {
        let uri = uri.as_str();
        self.documents.get(uri).ok_or_else(|| invalid_params(format!("document `{uri}` is not open")))
    }

    /// Answers a request about a position in an open document.
    fn at<T: Serialize + Send>(
        &self,
        params: &TextDocumentPositionParams,
        answer: impl FnOnce(&OpenDocument, usize, &WorkspaceState) -> Option<T> + Send,
    ) -> RequestResult {
        let open = self.open(&params.text_document.uri)?;
        let offset = open.document.offset(params.position);
        let workspace = self.worker.workspace_state();
        answered(|| answer(open, offset, &workspace))
    }

    /// Handles a notification. Notifications have no response, so those with invalid params are ignored.
    fn notification(&mut self, notification: Notification) {
        if self.phase != Phase::Initialized {
            return;
        }
        let params = notification.params;
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Ok(DidOpenTextDocumentParams { text_document: document }) = parse(params) {
                    self.update(OpenDocument::new(document.uri, document.version, document.text));
                }
            }
            DidChangeTextDocument::METHOD => {
                // The server asked for full synchronization: each change has the whole text.
                if let Ok(DidChangeTextDocumentParams { text_document: document, mut content_changes }) = parse(params)
                    && let Some(change) = content_changes.pop()
                {
                    self.update(OpenDocument::new(document.uri, document.version, change.text));
                }
            }
            DidSaveTextDocument::METHOD => {
                self.worker.reload_workspace();
                for document in self.documents.values() {
                    self.worker.check(document.clone());
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Ok(DidCloseTextDocumentParams { text_document: document }) = parse(params) {
                    self.close(document.uri);
                }
            }
            _ => {}
        }
    }

    fn update(&mut self, document: OpenDocument) {
        // Editors also send the config file, which is no Starlark.
        let extension = document.uri.as_str().rsplit(['/', '.']).next().unwrap_or_default().to_ascii_lowercase();
        if ["yaml", "yml", "json", "jsonc", "toml"].contains(&extension.as_str()) {
            return;
        }
        self.documents.insert(document.uri.as_str().to_owned(), document.clone());
        self.worker.check(document);
    }

    fn close(&mut self, uri: Uri) {
        self.documents.remove(uri.as_str());
        self.worker.cancel(&uri);
        publish(&self.output, uri, None, Vec::new());
    }
}

#[expect(deprecated, reason = "clients without workspace folders send only `rootUri`")]
fn workspace_folder(params: InitializeParams) -> Option<PathBuf> {
    let first = params.workspace_folders.and_then(|folders| folders.into_iter().next());
    path_of(&first.map(|folder| folder.uri).or(params.root_uri)?)
}
