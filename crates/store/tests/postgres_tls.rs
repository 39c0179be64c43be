//! TLS to a PostgreSQL cluster that has its own certificate and takes no other connections.

// A panic in a helper fails the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;

use quad_store::{Location, Store};
use rcgen::{CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A running cluster. Dropping it stops it.
struct Cluster {
    folder: tempfile::TempDir,
    port: u16,
}

impl Cluster {
    /// Starts a cluster whose certificate is for `localhost`. `None` if the tests run without PostgreSQL.
    fn start() -> Option<Cluster> {
        if std::env::var_os("QUAD_TEST_POSTGRES_URL").is_none() {
            eprintln!("skipped: QUAD_TEST_POSTGRES_URL is not set");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let root = issuer("root");
        std::fs::write(file("root.crt"), root.pem()).unwrap();
        std::fs::write(file("other.crt"), issuer("other").pem()).unwrap();
        for (name, purpose) in
            [("server", ExtendedKeyUsagePurpose::ServerAuth), ("client", ExtendedKeyUsagePurpose::ClientAuth)]
        {
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            // PostgreSQL takes the role from the common name.
            params.distinguished_name.push(DnType::CommonName, "certified");
            params.extended_key_usages = vec![purpose];
            let key = KeyPair::generate().unwrap();
            std::fs::write(file(&format!("{name}.crt")), params.signed_by(&key, &root).unwrap().pem())
                .unwrap();
            std::fs::write(file(&format!("{name}.key")), key.serialize_pem()).unwrap();
        }
        // Another user than that of the tests may have to make the cluster.
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), permissions).unwrap();
        let output = Command::new(script())
            .args(["start", "--fast", "--tls"])
            .args([folder.path(), &file("cluster")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let url = String::from_utf8(output.stdout).unwrap();
        let port = url.trim().rsplit([':', '/']).nth(1).unwrap().parse().unwrap();
        Some(Cluster { folder, port })
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Connects, and returns the error with its cause.
    async fn connect(&self, role: &str, host: &str, parameters: &str) -> Result<(), String> {
        let url = format!("postgres://{role}@{host}:{}/quad?{parameters}", self.port);
        let text = |error: quad_core::Error| format!("{error} {:?} {:?}", error.hint_text(), error);
        Store::open(Location::Postgres(url), &[]).await.map(drop).map_err(text)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new(script()).arg("stop").arg(self.folder.path().join("cluster")).status();
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/postgres.sh")
}

fn issuer(name: &str) -> Issuer {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sslmode_checks_what_it_promises() {
    let Some(cluster) = Cluster::start() else { return };
    let (root, other) = (cluster.file("root.crt"), cluster.file("other.crt"));
    let root = format!("sslrootcert={root}");
    let other = format!("sslrootcert={other}");
    for (host, parameters, expected) in [
        ("localhost", "sslmode=disable".to_owned(), Err("no encryption")),
        ("127.0.0.1", String::new(), Ok(())),
        ("127.0.0.1", "sslmode=prefer".to_owned(), Ok(())),
        ("127.0.0.1", "sslmode=require".to_owned(), Ok(())),
        ("127.0.0.1", format!("sslmode=require&{root}"), Ok(())),
        ("127.0.0.1", format!("sslmode=require&{other}"), Err("certificate")),
        ("127.0.0.1", format!("sslmode=verify-ca&{root}"), Ok(())),
        ("127.0.0.1", format!("sslmode=verify-ca&{other}"), Err("certificate")),
        ("localhost", format!("sslmode=verify-full&{root}"), Ok(())),
        ("localhost", format!("sslmode=verify-full&{other}"), Err("certificate")),
        ("127.0.0.1", format!("sslmode=verify-full&{root}"), Err("certificate")),
        ("localhost", "sslmode=verify-full&sslrootcert=/nonexistent.crt".to_owned(), Err("/nonexistent.crt")),
        ("localhost", "sslmode=encrypted".to_owned(), Err("verify-full")),
        ("localhost", "sslmode=require&sslcert=a.crt".to_owned(), Err("sslkey")),
    ] {
        let connected = cluster.connect("quad", host, &parameters).await;
        match (&connected, expected) {
            (Ok(()), Ok(())) => {}
            (Err(message), Err(part)) if message.contains(part) => {}
            _ => panic!("{host} {parameters}: {connected:?}, expected {expected:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_certificate_is_sent() {
    let Some(cluster) = Cluster::start() else { return };
    let refused = cluster.connect("certified", "localhost", "sslmode=require").await.unwrap_err();
    assert!(refused.contains("certificate"), "{refused}");
    let files = format!("sslcert={}&sslkey={}", cluster.file("client.crt"), cluster.file("client.key"));
    cluster.connect("certified", "localhost", &format!("sslmode=require&{files}")).await.unwrap();
}
