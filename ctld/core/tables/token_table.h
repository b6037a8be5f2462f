// Tokens: each lets a program act for the user who made it, through gwebd, until it ends or is revoked.
// Invariants: the indexes have exactly the tokens; a hash is that of one token; whatever has ended counts as not there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"
#include "wire/cluster.pb.h"

namespace gw::ctld {

class TokenTable {
 public:
  const std::map<std::string, wire::Token>& all() const { return all_; }
  /// Null: there is none that has not ended.
  const wire::Token* find(const std::string& id, base::Time now) const {
    const auto it = all_.find(id);
    return it == all_.end() || it->second.expires_us() <= now.us ? nullptr : &it->second;
  }
  const wire::Token* of_secret(const std::string& hash, base::Time now) const {
    const auto it = ids_.find(hash);
    return it == ids_.end() ? nullptr : find(it->second, now);
  }
  /// The ids of a user's tokens, those that have ended and are still here among them.
  const std::set<std::string>& of_user(uint32_t uid) const {
    static const std::set<std::string> kNone;
    const auto it = users_.find(uid);
    return it == users_.end() ? kNone : it->second;
  }
  /// One with another id and hash than those that are there.
  void add(wire::Token token) {
    ids_[token.hash()] = token.id();
    ends_.emplace(token.expires_us(), token.id());
    users_[token.uid()].insert(token.id());
    all_[token.id()] = std::move(token);
  }
  void remove(const std::string& id) {
    const auto it = all_.find(id);
    if (it == all_.end()) return;
    ids_.erase(it->second.hash());
    ends_.erase({it->second.expires_us(), id});
    const auto user = users_.find(it->second.uid());
    user->second.erase(id);
    if (user->second.empty()) users_.erase(user);
    all_.erase(it);
  }
  /// One that has ended; empty: none has.
  std::string ended(base::Time now) const {
    return ends_.empty() || ends_.begin()->first > now.us ? std::string() : ends_.begin()->second;
  }

 private:
  std::map<std::string, wire::Token> all_;          // by id
  std::map<std::string, std::string> ids_;          // by hash
  std::set<std::pair<int64_t, std::string>> ends_;  // when, and which
  std::map<uint32_t, std::set<std::string>> users_;
};

}  // namespace gw::ctld
