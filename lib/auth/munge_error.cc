// One message and one remedy for each way in which MUNGE refuses.
#include <fmt/format.h>
#include <munge.h>

#include "auth/munge.h"
#include "base/text.h"

namespace gw::auth {
namespace {

using base::Error;
using base::ErrorCode;

// Both clocks are named: who sees them side by side sees which one is wrong.
std::string both_times(const MungeFailure& f) {
  if (!f.encode_time || !f.decode_time) return {};
  return fmt::format(": made at {} by the clock of its host, read at {} by the clock of this one",
                     base::format_time(f.encode_time), base::format_time(f.decode_time));
}

Error expired(const MungeFailure& f) {
  const auto age = (f.decode_time - f.encode_time).seconds();
  const bool known = f.encode_time && f.decode_time && f.lifetime.us > 0;
  std::string what = "the MUNGE credential has expired" + both_times(f);
  if (known) what += fmt::format(" ({} s later; it is valid for {} s)", age, f.lifetime.seconds());
  return {ErrorCode::kDenied, std::move(what),
          "the clocks of the two hosts differ, or one host was stopped meanwhile: check time synchronisation (chronyc "
          "tracking) on both, then try again"};
}

Error rewound(const MungeFailure& f) {
  std::string what = "the MUNGE credential comes from the future" + both_times(f);
  if (f.encode_time && f.decode_time) what += fmt::format(" ({} s ahead)", (f.encode_time - f.decode_time).seconds());
  return {ErrorCode::kDenied, std::move(what),
          "the clocks of the two hosts differ: check time synchronisation (chronyc tracking) on both"};
}

Error unreachable(const MungeFailure& f) {
  const std::string where = f.socket_path.empty() ? "its default socket" : f.socket_path;
  return {ErrorCode::kUnavailable, fmt::format("munged does not answer on {}: {}", where, base::printable(f.detail)),
          "munged is stopped, hangs, or uses another socket: systemctl restart munge"};
}

Error unauthorized(const MungeFailure& f) {
  return {ErrorCode::kDenied,
          fmt::format("the MUNGE credential is meant for another user than uid {}, who received it", f.own_uid),
          "the sender's configuration names another user than the one who runs this daemon"};
}

}  // namespace

Error munge_error(const MungeFailure& f) {
  switch (f.code) {
    case EMUNGE_CRED_INVALID:
      return {ErrorCode::kDenied, "the MUNGE credential was made with another key",
              "all hosts of the cluster need the same munge.key: copy it and restart munged on the host that differs"};
    case EMUNGE_CRED_EXPIRED:
      return expired(f);
    case EMUNGE_CRED_REWOUND:
      return rewound(f);
    case EMUNGE_CRED_REPLAYED:
      return {
          ErrorCode::kDenied, "the MUNGE credential was used before",
          "each connection needs a credential of its own; if you did nothing unusual, somebody replays your traffic"};
    case EMUNGE_CRED_UNAUTHORIZED:
      return unauthorized(f);
    case EMUNGE_SOCKET:
    case EMUNGE_TIMEOUT:
      return unreachable(f);
    case EMUNGE_BAD_CRED:
      return {ErrorCode::kProtocol, "not a MUNGE credential: " + base::printable(f.detail), ""};
    case EMUNGE_BAD_VERSION:
    case EMUNGE_BAD_CIPHER:
    case EMUNGE_BAD_MAC:
    case EMUNGE_BAD_ZIP:
    case EMUNGE_BAD_REALM:
      return {ErrorCode::kProtocol, "this host's munged cannot read such a credential: " + base::printable(f.detail),
              "run the same MUNGE version, built with the same options, on all hosts"};
    default:
      return {ErrorCode::kInternal, "MUNGE failed: " + base::printable(f.detail), "see munged's log"};
  }
}

}  // namespace gw::auth
