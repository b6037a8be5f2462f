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
  size_t count(uint32_t uid) const {
    const auto it = counts_.find(uid);
    return it == counts_.end() ? 0 : it->second;
  }
  /// One with another id and hash than those that are there.
  void add(wire::Token token) {
    ids_[token.hash()] = token.id();
    ends_.emplace(token.expires_us(), token.id());
    ++counts_[token.uid()];
    all_[token.id()] = std::move(token);
  }
  void remove(const std::string& id) {
    const auto it = all_.find(id);
    if (it == all_.end()) return;
    ids_.erase(it->second.hash());
    ends_.erase({it->second.expires_us(), id});
    if (--counts_[it->second.uid()] == 0) counts_.erase(it->second.uid());
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
  std::map<uint32_t, size_t> counts_;               // by user
};

}  // namespace gw::ctld
