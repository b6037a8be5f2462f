// Numbers and texts into 64 bits, equal on every machine and in every build. No protection against who wants two things
// to have the same. Takes words, not bytes: a registration hashes thousands of numbers. Source: the finisher of Steele,
// Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gw::base {

class StableHash {
 public:
  void add(uint64_t value) {
    hash_ = (hash_ ^ value) + 0x9e3779b97f4a7c15u;
    hash_ = (hash_ ^ (hash_ >> 30)) * 0xbf58476d1ce4e5b9u;
    hash_ = (hash_ ^ (hash_ >> 27)) * 0x94d049bb133111ebu;
    hash_ ^= hash_ >> 31;
  }
  void add(const std::string& text) {
    add(text.size());
    for (const char c : text) add(uint64_t{static_cast<unsigned char>(c)});
  }
  void add(const std::vector<uint32_t>& values) {
    add(values.size());
    for (const uint32_t v : values) add(v);
  }
  template <typename... Values>
  void add_all(const Values&... values) {
    (add(values), ...);
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace gw::base
