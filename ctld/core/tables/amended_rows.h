// The rows of ended jobs that were changed last and may not be durable yet: who reads the database now may see them as
// they were before. Invariant: no more than kMost are kept, the latest.
#pragma once

#include <deque>
#include <utility>

#include "store/rows.h"

namespace gw::ctld {

class AmendedRows {
 public:
  static constexpr size_t kMost = 256;

  /// What it is now; null: not among the latest.
  const store::AmendEnded* find(base::JobId job) const {
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row)
      if (row->job == job) return &*row;
    return nullptr;
  }
  void add(store::AmendEnded row) {
    rows_.push_back(std::move(row));
    if (rows_.size() > kMost) rows_.pop_front();
  }

 private:
  std::deque<store::AmendEnded> rows_;
};

}  // namespace gw::ctld
