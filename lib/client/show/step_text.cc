// scontrol show step.
#include "client/show/step_text.h"

#include <fmt/format.h>

#include "client/show/record.h"

namespace gw::client {
namespace {

std::string gres(const wire::NodeShare& share) {
  if (gpu_count(share) == 0) return {};
  return fmt::format("{}:{}(IDX:{})", share.has_gpu_milli() ? "shard" : "gpu",
                     share.has_gpu_milli() ? share.gpu_milli() : gpu_count(share), share.gpus());
}

void add_shares(Record& r, const StepRow& row) {
  for (const wire::NodeShare* share : shares_of(row))
    r.line("     ")
        .put("Nodes", share->node())
        .put("Tasks", share->tasks())
        .put("CPU_IDs", share->cores())
        .put("Mem", share->mem_mb())
        .put("GRES", gres(*share));
}

}  // namespace

std::string show_step_text(const StepRow& row, ShowStyle style) {
  std::string out;
  Record r(out, style.one_line);
  r.line()
      .put("StepId", step_id(row))
      .put("UserId", uid_of(row))
      .put("StartTime", show_time(start_of(row), "Unknown"))
      .put("TimeLimit", "UNLIMITED");
  r.line()
      .put("State", model::long_name(state_of(row)))
      .put("Partition", row.job == nullptr ? "(null)" : partition_of(*row.job))
      .put("NodeList", node_list(row));
  if (row.step != nullptr && !row.step->detail().empty()) r.line().put("ReasonDetail", row.step->detail());
  r.line()
      .put("Nodes", shares_of(row).size())
      .put("CPUs", cpu_count(row))
      .put("Tasks", task_count(row))
      .put("Name", or_else(name_of(row), "(null)"))
      .put("Network", "(null)");
  r.line().put("TRES", tres_of(row));
  if (style.detail) add_shares(r, row);
  r.end();
  return out;
}

}  // namespace gw::client
