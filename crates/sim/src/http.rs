//! A small HTTP/1.1 client over plain sockets. It sends exactly the given headers and can read event streams.
//!
//! The black-box tests of `quad` use it too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Timeout of each read. It only bounds a failing run; nothing depends on its value.
pub const IO_TIMEOUT: Duration = Duration::from_secs(60);

/// A server address with its idle connections.
#[derive(Debug)]
pub struct HttpClient {
    authority: String,
    connection: Option<BufReader<TcpStream>>,
}

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers; `Host` and `Content-Length` are added where they are missing.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// A complete response.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers in their order.
    pub headers: Vec<(String, String)>,
    /// The complete body.
    pub body: Vec<u8>,
}

/// A response whose body is still being read.
pub struct OpenResponse {
    /// The status.
    pub status: u16,
    /// The rest of the body.
    pub body: Body,
}

impl Request {
    /// A request without headers or body.
    pub fn new(method: &str, path: &str) -> Request {
        Request { method: method.to_owned(), path: path.to_owned(), ..Request::default() }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = Some(body.into());
        self
    }

    fn has_header(&self, name: &str) -> bool {
        find_header(&self.headers, name).is_some()
    }
}

impl Response {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The value of a header.
pub fn find_header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

impl HttpClient {
    /// A client for `host:port`.
    pub fn new(authority: &str) -> HttpClient {
        HttpClient { authority: authority.to_owned(), connection: None }
    }

    /// Sends a request and reads the complete response.
    pub fn send(&mut self, request: &Request) -> io::Result<Response> {
        if let Some(connection) = self.connection.take() {
            // The server may have closed an idle connection; then it has not processed the request.
            match self.exchange(connection, request) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                result => return result,
            }
        }
        let connection = self.connect()?;
        self.exchange(connection, request)
    }

    /// Sends a request on a new connection and returns the response before its body is read.
    pub fn open(&self, request: &Request) -> io::Result<OpenResponse> {
        let mut connection = self.connect()?;
        write_request(connection.get_mut(), &self.authority, request)?;
        let (status, headers) = read_head(&mut connection)?;
        let body = Body::new(connection, &headers);
        Ok(OpenResponse { status, body })
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        Ok(BufReader::new(stream))
    }

    fn exchange(&mut self, mut connection: BufReader<TcpStream>, request: &Request) -> io::Result<Response> {
        let as_connection_reset = |error: io::Error| match error.kind() {
            io::ErrorKind::BrokenPipe => io::Error::new(io::ErrorKind::ConnectionReset, error),
            _ => error,
        };
        write_request(connection.get_mut(), &self.authority, request).map_err(as_connection_reset)?;
        let (status, headers) = read_head(&mut connection)?;
        let mut reader = Body::new(connection, &headers);
        let mut body = Vec::new();
        reader.read_to_end(&mut body)?;
        if find_header(&headers, "connection") != Some("close") {
            self.connection = Some(reader.connection);
        }
        Ok(Response { status, headers, body })
    }
}

fn write_request(stream: &mut TcpStream, authority: &str, request: &Request) -> io::Result<()> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
    if !request.has_header("host") {
        head.push_str(&format!("Host: {authority}\r\n"));
    }
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let (Some(body), false) = (&request.body, request.has_header("content-length")) {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(request.body.as_deref().unwrap_or_default());
    stream.write_all(&bytes)
}

fn read_head(connection: &mut BufReader<TcpStream>) -> io::Result<(u16, Vec<(String, String)>)> {
    let status_line = read_line(connection)?;
    let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no status in {status_line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(connection)?;
        match line.split_once(':') {
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => return Ok((status, headers)),
        }
    }
}

fn read_line(connection: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if connection.read_line(&mut line)? == 0 {
        return Err(io::Error::from(io::ErrorKind::ConnectionReset));
    }
    Ok(line.trim_end().to_owned())
}

/// How the end of a body is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    /// Bytes left in the chunk; `None` before the first chunk.
    Chunks(Option<usize>),
    End,
}

/// A body that is being read.
pub struct Body {
    connection: BufReader<TcpStream>,
    framing: Framing,
}

impl Body {
    fn new(connection: BufReader<TcpStream>, headers: &[(String, String)]) -> Body {
        let length = find_header(headers, "content-length").and_then(|length| length.parse().ok());
        let framing = match (find_header(headers, "transfer-encoding"), length) {
            (Some("chunked"), _) => Framing::Chunks(None),
            (_, Some(length)) => Framing::Length(length),
            // 202 and 204 have no body and need no length.
            _ => Framing::Length(0),
        };
        Body { connection, framing }
    }

    /// A second handle of the socket, with which another thread can close it.
    pub fn try_clone_socket(&self) -> io::Result<TcpStream> {
        self.connection.get_ref().try_clone()
    }

    /// The `data` of the next event; `None` at the end of the stream.
    pub fn next_event(&mut self) -> io::Result<Option<String>> {
        let mut data: Option<String> = None;
        let mut line = Vec::new();
        let mut byte = [0];
        loop {
            if self.read(&mut byte)? == 0 {
                return Ok(None);
            }
            if byte[0] != b'\n' {
                line.push(byte[0]);
                continue;
            }
            let text = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            line.clear();
            if let Some(part) = text.strip_prefix("data:") {
                data.get_or_insert_default().push_str(part.trim_start());
            } else if text.is_empty() && data.as_ref().is_some_and(|data| !data.is_empty()) {
                return Ok(data);
            }
        }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let remaining = match self.framing {
            Framing::End | Framing::Length(0) => return Ok(0),
            Framing::Length(length) => length,
            Framing::Chunks(Some(chunk_remaining)) if chunk_remaining > 0 => chunk_remaining,
            Framing::Chunks(previous_chunk) => {
                if previous_chunk.is_some() {
                    read_line(&mut self.connection)?;
                }
                let size = read_line(&mut self.connection)?;
                let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
                if size == 0 {
                    read_line(&mut self.connection)?;
                    self.framing = Framing::End;
                    return Ok(0);
                }
                self.framing = Framing::Chunks(Some(size));
                size
            }
        };
        let read_len = buffer.len().min(remaining);
        let count = self.connection.read(&mut buffer[..read_len])?;
        self.framing = match self.framing {
            Framing::Chunks(_) => Framing::Chunks(Some(remaining - count)),
            _ => Framing::Length(remaining - count),
        };
        Ok(count)
    }
}
