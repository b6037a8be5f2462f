// Bounded memory of seen nonces.
#include "auth/nonce_memory.h"

#include <cstring>

#include "base/check.h"

namespace gw::auth {

// A nonce is random, unless an attacker picks it: colliding ones cost only the attacker's own MUNGE calls.
size_t NonceMemory::Hash::operator()(const Key& key) const {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(key.data()), key.size()});
}

bool NonceMemory::insert(std::string_view nonce, base::Time now, base::Time expiry) {
  Key key;
  GW_CHECK(nonce.size() == key.size());
  std::memcpy(key.data(), nonce.data(), key.size());
  while (!order_.empty() && (order_.front().expiry < now || order_.size() >= max_entries_)) {
    seen_.erase(order_.front().key);
    order_.pop_front();
  }
  if (!seen_.insert(key).second) return false;
  order_.push_back({key, expiry});
  return true;
}

}  // namespace gw::auth
