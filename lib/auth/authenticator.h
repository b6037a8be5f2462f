// The seam to whatever vouches for the identity of a process: MUNGE in production, a fake in tests.
// Invariant: the uid and gid of a peer come from a decoded credential, never from a message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace gw::auth {

/// What a credential says about the process that made it.
struct Credential {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string payload;
  std::string addr;         ///< Address of the host it was made on, as that host sees itself; empty if unknown.
  base::Time encode_time;   ///< By the clock of the host that made it.
  base::Time decode_time;   ///< By the clock of the host that read it.
  base::Duration lifetime;  ///< How long it is accepted after encode_time.
};

/// Makes and checks credentials. Calls block (some 100 us with MUNGE; seconds if munged hangs). Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  /// A credential around `payload` that proves this process's uid and gid and that only `restrict_uid` may decode.
  virtual base::Result<std::string> encode(std::string_view payload, uint32_t restrict_uid) = 0;
  /// Checks a credential. Errors tell apart: wrong key, expired, rewound, replayed, meant for another uid, malformed,
  /// service not reachable.
  virtual base::Result<Credential> decode(std::string_view credential) = 0;
};

}  // namespace gw::auth
