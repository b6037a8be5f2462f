// Scripts and environments by hash: those of recent submissions from memory, the others from the store.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "store/store.h"

namespace gw::ctld {

/// BLAKE2b of the bytes in hex: the name under which they are stored. Made here, never taken from a client.
std::string content_hash(const std::string& bytes);

class Blobs {
 public:
  explicit Blobs(store::Reader& reader) : reader_(reader) {}
  void put(const std::string& hash, const std::string& bytes);
  base::Result<std::string> get(const std::string& hash);

 private:
  struct Entry {
    std::string bytes;
    std::list<std::string>::iterator age;
  };
  store::Reader& reader_;
  std::unordered_map<std::string, Entry> cache_;
  std::list<std::string> ages_;  // newest first
  size_t cached_bytes_ = 0;
};

}  // namespace gw::ctld
