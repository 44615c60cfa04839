//! A browser without scripts: it keeps cookies, sends forms, and follows redirects when it is told to. Cookies do not know
//! ports, so here as in real browsers they go to every server on this machine.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use reqwest::redirect::Policy;
use url::Url;

use super::issuer::SIGNED_IN;

#[derive(Debug)]
pub struct Browser {
    client: reqwest::Client,
    cookies: Mutex<BTreeMap<String, String>>,
    /// What it was given that is nobody else's business.
    secrets: Mutex<Vec<String>>,
}

/// What the browser shows.
#[derive(Clone, Debug)]
pub struct BrowserPage {
    pub status: u16,
    pub url: Url,
    pub html: String,
    /// Where the browser is sent.
    pub location: Option<String>,
    pub headers: http::HeaderMap,
}

impl Browser {
    /// The browser of a person who has signed in at the issuer.
    pub fn of(person: &str) -> Self {
        let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        let browser = Self { client, cookies: Mutex::default(), secrets: Mutex::default() };
        browser.plant(SIGNED_IN, person);
        browser
    }

    /// Sets a cookie, as another server on this machine can.
    pub fn plant(&self, name: &str, value: &str) {
        self.jar().insert(name.to_owned(), value.to_owned());
    }

    pub fn cookie(&self, name: &str) -> Option<String> {
        self.jar().get(name).cloned()
    }

    /// The cookies of the proxy, the marks of its forms, and the codes and states in addresses: all that it ever had.
    pub fn secrets(&self) -> Vec<String> {
        self.kept().clone()
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn jar(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.cookies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens an address. Redirects are not followed.
    pub async fn open(&self, url: &str) -> BrowserPage {
        self.send(self.client.get(url), url).await
    }

    /// Opens an address, as one of several that are opened at once.
    pub async fn open_owned(&self, url: String) -> BrowserPage {
        self.open(&url).await
    }

    /// Opens an address, and goes wherever it leads.
    pub async fn visit(&self, url: &str) -> BrowserPage {
        self.follow(self.open(url).await).await
    }

    /// Goes wherever a page leads.
    pub async fn follow(&self, mut page: BrowserPage) -> BrowserPage {
        while let Some(next) = page.location.clone() {
            page = self.open(&next).await;
        }
        page
    }

    /// Goes where a page leads, up to an address that begins like this, which is not opened.
    pub async fn follow_to(&self, mut page: BrowserPage, begin: &str) -> String {
        loop {
            let Some(next) = page.location.clone() else { panic!("not sent to {begin}: {page:?}") };
            if next.starts_with(begin) {
                return next;
            }
            page = self.open(&next).await;
        }
    }

    /// Presses a button, and goes wherever it leads.
    pub async fn press(&self, page: &BrowserPage, label: &str) -> BrowserPage {
        let pressed = self.press_only(page, label).await;
        self.follow(pressed).await
    }

    /// Presses a button. Redirects are not followed.
    pub async fn press_only(&self, page: &BrowserPage, label: &str) -> BrowserPage {
        let (action, fields) = page.form(label);
        let origin = page.url.origin().ascii_serialization();
        self.post(&action, &fields, Some(&origin)).await
    }

    /// Sends a form.
    pub async fn post(&self, url: &str, fields: &[(String, String)], origin: Option<&str>) -> BrowserPage {
        let form: String = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut request = self.client.post(url).header("content-type", "application/x-www-form-urlencoded").body(form);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        self.send(request, url).await
    }

    async fn send(&self, request: reqwest::RequestBuilder, url: &str) -> BrowserPage {
        let cookies: Vec<String> = self.jar().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = request.header("cookie", cookies.join("; ")).header("accept", "text/html").send().await;
        let answer = answer.unwrap_or_else(|error| panic!("{url}: {error}"));
        for cookie in answer.headers().get_all("set-cookie") {
            let pair = cookie.to_str().expect("text").split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').expect("a cookie");
            if name.contains("proxy-") && !value.is_empty() {
                self.kept().push(value.to_owned());
            }
            match value {
                "" => drop(self.jar().remove(name)),
                value => drop(self.jar().insert(name.to_owned(), value.to_owned())),
            }
        }
        let (status, url, headers) = (answer.status().as_u16(), answer.url().clone(), answer.headers().clone());
        let location = headers.get("location").and_then(|next| next.to_str().ok());
        let location = location.and_then(|next| url.join(next).ok());
        let html = answer.text().await.unwrap_or_default();
        let marks = html.split("name=\"csrf\" value=\"").skip(1).filter_map(|rest| rest.split('"').next());
        self.kept().extend(marks.map(str::to_owned));
        if let Some(next) = &location {
            let secret = next.query_pairs().filter(|(name, _)| name == "code" || name == "state");
            self.kept().extend(secret.map(|(_, value)| value.into_owned()));
        }
        BrowserPage { status, url, location: location.map(String::from), headers, html }
    }
}

impl BrowserPage {
    /// The address and the fields of the form with this button.
    pub fn form(&self, label: &str) -> (String, Vec<(String, String)>) {
        let end = format!(">{label}</button>");
        let form = self.html.split("<form").skip(1).find(|form| form.contains(&end));
        let form = form.unwrap_or_else(|| panic!("no button `{label}`: {self:?}"));
        let value = |text: &str, name: &str| {
            let (_, rest) = text.split_once(&format!("{name}=\"")).expect("an attribute");
            unescaped(rest.split('"').next().unwrap_or_default())
        };
        let fields = form.split("<input").skip(1).map(|input| (value(input, "name"), value(input, "value"))).collect();
        (value(form, "action"), fields)
    }

    pub fn has_button(&self, label: &str) -> bool {
        self.html.contains(&format!(">{label}</button>"))
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}
