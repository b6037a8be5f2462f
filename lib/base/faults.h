// Everything that is wrong with one command, so that its user mends it all at once and not one after the
// other. Invariant: a single fault is told as it is; several are lines of one error.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gw::base {

class Faults {
 public:
  void add(Error fault);
  /// What went well adds nothing.
  template <typename T>
  void add(const tl::expected<T, Error>& done) {
    if (!done) add(done.error());
  }
  bool empty() const { return all_.empty(); }
  /// More are not told, so that nobody need look for them.
  bool is_full() const { return more_ > 0; }
  /// The error of all of them; of very many the first.
  Status status() const;

 private:
  static constexpr size_t kMost = 10;
  std::vector<Error> all_;  // that are told
  size_t more_ = 0;
};

/// With this before what is wrong; of several faults before each.
Error after(std::string_view prefix, const Error& error);
/// What is wrong, a line for each fault.
std::vector<std::string> lines_of(const Error& error);

}  // namespace gw::base
