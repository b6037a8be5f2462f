// What gstat shows of what steps use: fields by name, as a table, as fields with bars between, as JSON.
// Invariant: a Chosen names only fields that are there; every text of a user is made printable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/api.pb.h"

namespace gw::client {

/// One step, put together from its nodes. A node without tasks of its own (of a job that is looked at as a whole)
/// counts as one.
struct UseRow {
  struct Part {
    std::string node;
    uint32_t rank = 0;
    int64_t cpu_us = 0;
    uint64_t rss = 0, peak_rss = 0, vm = 0, peak_vm = 0;
    uint64_t read = 0, written = 0, pages = 0;
  };
  std::string id;  ///< "7.0", "7.batch", "7.extern"
  std::vector<std::string> nodes;
  std::vector<Part> parts;
  const wire::StepUsage* step = nullptr;
};

/// In the order of the reply.
std::vector<UseRow> use_rows(uint32_t job, const wire::StepUsageReply& reply);

struct ChosenField {
  size_t field = 0;
  int width = 0;  ///< 0: as wide as it needs; negative: to the left.
};
struct UseStyle {
  bool no_header = false;
  bool bars = false;      ///< Fields with | between,
  bool bar_last = false;  ///< and behind the last.
};
inline constexpr std::string_view kUseFormat = "JobID,NTasks,Nodelist,AveCPU,AveRSS,MaxRSS,MaxRSSNode,GPUUtil,GPUMem";

/// "JobID,AveCPU%12,MaxRSS". Errors: unknown field; a width that is none.
base::Result<std::vector<ChosenField>> parse_use_format(std::string_view text);
/// The names of all fields, some on a line.
std::string use_field_names();
std::string use_text(const std::vector<UseRow>& rows, const std::vector<ChosenField>& fields, const UseStyle& style);
/// {"schema_version", "steps": [{"step_id", "nodes": [{"node", "tasks": [...], ...}], "silent": [...]}],
/// "last_update"}; bytes and microseconds.
std::string use_json(const std::vector<UseRow>& rows, int64_t now_us);

}  // namespace gw::client
