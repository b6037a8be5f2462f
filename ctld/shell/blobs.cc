// A bounded cache in front of the store's blobs.
#include "ctld/shell/blobs.h"

#include "auth/crypto.h"

namespace gw::ctld {
namespace {
constexpr size_t kCacheBytes = 16 << 20;
}

std::string content_hash(const std::string& bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auth::Bytes32 hash = auth::hash_parts({bytes});
  std::string out;
  for (unsigned char c : hash) {
    out += kHex[c >> 4];
    out += kHex[c & 15];
  }
  return out;
}

void Blobs::put(const std::string& hash, const std::string& bytes) {
  if (bytes.size() > kCacheBytes / 4) return;
  if (const auto it = cache_.find(hash); it != cache_.end()) {
    ages_.splice(ages_.begin(), ages_, it->second.age);
    return;
  }
  ages_.push_front(hash);
  cache_[hash] = {bytes, ages_.begin()};
  cached_bytes_ += bytes.size();
  while (cached_bytes_ > kCacheBytes) {
    const auto oldest = cache_.find(ages_.back());
    cached_bytes_ -= oldest->second.bytes.size();
    cache_.erase(oldest);
    ages_.pop_back();
  }
}

const std::string* Blobs::find(const std::string& hash) {
  const auto it = cache_.find(hash);
  if (it == cache_.end()) return nullptr;
  ages_.splice(ages_.begin(), ages_, it->second.age);
  return &it->second.bytes;
}

}  // namespace gw::ctld
