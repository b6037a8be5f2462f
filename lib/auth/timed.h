// An Authenticator that does not wait for ever: MUNGE's library tries for 10 s and more when munged hangs.
// Invariant: no call lasts longer than the limit; a call that was given up ends by itself on its own thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "auth/authenticator.h"

namespace gw::auth {

class TimedAuthenticator final : public Authenticator {
 public:
  /// `where` names the service in errors: "munged on /run/munge/munge.socket.2".
  TimedAuthenticator(std::shared_ptr<Authenticator> inner, std::string where, base::Duration limit = base::seconds(3))
      : inner_(std::move(inner)), where_(std::move(where)), limit_(limit) {}
  /// As the inner one's, and kUnavailable: no answer within the limit.
  base::Result<std::string> encode(std::string_view payload, uint32_t restrict_uid) override;
  base::Result<Credential> decode(std::string_view credential) override;

 private:
  std::shared_ptr<Authenticator> inner_;
  std::string where_;
  base::Duration limit_;

  template <typename T, typename Fn>
  base::Result<T> within_limit(Fn call) const;
};

}  // namespace gw::auth
