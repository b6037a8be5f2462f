// An Authenticator without munged, for tests: credentials are readable text, and every refusal can be provoked.
// It protects nothing.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "auth/authenticator.h"

namespace gw::auth {

/// Set the public members before use; encode and decode are thread-safe.
class FakeAuthenticator final : public Authenticator {
 public:
  uint32_t uid = 1000;  ///< Who encodes, and who decodes.
  uint32_t gid = 1000;
  std::string key = "key";  ///< Both sides need the same.
  base::Time now = base::Time{0} + base::seconds(1'800'000'000);
  base::Duration lifetime = base::seconds(300);
  bool is_stopped = false;     ///< As if munged did not run.
  bool allows_replay = false;  ///< As a munged that was restarted in between.
  std::atomic<int> decodes{0};

  base::Result<std::string> encode(std::string_view payload, uint32_t restrict_uid) override {
    if (is_stopped) return stopped();
    std::string text = "FAKE " + key + " " + std::to_string(uid) + " " + std::to_string(gid) + " " +
                       std::to_string(restrict_uid) + " " + std::to_string(now.us) + " " + std::to_string(counter_++) +
                       " ";
    return text.append(payload);
  }

  base::Result<Credential> decode(std::string_view text) override {
    ++decodes;
    if (is_stopped) return stopped();
    if (word(text) != "FAKE") return base::fail(base::ErrorCode::kProtocol, "not a credential");
    const std::string whole(text);
    if (word(text) != key) return base::fail(base::ErrorCode::kDenied, "the credential was made with another key");
    Credential c;
    c.uid = static_cast<uint32_t>(std::stoul(word(text)));
    c.gid = static_cast<uint32_t>(std::stoul(word(text)));
    const auto restricted = static_cast<uint32_t>(std::stoul(word(text)));
    c.encode_time = base::Time{std::stoll(word(text))};
    word(text);
    c.decode_time = now;
    c.lifetime = lifetime;
    c.payload = text;
    if (restricted != uid) return base::fail(base::ErrorCode::kDenied, "the credential is meant for another uid");
    if (now > c.encode_time + lifetime) return base::fail(base::ErrorCode::kDenied, "the credential has expired");
    if (now + lifetime < c.encode_time)
      return base::fail(base::ErrorCode::kDenied, "the credential comes from the future");
    const std::lock_guard lock(mutex_);
    if (!seen_.insert(whole).second && !allows_replay) {
      return base::fail(base::ErrorCode::kDenied, "the credential was used before");
    }
    return c;
  }

 private:
  std::atomic<uint64_t> counter_{0};
  std::mutex mutex_;
  std::set<std::string> seen_;

  static tl::unexpected<base::Error> stopped() {
    return base::fail(base::ErrorCode::kUnavailable, "the authentication service does not answer", "start it");
  }
  static std::string word(std::string_view& text) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string first(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return first;
  }
};

}  // namespace gw::auth
