// What an input does to one of the messages of a handshake: it replaces it, or changes a part of it.
#pragma once

#include <string>

#include "base/result.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {

class Meddler {
 public:
  /// `targets`: how many the input may choose from, the last of them none at all.
  Meddler(Input in, int targets)
      : target_(in.u8() % targets), replaces_(in.u8() % 2 == 0), at_(in.u16()), bytes_(in.rest()) {}

  /// The message number `message` as it arrives.
  std::string pass(int message, const std::string& original) {
    if (message != target_) return original;
    std::string changed = original;
    if (replaces_)
      changed = bytes_;
    else
      changed.replace(at_ % (changed.size() + 1), bytes_.size(), bytes_);
    is_changed_ = changed != original;
    return changed;
  }
  bool is_changed() const { return is_changed_; }

 private:
  int target_;
  bool replaces_;
  size_t at_;
  std::string bytes_;
  bool is_changed_ = false;
};

/// True if it came to something; an error is checked to be fit to be shown.
template <typename T>
bool is_sound(const base::Result<T>& result) {
  if (!result) check_error(result.error());
  return result.has_value();
}

}  // namespace gw::fuzz
