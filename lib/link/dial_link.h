// The client's side of a link on the event loop. Reconnecting is left to the caller, who knows its back-off.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "auth/handshake.h"
#include "base/result.h"
#include "io/stream.h"
#include "link/auth_pool.h"
#include "link/protocol.h"
#include "link/secure_link.h"

namespace gw::link {

struct DialLinkOptions {
  std::string address;        ///< See io::parse_address.
  std::string bind_host;      ///< Local numeric address to connect from; empty for any.
  std::string receiver;       ///< Cluster name + "/" + daemon name of the server.
  uint32_t receiver_uid = 0;  ///< The uid that the server runs as; only it can answer.
  auth::Role role = auth::Role::kClient;
  auth::VersionRange versions = kProtocolVersions;
  base::Duration timeout = base::seconds(10);  ///< For connect and handshake together.
  size_t max_out_bytes = io::kDefaultMaxOut;
};

/// An attempt under way; dropping it gives up.
class LinkDialer;
using LinkDialHandle = std::shared_ptr<LinkDialer>;
using DialLinkFn = std::function<void(base::Result<std::shared_ptr<SecureLink>>)>;

/// Connects and authenticates. `fn` is called once, from the loop, and sets the handlers of the link. Errors: as
/// io::dial; the server's refusal with its reason; local munged not reachable; an answer not made by `receiver_uid`.
[[nodiscard]] LinkDialHandle dial_link(io::Loop& loop, AuthPool& pool, DialLinkOptions options, DialLinkFn fn);

}  // namespace gw::link
