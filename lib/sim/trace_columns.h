// The columns of traces, and what public formats call them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gw::sim {

enum class Column : uint8_t {
  kJobId,
  kSubmit,
  kDuration,
  kGpus,
  kNodes,
  kTasks,
  kCpus,
  kMemory,
  kGpuType,
  kGpuMilli,
  kQos,
  kUser,
  kPartition,
  kTimeLimit,
  kPriority,
  kPreemptible,
  kStart,  ///< With kEnd: the duration, where the file has none.
  kEnd,
  kMilliCpus,  ///< Instead of kCpus.
  kDependency,
  kStorageTime,  ///< Of an iteration; so are the next three.
  kCpuTime,
  kGpuTime,
  kNetworkTime,
};
constexpr size_t kColumnCount = 24;

std::string_view name(Column column);
std::optional<Column> parse_column(std::string_view name);
/// All names, in order.
std::vector<std::string> column_names();

/// What a format calls a column.
struct ColumnName {
  Column column;
  std::string_view name;
};
struct TraceFormat {
  std::string_view name;
  std::span<const ColumnName> columns;  ///< Those not listed are called as we call them.
  double scale_time = 1;
  bool is_swf = false;        ///< Fields by position, separated by blanks.
  bool numbers_rows = false;  ///< Without a job id: the number of the row.
  bool only_listed = true;    ///< Other columns are not looked for.
  bool is_sacct = false;      ///< Fields of records between bars, from which columns are made.
};
const TraceFormat* find_format(std::string_view name);
std::span<const TraceFormat> all_formats();
/// What the fields of SWF are called here, in order.
std::span<const std::string_view> swf_fields();

}  // namespace gw::sim
