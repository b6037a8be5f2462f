// The rows of ended jobs that were changed last and may not be durable yet: who reads the database now may see them as
// they were before. Invariant: no more than kMost are kept, the latest, and of more than kMostBytes one.
#pragma once

#include <deque>
#include <utility>

#include "store/rows.h"

namespace gw::ctld {

class AmendedRows {
 public:
  static constexpr size_t kMost = 256, kMostBytes = 16 << 20;

  /// What it is now; null: not among the latest.
  const store::AmendEnded* find(base::JobId job) const {
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row)
      if (row->job == job) return &*row;
    return nullptr;
  }
  void add(store::AmendEnded row) {
    bytes_ += size(row);
    rows_.push_back(std::move(row));
    while (rows_.size() > kMost || (bytes_ > kMostBytes && rows_.size() > 1)) {
      bytes_ -= size(rows_.front());
      rows_.pop_front();
    }
  }

 private:
  std::deque<store::AmendEnded> rows_;
  size_t bytes_ = 0;

  static size_t size(const store::AmendEnded& row) { return row.spec.size() + row.status.size(); }
};

}  // namespace gw::ctld
