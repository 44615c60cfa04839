//! TLS connections with the certificate checks of libpq.

use std::io;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Folder;

/// The size of a file with CA certificates, in bytes. Those of a whole system have 200 KB.
const MAX_CA_FILE: u64 = 4 << 20;

/// A file with CA certificates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CaFile {
    pub(super) name: String,
    pub(super) pem: Vec<u8>,
}

impl CaFile {
    pub(super) fn read(folder: &Folder, path: &str) -> Result<Self, String> {
        let file = folder.open(path)?;
        let unreadable = |error: io::Error| format!("`{path}` cannot be read: {error}");
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(format!("`{path}` is not a file"));
        }
        let pem = file.read(MAX_CA_FILE).map_err(unreadable)?;
        if pem.len() as u64 > MAX_CA_FILE {
            return Err(format!("`{path}` is larger than {MAX_CA_FILE} bytes"));
        }
        let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(CaFile { name, pem })
    }
}

/// Which certificates are accepted. The file contains the CA certificates; `None` means those of the system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Trust {
    /// Any certificate: protects against passive eavesdropping only.
    Any,
    /// A certificate signed by a CA, for any host name.
    Authority(Option<CaFile>),
    /// A certificate signed by a CA for this host name.
    AuthorityAndName(Option<CaFile>),
}

impl Trust {
    /// The TLS connector. Blocking: reads the CA certificates.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let (authorities, any_name) = match self {
            Trust::Any => (None, true),
            Trust::Authority(file) => (Some(authorities(file.as_ref(), &provider)?), true),
            Trust::AuthorityAndName(file) => (Some(authorities(file.as_ref(), &provider)?), false),
        };
        let verifier = Verifier { authorities, any_name, provider: Arc::clone(&provider) };
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = versions.map_err(|error| format!("cannot set up TLS: {error}"))?;
        let config = config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

fn authorities(file: Option<&CaFile>, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let provider = Arc::clone(provider);
    let Some(file) = file else {
        let system = rustls_platform_verifier::Verifier::new(provider);
        return system.map(|found| Arc::new(found) as _).map_err(|error| {
            format!("cannot read the system's CA certificates: {error}; set `sslrootcert` to a file")
        });
    };
    let name = &file.name;
    let wrong = |problem: String| format!("no usable certificates in `{name}` (`sslrootcert`): {problem}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&file.pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    built.map(|verifier| verifier as _).map_err(|error| wrong(error.to_string()))
}

#[derive(Debug)]
struct Verifier {
    /// `None` accepts any certificate.
    authorities: Option<Arc<dyn ServerCertVerifier>>,
    any_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(certificate, intermediates, server, ocsp, now) {
            // The name is checked last, so everything else is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
