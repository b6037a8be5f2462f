// Whose process is at the other end of a TCP connection within this machine, by what the kernel knows of its sockets.
// Invariants: one connection is asked for, whatever else the machine has open; nothing here waits; a socket that nobody
// holds any more is nobody's, and not root's.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "io/address.h"

namespace gw::peer {

/// Who made the socket at the other end of `fd`, a connected TCP socket over IPv4. Errors: kNotFound if the other end
/// is closed or not of this machine; kInvalid if `fd` is no such socket; errno.
base::Result<uid_t> user_at_other_end(int fd);

/// The same by the addresses of the two ends, as the other end has them.
base::Result<uid_t> user_of_socket(const io::SockAddr& own, const io::SockAddr& other);

/// The same from a text such as /proc/net/tcp has, for kernels that cannot be asked for one connection.
base::Result<uid_t> user_in_table(const std::string& table, const io::SockAddr& own, const io::SockAddr& other);

}  // namespace gw::peer
