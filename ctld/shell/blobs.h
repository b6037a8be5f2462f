// Scripts and environments of recent submissions by hash, in bounded memory; the others are in the store.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

namespace gw::ctld {

/// BLAKE2b of the bytes in hex: the name under which they are stored. Made here, never taken from a client.
std::string content_hash(const std::string& bytes);

class Blobs {
 public:
  void put(const std::string& hash, const std::string& bytes);
  /// Null: it is not in memory. Valid until the next put().
  const std::string* find(const std::string& hash);

 private:
  struct Entry {
    std::string bytes;
    std::list<std::string>::iterator age;
  };
  std::unordered_map<std::string, Entry> cache_;
  std::list<std::string> ages_;  // newest first
  size_t cached_bytes_ = 0;
};

}  // namespace gw::ctld
