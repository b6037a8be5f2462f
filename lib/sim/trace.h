// Reads job traces: CSV with a header, columns by name; and public formats as they are. The columns are described in
// docs/scenario.md.
// Invariant: the rows are those of the file in order of submission, equal ones in the order of the file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/request.h"
#include "sched/policy/rate_model.h"

namespace gw::sim {

struct TraceJob {
  uint32_t line = 0;
  std::string id;
  base::Duration submit = {};
  base::Duration duration = {};
  uint32_t gpus = 0;  ///< Of the whole job; so are `cpus` and `mem_mb`.
  std::optional<uint32_t> nodes, tasks, cpus;
  std::optional<uint64_t> mem_mb;
  std::vector<std::string> gpu_types;  ///< Any of these; empty: any at all.
  uint32_t gpu_milli = model::kWholeGpu;
  std::string qos, user, partition;
  base::Duration time_limit = base::kUnlimited;
  int64_t priority = 50;
  bool preemptible = true;
  sched::Stages stages = {};    ///< Of an iteration, in whatever unit.
  std::string dependency = {};  ///< As `--dependency`, by the ids of the file.
};

struct TraceOptions {
  std::string format = "gangway";          ///< One of trace_formats().
  std::map<std::string, std::string> map;  ///< Column as we call it -> as the file calls it.
  std::optional<double> scale_time;        ///< What a unit of the file's times is in seconds; not given: the format's.
  bool skip_bad = false;                   ///< Leave bad rows out instead of refusing the file.
};

struct Trace {
  std::vector<TraceJob> jobs;
  uint32_t skipped = 0;
  std::vector<std::string> warnings;
};

/// Errors: no such format or column; a column that is needed and missing; bad rows, a line each (unless skip_bad).
base::Result<Trace> read_trace(std::string_view text, const std::string& path, const TraceOptions& options);

/// Names of the formats that are known.
std::vector<std::string> trace_formats();
/// Reads `COLUMN=NAME` of --map into `map`; either side may be the name that we use. Errors: neither is.
base::Status parse_column_map(std::string_view text, std::map<std::string, std::string>& map);

}  // namespace gw::sim
