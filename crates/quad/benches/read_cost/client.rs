//! The client: sends the same request again and again, one at a time on each connection.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::process::Server;

const READ_REQUEST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"bkend://orgs","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// The load of one round.
pub struct Load {
    pub connections: usize,
    pub requests: usize,
}

/// Sends one request and returns the body of the answer.
pub async fn read_once(server: &Server) -> String {
    let mut socket = TcpStream::connect(&server.address).await.unwrap();
    let mut buffer = vec![0; 64 * 1_024];
    let filled = exchange(&mut socket, &request(server), &mut buffer).await;
    let reply = String::from_utf8(buffer[..filled].to_vec()).unwrap();
    reply.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Sends all requests of a load.
pub async fn run_load(server: &Server, load: &Load) {
    let mut connections = tokio::task::JoinSet::new();
    let requests_per_connection = load.requests.div_ceil(load.connections);
    for _ in 0..load.connections.min(load.requests) {
        let (address, request) = (server.address.clone(), request(server));
        connections.spawn(async move {
            let mut socket = TcpStream::connect(&address).await.unwrap();
            socket.set_nodelay(true).unwrap();
            let mut buffer = vec![0; 64 * 1_024];
            for _ in 0..requests_per_connection {
                exchange(&mut socket, &request, &mut buffer).await;
            }
        });
    }
    while let Some(done) = connections.join_next().await {
        done.unwrap();
    }
}

fn request(server: &Server) -> String {
    let address = &server.address;
    let token =
        server.token.as_ref().map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\n{token}content-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: resources/read\r\nmcp-name: bkend://orgs\r\ncontent-length: {}\r\n\r\n{READ_REQUEST}",
        READ_REQUEST.len()
    )
}

/// Sends a request and reads the whole reply. Returns its length in bytes.
async fn exchange(socket: &mut TcpStream, request: &str, buffer: &mut [u8]) -> usize {
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut filled = 0;
    loop {
        let read = socket.read(&mut buffer[filled..]).await.unwrap();
        assert!(read > 0, "the server closed the connection");
        filled += read;
        if is_complete(&buffer[..filled]) {
            break;
        }
    }
    assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..filled]));
    filled
}

fn is_complete(reply: &[u8]) -> bool {
    let text = String::from_utf8_lossy(reply);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).and_then(|n| n.parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}
