// Mutations of inputs that are the same in every run and on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gw::fuzz {

/// Random numbers from a seed: splitmix64, after Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Below `n`, which is not 0.
  size_t below(size_t n) { return static_cast<size_t>(next() % n); }

 private:
  uint64_t state_;
};

/// `text` with one to four changes: bytes and bits changed, pieces dropped, doubled, or taken from `other`.
std::string mutate(std::string_view text, std::string_view other, Dice& dice);

}  // namespace gw::fuzz
