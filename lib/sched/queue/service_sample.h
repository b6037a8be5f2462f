// What the last jobs had in all when they ended: the distribution by which some orders judge those that are still there
// (Needs::services). Invariant: it has the latest kMost services and no others.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace gw::sched {

/// In GPU-seconds, ascending.
using Services = std::vector<double>;

class ServiceSample {
 public:
  static constexpr size_t kMost = 1'000;

  /// A job has ended. Nothing and negative services are not counted: it never ran.
  void add(base::Duration service);
  /// Is there so much more than was told last that orders should hear of it: a tenth, and at least ten jobs? Not within
  /// ten minutes, since every waiting job is then ranked anew.
  /// It counts anew from then on.
  bool take_news(base::Time now);
  Services all() const;

  /// For the store, and back. Errors: it is no list of numbers.
  std::string text() const;
  base::Status restore(std::string_view text);

 private:
  std::vector<double> ring_;
  size_t next_ = 0;   // in the ring, once it is full
  size_t fresh_ = 0;  // since it was told last
  base::Time told_;
};

}  // namespace gw::sched
