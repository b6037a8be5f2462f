// Credentials by MUNGE (https://dun.github.io/munge): every host of the cluster runs munged with the same key.
#pragma once

#include <string>
#include <string_view>

#include "auth/authenticator.h"

namespace gw::auth {

/// Authenticator over a local munged.
class MungeAuthenticator final : public Authenticator {
 public:
  /// `socket_path`: munged's socket; empty for MUNGE's default.
  explicit MungeAuthenticator(std::string socket_path = {}) : socket_path_(std::move(socket_path)) {}
  base::Result<std::string> encode(std::string_view payload, uint32_t restrict_uid) override;
  base::Result<Credential> decode(std::string_view credential) override;

 private:
  std::string socket_path_;
};

/// What is known about a credential that MUNGE refused.
struct MungeFailure {
  int code = 0;                  ///< munge_err_t
  std::string detail;            ///< MUNGE's own words.
  std::string socket_path;       ///< Empty for MUNGE's default.
  base::Time encode_time = {};   ///< Zero if unknown.
  base::Time decode_time = {};   ///< Zero if unknown.
  base::Duration lifetime = {};  ///< Zero if unknown.
  uint32_t own_uid = 0;          ///< Who tried to decode.
};
/// The message and remedy for a refusal by MUNGE.
base::Error munge_error(const MungeFailure& failure);

/// Version of the installed munged, such as "0.5.15", by running `munged --version` from /usr/sbin, /usr/bin,
/// /usr/local/sbin or /usr/local/bin. Errors: not installed, no answer within 2 s, unreadable answer.
base::Result<std::string> munged_version();
/// "munge-0.5.15 (2022-06-22)" -> "0.5.15". Errors: no version in it.
base::Result<std::string> parse_munged_version(std::string_view output);
/// True for versions before 0.5.18, whose munged can leak its key to local users (CVE-2026-25506). Distributions
/// back-port the fix without changing the version, so this calls for a warning, not a refusal. Unreadable: false.
bool is_munge_vulnerable(std::string_view version);

}  // namespace gw::auth
