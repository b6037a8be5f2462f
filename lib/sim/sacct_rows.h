// Rows of `sacct -P` or `gacct -P` as rows of a trace: what their fields say in the columns that a trace has.
// Invariant: a row is taken if it is about a job that has run and ended; steps and jobs without a run are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::sim {

class SacctRows {
 public:
  /// Errors: a field that is needed and not there.
  static base::Result<SacctRows> open(const std::vector<std::string_view>& header);

  /// The header, and behind it the columns that are made.
  static std::vector<std::string_view> columns(const std::vector<std::string_view>& header);
  /// Makes the columns of a row of as many fields as the header has. False: the row is left out. Errors: a value that
  /// is none.
  base::Result<bool> make(const std::vector<std::string_view>& fields, std::vector<std::string>& made);
  /// Jobs that never ran, or have not ended.
  uint32_t without_run() const { return without_run_; }
  /// Jobs with parts of a GPU, of which the fields do not say how large they are.
  uint32_t with_shards() const { return with_shards_; }

 private:
  std::vector<std::string> names_;  // in lower case
  uint32_t without_run_ = 0, with_shards_ = 0;

  bool has(std::string_view name) const;
  /// Empty if there is no such field.
  std::string_view value(const std::vector<std::string_view>& fields, std::string_view name) const;
  base::Result<std::string> submit(const std::vector<std::string_view>& fields) const;
  base::Result<std::string> duration(const std::vector<std::string_view>& fields) const;
};

/// Cuts a line at bars.
void split_bars(std::string_view line, std::vector<std::string_view>& fields);

}  // namespace gw::sim
