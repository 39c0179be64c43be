//! TLS of connections to PostgreSQL: the `ssl…` parameters of a database URL, with the meanings that libpq gives them.
//!
//! | `sslmode` | encrypted | certificate of the server |
//! | --- | --- | --- |
//! | `disable` | never | – |
//! | `prefer`, the default | if the server can | not checked |
//! | `require` | always | not checked; with `sslrootcert` as for `verify-ca` |
//! | `verify-ca` | always | signed by a root certificate |
//! | `verify-full` | always | signed by a root certificate, and for the name of the host |

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::postgres_url::UrlParameters;
use crate::DbError;

/// How a connection is encrypted.
pub(crate) struct Tls {
    /// What the driver asks the server.
    pub(crate) mode: SslMode,
    /// The TLS client.
    pub(crate) connector: MakeRustlsConnect,
}

/// How much of the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verification {
    Nothing,
    Signature,
    SignatureAndName,
}

impl Tls {
    /// The TLS settings of a URL.
    pub(crate) fn from_parameters(parameters: &UrlParameters) -> Result<Tls, DbError> {
        let sslmode = parameters.get("sslmode").unwrap_or("prefer");
        let root_file = parameters.get("sslrootcert");
        let (mode, verification) = match sslmode {
            "disable" => (SslMode::Disable, Verification::Nothing),
            "prefer" => (SslMode::Prefer, Verification::Nothing),
            "require" if root_file.is_some() => (SslMode::Require, Verification::Signature),
            "require" => (SslMode::Require, Verification::Nothing),
            "verify-ca" => (SslMode::Require, Verification::Signature),
            "verify-full" => (SslMode::Require, Verification::SignatureAndName),
            other => {
                return Err(invalid(format!(
                    "sslmode is {other}; use disable, prefer, require, verify-ca or verify-full"
                )));
            }
        };
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(DbError::other)?
            .dangerous()
            .with_custom_certificate_verifier(verifier(verification, root_file, provider)?);
        let config = match (parameters.get("sslcert"), parameters.get("sslkey")) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error))?;
                builder
                    .with_client_auth_cert(certificates(certificate)?, key)
                    .map_err(|error| invalid(format!("sslcert and sslkey do not fit: {error}")))?
            }
            _ => return Err(invalid("sslcert and sslkey are given together or not at all")),
        };
        Ok(Tls { mode, connector: MakeRustlsConnect::new(config) })
    }
}

fn verifier(
    verification: Verification,
    root_file: Option<&str>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, DbError> {
    if verification == Verification::Nothing {
        return Ok(Arc::new(Unverified(provider)));
    }
    let roots = Arc::new(root_certificates(root_file)?);
    let webpki =
        WebPkiServerVerifier::builder_with_provider(roots, provider).build().map_err(DbError::other)?;
    Ok(match verification {
        Verification::SignatureAndName => webpki,
        _ => Arc::new(AnyName(webpki)),
    })
}

/// The root certificates: of the file, of the file that libpq uses, or of the operating system.
fn root_certificates(file: Option<&str>) -> Result<RootCertStore, DbError> {
    let default_file = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".postgresql/root.crt"));
    let file = match file {
        Some("system") => None,
        Some(file) => Some(PathBuf::from(file)),
        None => default_file.filter(|file| file.is_file()),
    };
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            for certificate in certificates(&file)? {
                roots.add(certificate).map_err(|error| unreadable(&file, error))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(invalid("no root certificate was found; name a file with sslrootcert"));
    }
    Ok(roots)
}

fn certificates(file: impl AsRef<Path>) -> Result<Vec<CertificateDer<'static>>, DbError> {
    let file = file.as_ref();
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unreadable(file, error))?;
    if certificates.is_empty() {
        return Err(invalid(format!("{} holds no certificate", file.display())));
    }
    Ok(certificates)
}

fn invalid(message: impl Into<String>) -> DbError {
    DbError::Connect(message.into())
}

fn unreadable(file: impl AsRef<Path>, error: impl std::fmt::Display) -> DbError {
    invalid(format!("{} cannot be read: {error}", file.as_ref().display()))
}

/// Checks no certificate: for `prefer` and `require`, which protect against listening but not against another server.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

/// Checks the signature of a certificate, and not the name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.0.verify_server_cert(certificate, intermediates, name, ocsp_response, now) {
            // The name is checked last, so everything else is right.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
