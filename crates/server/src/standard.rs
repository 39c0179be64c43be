//! Standard input and output, read and written by the runtime itself where they can be.
//!
//! The runtime's own handles pass every line through a thread that blocks, in and out; on a busy machine the two hand-overs take longer
//! than a small answer. Clients connect pipes or sockets, and these can be waited for like any connection. Anything else, a
//! terminal or a file, is left to the runtime's handles.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Socket;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::fs::{FileType, OFlags};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Standard input.
pub fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    match reader(io::stdin()) {
        Some(reader) => reader,
        None => Box::new(tokio::io::stdin()),
    }
}

/// Standard output.
pub fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    match writer(io::stdout()) {
        Some(writer) => writer,
        None => Box::new(tokio::io::stdout()),
    }
}

/// None where the descriptor is neither pipe nor socket, or cannot be waited for.
fn reader(standard: impl AsFd) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
    let end = Borrowed::new(&standard)?;
    let own = standard.as_fd().try_clone_to_owned().ok()?;
    Some(match end.kind {
        FileType::Fifo => Box::new(Given { inner: pipe::Receiver::from_owned_fd(own).ok()?, _end: end }),
        _ => Box::new(Given { inner: socket(own)?, _end: end }),
    })
}

/// The same for the other direction.
fn writer(standard: impl AsFd) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
    let end = Borrowed::new(&standard)?;
    let own = standard.as_fd().try_clone_to_owned().ok()?;
    Some(match end.kind {
        FileType::Fifo => Box::new(Given { inner: pipe::Sender::from_owned_fd(own).ok()?, _end: end }),
        _ => Box::new(Given { inner: socket(own)?, _end: end }),
    })
}

fn socket(end: OwnedFd) -> Option<UnixStream> {
    let socket = Socket::from(end);
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}

/// A pipe or a socket that others may hold, too, and go on with after us: it is left as it was found.
struct Borrowed {
    kind: FileType,
    end: OwnedFd,
    flags: OFlags,
}

impl Borrowed {
    fn new(standard: &impl AsFd) -> Option<Borrowed> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(standard).ok()?.st_mode);
        if !matches!(kind, FileType::Fifo | FileType::Socket) {
            return None;
        }
        let end = standard.as_fd().try_clone_to_owned().ok()?;
        let flags = rustix::fs::fcntl_getfl(&end).ok()?;
        Some(Borrowed { kind, end, flags })
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // One that did not block before is left alone: it may be the other direction of the same socket.
        if !self.flags.contains(OFlags::NONBLOCK) {
            let _ = rustix::fs::fcntl_setfl(&self.end, self.flags);
        }
    }
}

/// What the runtime waits for, and how it is given back.
struct Given<T> {
    inner: T,
    _end: Borrowed,
}

impl<T: AsyncRead + Unpin> AsyncRead for Given<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Given<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn blocks(end: &impl AsFd) -> bool {
        !rustix::fs::fcntl_getfl(end).unwrap().contains(OFlags::NONBLOCK)
    }

    /// Sends more than the kernel holds, and sees both ends given back.
    async fn carries(from: impl AsFd, to: impl AsFd) {
        let (mut input, mut output) = (reader(&from).unwrap(), writer(&to).unwrap());
        assert!(!blocks(&from) && !blocks(&to));
        let sent = vec![b'x'; 1 << 20];
        let mut received = vec![0; sent.len()];
        let sending = async {
            output.write_all(&sent).await.unwrap();
        };
        let (_, read) = tokio::join!(sending, input.read_exact(&mut received));
        assert_eq!(read.unwrap(), sent.len());
        assert!(received == sent);
        drop(output);
        assert!(blocks(&to));
        drop(to);
        assert_eq!(input.read(&mut [0; 8]).await.unwrap(), 0, "the other end is closed");
        drop(input);
        assert!(blocks(&from));
    }

    #[tokio::test]
    async fn pipes_and_sockets_carry_more_than_they_hold_and_are_given_back_as_they_were() {
        let (from, to) = io::pipe().unwrap();
        carries(from, to).await;
        let (from, to) = Socket::pair().unwrap();
        carries(from, to).await;
    }

    #[tokio::test]
    async fn a_socket_that_is_both_input_and_output_is_given_back_as_it_was() {
        let (own, _other) = Socket::pair().unwrap();
        let (input, output) = (reader(&own).unwrap(), writer(&own).unwrap());
        drop(input);
        drop(output);
        assert!(blocks(&own));
    }

    #[tokio::test]
    async fn a_file_is_left_to_the_runtime() {
        let file = tempfile::tempfile().unwrap();
        assert!(reader(&file).is_none() && writer(&file).is_none());
    }
}
