// What the controller wants to know of the use of runs, until their shepherds have said it.
// Invariants: never more than kMost; what is not answered within kForgetAfter is forgotten when others are asked, since
// nobody waits for it any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "noded/core/facts.h"

namespace gw::noded {

class UsageQueries {
 public:
  static constexpr base::Duration kForgetAfter = base::seconds(10);
  static constexpr size_t kMost = 4096;

  void drop_old(base::Time now) {
    std::erase_if(asked_, [&](const auto& entry) { return now - entry.second.at > kForgetAfter; });
  }
  bool is_full() const { return asked_.size() >= kMost; }
  /// `id`: the controller's number. `gpus`: those of the run, "0-3".
  void add(base::Time now, uint64_t id, RunKey run, std::string gpus) { asked_[{id, run}] = {std::move(gpus), now}; }
  /// The GPUs; none: it was not asked for, or is forgotten.
  std::optional<std::string> take(uint64_t id, RunKey run) {
    const auto found = asked_.find({id, run});
    if (found == asked_.end()) return std::nullopt;
    std::string gpus = std::move(found->second.gpus);
    asked_.erase(found);
    return gpus;
  }

 private:
  struct Asked {
    std::string gpus;
    base::Time at;
  };
  std::map<std::pair<uint64_t, RunKey>, Asked> asked_;
};

}  // namespace gw::noded
