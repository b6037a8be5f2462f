// What a fuzz target is: a function that takes any bytes, and holds what came of them against what must hold.
// Invariants: a target keeps nothing from one input to the next, does the same for the same input (but for fresh keys
// of the handshake), and writes nothing. A finding ends the program: FUZZ_CHECK, GW_CHECK, a sanitizer, an exception.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::fuzz {

struct Target {
  std::string_view name;
  /// Takes one input; true if the parser accepted it.
  bool (*run)(std::string_view input);
  /// Inputs beside those of the corpus folder: those that are binary, so that none need be stored. May be null.
  std::vector<std::string> (*made_inputs)();
};

/// The targets of this program.
inline std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}
struct Enrol {
  explicit Enrol(const Target& target) { targets().push_back(target); }
};
#define GW_FUZZ_TARGET(name, run, made_inputs)    \
  const ::gw::fuzz::Enrol kEnrolled {             \
    ::gw::fuzz::Target { name, run, made_inputs } \
  }

/// Ends the program where something does not hold that must.
#define FUZZ_CHECK(condition)                                                             \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

/// Holds no byte that a terminal would obey; line ends are allowed.
inline bool is_showable(std::string_view text) {
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7f') return false;
  return true;
}
/// What the last refused input was refused for.
inline std::string& last_error() {
  static std::string text;
  return text;
}
/// An error must be fit to be shown.
inline void check_error(const base::Error& error) {
  last_error() = error.text();
  FUZZ_CHECK(!error.what.empty());
  FUZZ_CHECK(is_showable(error.text()));
}

/// Takes an input apart. What is not there reads as zero or empty.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  uint8_t u8() {
    const std::string_view one = take(1);
    return one.empty() ? uint8_t{0} : static_cast<uint8_t>(one.front());
  }
  uint32_t u16() {
    const uint32_t low = u8();
    return low | uint32_t{u8()} << 8;
  }
  std::string_view take(size_t n) {
    const std::string_view piece = rest_.substr(0, n);
    rest_.remove_prefix(piece.size());
    return piece;
  }
  /// Up to the next newline, which is dropped.
  std::string_view line() {
    const std::string_view text = take(rest_.find('\n'));
    take(1);
    return text;
  }
  std::string_view rest() { return take(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace gw::fuzz
