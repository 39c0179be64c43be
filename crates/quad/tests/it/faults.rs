//! Faults of the machine, injected as they happen: a full disk, a read-only folder, a failing sync, a deleted file, a
//! locked file, a paused PostgreSQL, thousands of idle connections. The server must say what is wrong and recover.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::helpers::{json_body, post_request, with_token};
use crate::http::{HttpClient, Request, Response};
use crate::instance::{Process, TestInstance, runtime};
use crate::matrix::Backend;

/// How long `/readyz` may take, whatever is wrong.
const READY_TIME_MAX: Duration = Duration::from_secs(2);

/// How long the server may take to notice that a fault is gone.
const RECOVERY_TIME_MAX: Duration = Duration::from_secs(20);

/// A running `quad serve` whose log is kept.
struct LoggedServer {
    process: Process,
    authority: String,
    token: String,
    log: PathBuf,
    startup_line: String,
    _log_folder: TempDir,
}

impl LoggedServer {
    fn start(instance: &TestInstance, arguments: &[&str], variables: &[(&str, &str)]) -> LoggedServer {
        let token = instance.mint_token("local", "tester", "*:*");
        let log_folder = tempfile::tempdir().unwrap();
        let log = log_folder.path().join("log");
        let mut command = instance.quad_command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        command.args(arguments).env("QUAD_LOG", "info").envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log).unwrap());
        let mut process = Process(command.spawn().unwrap());
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let startup_line = lines.next().expect("quad serve ended before it printed its endpoint").unwrap();
        let endpoint: Value = serde_json::from_str(&startup_line).unwrap();
        let endpoint = endpoint["endpoint"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let authority = endpoint.strip_suffix("/mcp").unwrap().to_owned();
        LoggedServer { process, authority, token, log, startup_line, _log_folder: log_folder }
    }

    fn get(&self, path: &str) -> Response {
        HttpClient::new(&self.authority).send(&Request::new("GET", path)).unwrap()
    }

    /// The answer of `/readyz`, which must come in time.
    fn readiness(&self) -> (u16, String) {
        let started = Instant::now();
        let response = self.get("/readyz");
        let took = started.elapsed();
        assert!(took < READY_TIME_MAX, "/readyz took {took:?}: {}", response.text());
        (response.status, response.text())
    }

    /// Waits until `/readyz` says `status`.
    fn wait_until_ready_is(&self, status: u16) -> String {
        let started = Instant::now();
        loop {
            let (actual, text) = self.readiness();
            if actual == status {
                return text;
            }
            assert!(started.elapsed() < RECOVERY_TIME_MAX, "/readyz still says {actual} {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn call(&self, method: &str, params: &Value) -> Response {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        HttpClient::new(&self.authority).send(&with_token(post_request(body), &self.token)).unwrap()
    }

    fn read(&self) -> Response {
        self.call("resources/read", &json!({"uri": "bkend://orgs"}))
    }

    /// Adds a memory of some kilobytes.
    fn write(&self) -> Response {
        let arguments = json!({"event_type": "fact", "content": "x".repeat(8_000)});
        self.call("tools/call", &json!({"name": "memory_add", "arguments": arguments}))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn metrics(&self) -> String {
        self.get("/metrics").text()
    }
}

/// The error envelope of a reply, whichever form it has.
fn error_of(response: &Response) -> Option<Value> {
    let reply = json_body(response);
    if reply["result"]["isError"] == true {
        // A client that names no revision gets the oldest one, whose results have text only.
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        return Some(serde_json::from_str::<Value>(text).unwrap()["error"].clone());
    }
    reply.pointer("/error/data").cloned()
}

/// Whether a command of the system succeeds.
fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let command = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    command.is_ok_and(|status| status.success())
}

/// A small file system in memory. Unmounted when dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap().to_owned();
        let is_mounted = succeeds("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", &path]);
        is_mounted.then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = succeeds("umount", &["--lazy", self.0.path().to_str().unwrap()]);
    }
}

#[test]
fn full_disk_is_named_and_passes() {
    let Some(disk) = SmallDisk::mount("48m") else {
        eprintln!("skipped: a tmpfs cannot be mounted");
        return;
    };
    let mut instance = TestInstance::without_data(Backend::Sqlite, None);
    let folder = disk.0.path().join("data");
    instance.set_variable("QUAD_DATA_DIR", folder.to_str().unwrap());
    let server = LoggedServer::start(&instance, &[], &[]);
    assert_eq!(server.readiness().0, 200);
    let filler = disk.0.path().join("filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[0; 4_096]).is_ok() {}
    // An open file would keep its space after it is removed.
    drop(file);
    let reason = server.wait_until_ready_is(503);
    assert!(reason.contains("disk") && reason.contains("full"), "{reason}");
    assert_eq!(server.get("/healthz").status, 200);
    // The log still has some room in it; then each call says what is wrong.
    let failed = (0..4_000).find_map(|_| {
        let response = server.write();
        error_of(&response).map(|error| (response, error))
    });
    let (response, error) = failed.expect("no call failed");
    assert_eq!((&error["code"], &error["kind"]), (&json!("DISK_FULL"), &json!("unavailable")), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("space"), "{error}");
    assert!(response.header("retry-after").is_some());
    std::fs::remove_file(&filler).unwrap();
    server.wait_until_ready_is(200);
    assert_eq!(error_of(&server.write()), None);
    assert!(server.log().contains("not ready") && server.log().contains("ready again"), "{}", server.log());
}

#[test]
fn read_only_folder_is_not_ready() {
    let instance = TestInstance::on_sqlite();
    let server = LoggedServer::start(&instance, &[], &[]);
    let folder = instance.folder().to_str().unwrap().to_owned();
    // A user's rights do not bind root; the immutable flag does.
    let mode = instance.folder().metadata().unwrap().permissions();
    std::fs::set_permissions(instance.folder(), std::fs::Permissions::from_mode(0o500)).unwrap();
    let is_immutable = succeeds("chattr", &["+i", &folder]);
    let is_read_only = File::create(instance.folder().join("probe")).is_err();
    let outcome = is_read_only.then(|| server.wait_until_ready_is(503));
    if is_immutable {
        assert!(succeeds("chattr", &["-i", &folder]));
    }
    std::fs::set_permissions(instance.folder(), mode).unwrap();
    let Some(reason) = outcome else {
        eprintln!("skipped: neither the mode nor the immutable flag makes a folder read-only here");
        return;
    };
    assert!(reason.contains("cannot be written"), "{reason}");
    server.wait_until_ready_is(200);
}

/// Compiles a library whose `fsync` fails while a file exists.
fn fsync_shim(folder: &Path) -> Option<PathBuf> {
    let (source, library) = (folder.join("shim.c"), folder.join("shim.so"));
    std::fs::write(
        &source,
        r#"
        #define _GNU_SOURCE
        #include <errno.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static int fails(void) {
            const char *file = getenv("SYNC_FAULT");
            return file && access(file, F_OK) == 0;
        }
        int fsync(int fd) {
            if (fails()) { errno = EIO; return -1; }
            return (int) syscall(SYS_fsync, fd);
        }
        int fdatasync(int fd) {
            if (fails()) { errno = EIO; return -1; }
            return (int) syscall(SYS_fdatasync, fd);
        }
        "#,
    )
    .unwrap();
    let (source, output) = (source.to_str().unwrap(), library.to_str().unwrap());
    succeeds("cc", &["-shared", "-fPIC", "-o", output, source]).then_some(library)
}

#[test]
fn failing_sync_is_named_and_no_write_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = fsync_shim(folder.path()) else {
        eprintln!("skipped: there is no C compiler");
        return;
    };
    let fault = folder.path().join("fault");
    let instance = TestInstance::on_sqlite();
    let variables = [("LD_PRELOAD", shim.to_str().unwrap()), ("SYNC_FAULT", fault.to_str().unwrap())];
    let server = LoggedServer::start(&instance, &[], &variables);
    assert_eq!(server.readiness().0, 200);
    assert_eq!(error_of(&server.write()), None);
    File::create(&fault).unwrap();
    let reason = server.wait_until_ready_is(503);
    assert!(reason.contains("fails"), "{reason}");
    for response in [server.write(), server.read()] {
        let error = error_of(&response).expect("a call was acknowledged without a sync");
        assert_eq!((&error["code"], &error["kind"]), (&json!("DATABASE_IO_ERROR"), &json!("unavailable")));
    }
    std::fs::remove_file(&fault).unwrap();
    server.wait_until_ready_is(200);
    assert_eq!(error_of(&server.write()), None);
}

#[test]
fn deleted_or_replaced_database_file_is_noticed() {
    let instance = TestInstance::on_sqlite();
    let server = LoggedServer::start(&instance, &[], &[]);
    assert_eq!(server.readiness().0, 200);
    let (file, aside) = (instance.database_file(), instance.folder().join("aside.db"));
    std::fs::rename(&file, &aside).unwrap();
    for is_replaced in [false, true] {
        if is_replaced {
            std::fs::copy(&aside, &file).unwrap();
        }
        let reason = server.wait_until_ready_is(503);
        assert!(reason.contains("deleted or replaced"), "{reason}");
        let error = error_of(&server.write()).expect("a write into a deleted file was acknowledged");
        assert_eq!(error["code"], "DATABASE_REPLACED", "{error}");
        assert!(is_replaced || !file.exists(), "an empty database was made");
    }
    std::fs::rename(&aside, &file).unwrap();
    server.wait_until_ready_is(200);
    assert_eq!(error_of(&server.write()), None);
}

#[test]
fn lock_of_another_program_is_logged() {
    let instance = TestInstance::on_sqlite();
    let server = LoggedServer::start(&instance, &[], &[]);
    let other = rusqlite::Connection::open(instance.database_file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let reason = server.wait_until_ready_is(503);
    assert!(reason.contains("in time"), "{reason}");
    let log = server.log();
    assert!(log.contains("waiting for a lock on the database file"), "{log}");
    other.execute_batch("ROLLBACK").unwrap();
    server.wait_until_ready_is(200);
}

/// A PostgreSQL cluster of one test, which can be paused.
struct Cluster {
    folder: TempDir,
    url: String,
}

impl Cluster {
    fn script() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/postgres.sh")
    }

    /// `None` if the tests run without PostgreSQL.
    fn start() -> Option<Cluster> {
        std::env::var_os("QUAD_TEST_POSTGRES_URL")?;
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(Cluster::script()).args(["start", "--fast"]).arg(folder.path()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let url = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        Some(Cluster { folder, url })
    }

    /// Sends a signal to the server and all its processes.
    fn signal(&self, signal: &str) {
        // A server that was stopped has no such file.
        let file = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid"));
        let Ok(file) = file else { return };
        let parent = file.lines().next().unwrap().to_owned();
        let mut processes = vec![parent.clone()];
        for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else { continue };
            let is_child =
                status.lines().any(|line| line.strip_prefix("PPid:").is_some_and(|id| id.trim() == parent));
            if is_child {
                processes.push(entry.file_name().into_string().unwrap());
            }
        }
        for process in processes {
            succeeds("kill", &[signal, &process]);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.signal("-CONT");
        let _ = Command::new(Cluster::script()).arg("stop").arg(self.folder.path()).status();
    }
}

#[test]
fn paused_and_stopped_postgres_is_busy_not_internal() {
    let Some(cluster) = Cluster::start() else {
        eprintln!("skipped: QUAD_TEST_POSTGRES_URL is not set");
        return;
    };
    let instance = TestInstance::without_data(Backend::Postgres, Some(cluster.url.clone()));
    let server = LoggedServer::start(&instance, &[], &[]);
    assert_eq!(server.readiness().0, 200);
    cluster.signal("-STOP");
    let reason = server.wait_until_ready_is(503);
    assert!(reason.contains("in time"), "{reason}");
    assert_eq!(server.get("/healthz").status, 200);
    cluster.signal("-CONT");
    server.wait_until_ready_is(200);
    assert_eq!(error_of(&server.write()), None);
    admin(
        &cluster,
        "ALTER ROLE quad CONNECTION LIMIT 0; \
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'quad'",
    );
    let reason = server.wait_until_ready_is(503);
    assert!(reason.contains("too many clients"), "{reason}");
    let error = error_of(&server.read()).expect("a read needs a connection");
    assert_eq!((&error["code"], &error["retry_after_seconds"]), (&json!("BUSY"), &json!(1)), "{error}");
    assert!(error["message"].as_str().unwrap().contains("too many clients"), "{error}");
    admin(&cluster, "ALTER ROLE quad CONNECTION LIMIT -1");
    server.wait_until_ready_is(200);
    // Immediate: connections break without a word.
    succeeds("kill", &["-QUIT", &postmaster(&cluster)]);
    server.wait_until_ready_is(503);
    for response in [server.read(), server.write(), server.read()] {
        assert!(response.header("retry-after").is_some(), "{} {}", response.status, response.text());
        let reply = json_body(&response);
        let error = error_of(&response).unwrap_or(reply);
        assert_eq!((&error["code"], &error["kind"]), (&json!("BUSY"), &json!("limit")), "{error}");
    }
}

/// Runs statements as the superuser.
fn admin(cluster: &Cluster, sql: &str) {
    runtime().block_on(async {
        let url = cluster.url.replace("quad@", "postgres@");
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
    });
}

fn postmaster(cluster: &Cluster) -> String {
    let file = std::fs::read_to_string(cluster.folder.path().join("data/postmaster.pid")).unwrap();
    file.lines().next().unwrap().to_owned()
}

#[test]
fn thousands_of_idle_connections_lock_no_one_out() {
    let instance = TestInstance::on_sqlite();
    let server = LoggedServer::start(&instance, &[], &[]);
    let mut known = HttpClient::new(&server.authority);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let ping = with_token(post_request(&body), &server.token);
    assert_eq!(known.send(&ping).unwrap().status, 200);
    let runtime = runtime();
    let address = server.authority.parse().unwrap();
    let mut idle = Vec::new();
    // From one address, then from many, so that the limit of all connections is reached too.
    for number in 0..5_200_u32 {
        let host = if number < 1_000 { 1 } else { 2 + (number - 1_000) / 250 };
        let opened = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind(std::net::SocketAddr::from((std::net::Ipv4Addr::from(0x7f00_0000 + host), 0)))?;
            socket.connect(address).await
        });
        match opened {
            Ok(stream) => idle.push(stream),
            Err(error) if number < 5_000 && error.raw_os_error() == Some(24) => {
                eprintln!("skipped: this process may open only {number} connections");
                return;
            }
            Err(error) => panic!("connection {number}: {error}"),
        }
    }
    for _ in 0..20 {
        assert_eq!(server.get("/healthz").status, 200);
        assert_eq!(server.readiness().0, 200);
        assert_eq!(server.read().status, 200);
        // A connection that has shown its token is not closed for others.
        assert_eq!(known.send(&ping).unwrap().status, 200);
    }
    let metrics = server.metrics();
    let open = metrics.lines().find_map(|line| line.strip_prefix("quad_connections_open ")).unwrap();
    assert!(open.parse::<u32>().unwrap() <= 4_096 + 64, "{open}");
    assert!(!metrics.contains("quad_connections_evicted_total 0\n"), "{metrics}");
    assert!(server.log().contains("too many connections"), "{}", server.log());
}

#[test]
fn hangup_does_not_end_the_server() {
    let instance = TestInstance::on_sqlite();
    let server = LoggedServer::start(&instance, &[], &[]);
    assert!(succeeds("kill", &["-HUP", &server.process.0.id().to_string()]));
    let started = Instant::now();
    while !server.log().contains("SIGHUP is ignored") {
        assert!(started.elapsed() < RECOVERY_TIME_MAX, "{}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn log_names_starts_refusals_and_failed_calls_but_no_token() {
    let instance = TestInstance::on_sqlite();
    for variables in [&[][..], &[("QUAD_LOG_FORMAT", "json"), ("QUAD_ACCESS_LOG", "true")][..]] {
        let is_json = !variables.is_empty();
        let server = LoggedServer::start(&instance, &[], variables);
        let local_token = std::fs::read_to_string(instance.folder().join("local.token")).unwrap();
        assert!(!server.startup_line.contains(local_token.trim()), "{}", server.startup_line);
        assert!(server.startup_line.contains("local.token"), "{}", server.startup_line);
        let request =
            with_token(post_request(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})), "nonsense");
        assert_eq!(HttpClient::new(&server.authority).send(&request).unwrap().status, 401);
        assert!(error_of(&server.call("resources/read", &json!({"uri": "bkend://orgs/org_none"}))).is_some());
        let log = server.log();
        let has_line =
            |parts: &[&str]| log.lines().filter(|line| parts.iter().all(|part| line.contains(part))).count();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            has_line(&["started", version, &server.authority, "Sqlite", "bkend", "audit"]),
            1,
            "{log}"
        );
        assert_eq!(
            has_line(&["credential refused", "auth_token_invalid", "malformed", "request"]),
            1,
            "{log}"
        );
        assert_eq!(
            has_line(&["call refused", "resources/read", "NOT_FOUND", "tester", "request"]),
            1,
            "{log}"
        );
        assert_eq!(has_line(&["quad::access", "/mcp", "127.0.0.1"]), if is_json { 2 } else { 0 }, "{log}");
        assert_eq!(has_line(&[&server.token]) + has_line(&["nonsense"]), 0, "{log}");
        if is_json {
            for line in log.lines() {
                let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                assert!(line["time"].is_string() && line["level"].is_string(), "{line}");
            }
        }
    }
}

#[test]
fn metrics_tell_failed_calls_apart_and_need_a_token_through_a_proxy() {
    let instance = TestInstance::on_sqlite();
    let server = LoggedServer::start(&instance, &[], &[]);
    assert_eq!(error_of(&server.write()), None);
    let arguments = json!({"name": "memory_add", "arguments": {}});
    assert!(error_of(&server.call("tools/call", &arguments)).is_some());
    assert_eq!(error_of(&server.read()), None);
    let metrics = server.metrics();
    for line in [
        "quad_requests_total{method=\"tools/call\",outcome=\"ok\"} 1",
        "quad_requests_total{method=\"tools/call\",outcome=\"refused\"} 1",
        "quad_request_duration_seconds_count{method=\"tools/call\",scheme=\"amem\"} 2",
        "quad_request_duration_seconds_count{method=\"resources/read\",scheme=\"bkend\"} 1",
        "quad_pool_connections_max 8",
    ] {
        assert!(metrics.lines().any(|actual| actual == line), "{line} is missing in {metrics}");
    }
    for name in [
        "quad_commit_duration_seconds",
        "quad_commit_jobs",
        "quad_wal_bytes",
        "quad_checkpoint_lag_events",
        "quad_checkpoint_lag_seconds",
        "quad_connections_open",
        "process_resident_memory_bytes",
        "quad_build_info",
        "quad_cache_hits_total",
    ] {
        assert!(metrics.lines().any(|line| line.starts_with(name)), "{name} is missing in {metrics}");
    }
    for line in metrics.lines().filter(|line| line.starts_with("# TYPE ")) {
        let name = line.split(' ').nth(2).unwrap();
        assert!(metrics.contains(&format!("# HELP {name} ")), "{name} has no help");
    }
    let forwarded = Request::new("GET", "/metrics").header("X-Forwarded-For", "192.0.2.1");
    let client = || HttpClient::new(&server.authority);
    assert_eq!(client().send(&forwarded).unwrap().status, 401);
    assert_eq!(client().send(&with_token(forwarded, &server.token)).unwrap().status, 200);
}

/// Runs a command and returns its exit code and the most memory that it used, in KiB.
fn run_measured(instance: &TestInstance, arguments: &[&str]) -> (i32, u64, String) {
    let mut command = instance.quad_command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = Process(command.spawn().unwrap());
    let mut errors = process.0.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut errors, &mut text);
        text
    });
    let (started, mut peak) = (Instant::now(), 0);
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.0.id())).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let memory = memory.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0);
        peak = peak.max(memory);
        if let Some(status) = process.0.try_wait().unwrap() {
            return (status.code().unwrap_or(-1), peak, reader.join().unwrap());
        }
        assert!(started.elapsed() < Duration::from_secs(60), "quad {arguments:?} does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn huge_files_pipes_and_devices_are_refused_with_little_memory() {
    let instance = TestInstance::on_sqlite();
    let (huge, pipe) = (instance.folder().join("huge"), instance.folder().join("pipe"));
    File::create(&huge).unwrap().set_len(3 << 30).unwrap();
    assert!(succeeds("mkfifo", &[pipe.to_str().unwrap()]));
    let commands: [&[&str]; 5] = [
        &["brain", "import"],
        &["brain", "load"],
        &["bkend", "load"],
        &["memory", "import"],
        &["audit", "verify"],
    ];
    for command in commands {
        for (file, codes) in
            [(huge.to_str().unwrap(), &[2, 5, 6][..]), (pipe.to_str().unwrap(), &[2]), ("/dev/zero", &[2])]
        {
            let (code, peak, errors) = run_measured(&instance, &[command, &[file]].concat());
            assert!(codes.contains(&code), "quad {command:?} {file}: {code} {errors}");
            assert!(peak < 300 << 10, "quad {command:?} {file} used {peak} KiB");
            assert!(errors.contains("hint: "), "quad {command:?} {file}: {errors}");
        }
    }
}

#[test]
fn import_that_leaves_lines_out_fails_once() {
    for instance in TestInstance::on_each_backend() {
        let file = instance.folder().join("statement.csv");
        let mut good = "Date;Payee;Description;Amount;Currency\n".to_owned();
        for day in 10..30 {
            good.push_str(&format!("{day}.09.2025;Bakery;Rolls;-3,{day};EUR\n"));
        }
        std::fs::write(&file, format!("{good}30.09.2025;Bakery;Rolls;much;EUR\n")).unwrap();
        let arguments = ["brain", "import", "--account", "acct_1", file.to_str().unwrap()];
        instance.run(&["brain", "add", "account", "Giro", "--currency", "EUR", "--id", "acct_1"]);
        let import = |arguments: &[&str]| instance.quad_command(arguments).output().unwrap();
        let first = import(&arguments);
        let errors = String::from_utf8_lossy(&first.stderr).into_owned();
        assert_eq!(first.status.code(), Some(2), "{errors}");
        assert!(errors.contains("could not be read") && errors.contains("hint: Correct"), "{errors}");
        assert_eq!(import(&arguments).status.code(), Some(0), "a file that was imported before");
        std::fs::write(&file, good).unwrap();
        assert_eq!(import(&arguments).status.code(), Some(0));
    }
}
