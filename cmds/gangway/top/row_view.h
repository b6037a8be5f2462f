// What the views of `gangway top` have in common: rows, of which one is chosen, and what is said of that one.
// Invariants: pure; a view points into what is known, and is made anew when that changes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cmds/gangway/top/filter.h"
#include "cmds/gangway/top/known.h"

namespace gw::cmds::top {

enum class View : uint8_t { kJobs, kNodes, kPartitions, kQuotas };

/// Rows of text, which may have codes of colours (client::tone_code).
class RowView {
 public:
  RowView() = default;
  RowView(const RowView&) = delete;
  RowView& operator=(const RowView&) = delete;
  virtual ~RowView() = default;

  struct Table {
    std::string header;
    std::vector<std::string> rows;
  };
  virtual size_t size() const = 0;
  /// The rows from the first one on, before the last one.
  virtual Table table(size_t first, size_t last, size_t columns, base::Time now) const = 0;
  /// What the row is called, whatever stands around it.
  virtual std::string name(size_t row) const = 0;
  /// What people call it.
  virtual std::string label(size_t row) const { return name(row); }
  /// Lines about the row, each within the columns.
  virtual std::vector<std::string> about(size_t row, size_t columns, base::Time now) const = 0;
};

enum class JobOrder : uint8_t { kAsGqueue, kNewest, kGpus, kTime };
std::string_view word(JobOrder order);

std::unique_ptr<RowView> job_rows(const Known& known, const Filter& filter, JobOrder order, Look look);
std::unique_ptr<RowView> node_rows(const Known& known, const Filter& filter, Look look);
std::unique_ptr<RowView> partition_rows(const Known& known, const Filter& filter, Look look);
/// Without a choice of rows: the tree as gshare draws it.
std::unique_ptr<RowView> quota_rows(const Known& known, const Filter& filter, Look look, size_t columns);

/// The text in lines of so many columns, broken at blanks; a line break stays one.
std::vector<std::string> wrap(std::string_view text, size_t columns);
/// What is used of a whole, as a bar of so many columns.
std::string bar(double used, double whole, size_t columns, Look look);

}  // namespace gw::cmds::top
