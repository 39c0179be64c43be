//! Non-blocking standard input and output, where the file descriptors allow it.
//!
//! Tokio's own handles pass every line through a blocking thread, in and out. On a busy machine these two thread
//! switches take longer than a small reply. Clients connect pipes or sockets, which the runtime can poll like any
//! connection. For a terminal or a file, Tokio's handles are used.

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
    match nonblocking_reader(io::stdin()) {
        Some(reader) => reader,
        None => Box::new(tokio::io::stdin()),
    }
}

/// Standard output.
pub fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    match nonblocking_writer(io::stdout()) {
        Some(writer) => writer,
        None => Box::new(tokio::io::stdout()),
    }
}

/// A non-blocking reader; `None` if the descriptor is neither a pipe nor a socket, or cannot be polled.
fn nonblocking_reader(standard: impl AsFd) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
    let restore = RestoreFdFlags::new(&standard)?;
    let owned_fd = standard.as_fd().try_clone_to_owned().ok()?;
    Some(match restore.kind {
        FileType::Fifo => {
            Box::new(NonBlocking { inner: pipe::Receiver::from_owned_fd(owned_fd).ok()?, _restore: restore })
        }
        _ => Box::new(NonBlocking { inner: socket(owned_fd)?, _restore: restore }),
    })
}

/// A non-blocking writer; `None` as for [`nonblocking_reader`].
fn nonblocking_writer(standard: impl AsFd) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
    let restore = RestoreFdFlags::new(&standard)?;
    let owned_fd = standard.as_fd().try_clone_to_owned().ok()?;
    Some(match restore.kind {
        FileType::Fifo => {
            Box::new(NonBlocking { inner: pipe::Sender::from_owned_fd(owned_fd).ok()?, _restore: restore })
        }
        _ => Box::new(NonBlocking { inner: socket(owned_fd)?, _restore: restore }),
    })
}

fn socket(fd: OwnedFd) -> Option<UnixStream> {
    let socket = Socket::from(fd);
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}

/// Restores the flags of a descriptor when dropped. Other processes may share the pipe or socket and use it after this
/// one.
struct RestoreFdFlags {
    kind: FileType,
    fd: OwnedFd,
    flags: OFlags,
}

impl RestoreFdFlags {
    fn new(standard: &impl AsFd) -> Option<RestoreFdFlags> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(standard).ok()?.st_mode);
        if !matches!(kind, FileType::Fifo | FileType::Socket) {
            return None;
        }
        let fd = standard.as_fd().try_clone_to_owned().ok()?;
        let flags = rustix::fs::fcntl_getfl(&fd).ok()?;
        Some(RestoreFdFlags { kind, fd, flags })
    }
}

impl Drop for RestoreFdFlags {
    fn drop(&mut self) {
        // If it was non-blocking before, it stays so: it may be the other direction of the same socket.
        if !self.flags.contains(OFlags::NONBLOCK) {
            let _ = rustix::fs::fcntl_setfl(&self.fd, self.flags);
        }
    }
}

/// A non-blocking handle that restores the flags of its descriptor when dropped.
struct NonBlocking<T> {
    inner: T,
    _restore: RestoreFdFlags,
}

impl<T: AsyncRead + Unpin> AsyncRead for NonBlocking<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for NonBlocking<T> {
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

    fn is_blocking(fd: &impl AsFd) -> bool {
        !rustix::fs::fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
    }

    /// Sends more than the kernel buffers, then checks that the flags of both ends are restored.
    async fn assert_transfers_and_restores(from: impl AsFd, to: impl AsFd) {
        let (mut input, mut output) = (nonblocking_reader(&from).unwrap(), nonblocking_writer(&to).unwrap());
        assert!(!is_blocking(&from) && !is_blocking(&to));
        let sent = vec![b'x'; 1 << 20];
        let mut received = vec![0; sent.len()];
        let sending = async {
            output.write_all(&sent).await.unwrap();
        };
        let (_, read) = tokio::join!(sending, input.read_exact(&mut received));
        assert_eq!(read.unwrap(), sent.len());
        assert!(received == sent);
        drop(output);
        assert!(is_blocking(&to));
        drop(to);
        assert_eq!(input.read(&mut [0; 8]).await.unwrap(), 0, "the other end is closed");
        drop(input);
        assert!(is_blocking(&from));
    }

    #[tokio::test]
    async fn restores_flags_of_pipes_and_sockets_after_transfer() {
        let (from, to) = io::pipe().unwrap();
        assert_transfers_and_restores(from, to).await;
        let (from, to) = Socket::pair().unwrap();
        assert_transfers_and_restores(from, to).await;
    }

    #[tokio::test]
    async fn restores_flags_of_socket_used_in_both_directions() {
        let (socket, _other) = Socket::pair().unwrap();
        let (input, output) = (nonblocking_reader(&socket).unwrap(), nonblocking_writer(&socket).unwrap());
        drop(input);
        drop(output);
        assert!(is_blocking(&socket));
    }

    #[tokio::test]
    async fn files_are_not_wrapped() {
        let file = tempfile::tempfile().unwrap();
        assert!(nonblocking_reader(&file).is_none() && nonblocking_writer(&file).is_none());
    }
}
