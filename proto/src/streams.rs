//! Standard streams that are handed over instead of being copied: how a client gives its own to the daemon.
//!
//! Messages cannot carry descriptors. So beside its socket the daemon has another one for them: the client connects, sends a name
//! of its own choice and three descriptors, and waits for one byte; then it starts its run under that name. What is handed over is
//! used for one run, and closed if none begins soon. This module only says where and in which form; it opens nothing.

use std::path::{Path, PathBuf};

/// Bytes of a name. It is a fresh UUID: nobody else's streams can be meant by accident.
pub const NAME_BYTES: usize = 16;

/// How many descriptors are handed over: standard input, output and error, in this order.
pub const COUNT: usize = 3;

/// What the daemon answers once it has them.
pub const TAKEN: u8 = b't';

/// What comes with the controlling side of a terminal: a command that gets a terminal of its own has one that was made inside the
/// sandbox, and whoever started it has the other side, sent over the socket that was handed over in the place of the streams.
pub const CONTROLLING_SIDE: u8 = b'c';

/// The answer to that: the terminal has its size and modes, the command may start.
pub const READY: u8 = b'r';

/// The socket for streams beside the daemon's `socket`.
#[must_use]
pub fn socket_beside(socket: &Path) -> PathBuf {
    socket.with_extension("streams")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_lies_beside_the_other_and_is_another() {
        for (socket, beside) in [
            ("/d/run/sandboxd.sock", "/d/run/sandboxd.streams"),
            ("/tmp/s", "/tmp/s.streams"),
        ] {
            assert_eq!(socket_beside(Path::new(socket)), Path::new(beside));
        }
    }
}
