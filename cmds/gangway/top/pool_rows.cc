// Partitions, with what is free in each; and the tree of quotas.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "client/show/display.h"
#include "client/show/job_view.h"
#include "client/show/node_view.h"
#include "client/show/share_text.h"
#include "cmds/gangway/top/row_view.h"
#include "model/cluster.h"

namespace gw::cmds::top {

namespace {

struct Pool {
  const wire::Partition* partition = nullptr;
  size_t nodes = 0, up = 0, running = 0, waiting = 0;
  client::GpuCounts gpus = {};
};

std::string state_of(const wire::Partition& partition) {
  const bool is_known = partition.state() <= static_cast<uint32_t>(model::PartitionState::kInactive);
  return is_known ? base::to_lower(model::name(static_cast<model::PartitionState>(partition.state()))) : "unknown";
}

bool is_up(const wire::Node& node) {
  const std::string state = client::node_state_long(node);
  return node.connected() && state.find("down") == std::string::npos;
}

class PartitionRows final : public RowView {
 public:
  PartitionRows(const Known& known, const Filter& filter, Look look) : look_(look) {
    for (const wire::Partition& partition : told(known.partitions).partitions())
      if (filter.fits(partition.name())) pools_.push_back({.partition = &partition});
    std::map<std::string_view, Pool*> by_name;
    for (Pool& pool : pools_) by_name[pool.partition->name()] = &pool;
    for (const wire::Node& node : told(known.nodes).nodes())
      for (const std::string& name : node.partitions()) {
        const auto it = by_name.find(name);
        if (it == by_name.end()) continue;
        ++it->second->nodes;
        it->second->up += is_up(node) ? 1 : 0;
        it->second->gpus += client::gpu_counts(node);
      }
    for (const wire::Job& job : known.jobs.jobs())
      for (const std::string& name : base::split(client::partition_of(job), ',')) {
        const auto it = by_name.find(name);
        if (it == by_name.end()) continue;
        ++(client::state_of(job) == model::JobState::kPending ? it->second->waiting : it->second->running);
      }
  }
  size_t size() const override { return pools_.size(); }
  std::string name(size_t row) const override { return pools_[row].partition->name(); }

  Table table(size_t first, size_t last, size_t /*columns*/, base::Time /*now*/) const override {
    constexpr size_t kBar = 16;
    Table out;
    out.header = fmt::format("{:<16} {:<6} {:>9} {:>5} {:>5}  {:<{}}  {}", "PARTITION", "AVAIL", "NODES UP", "RUN",
                             "WAIT", "GPUS", kBar, "USED/ALL");
    for (size_t i = first; i < last; ++i) {
      const Pool& pool = pools_[i];
      const uint32_t all = pool.gpus.free + pool.gpus.used + pool.gpus.offline;
      out.rows.push_back(fmt::format("{:<16} {:<6} {:>9} {:>5} {:>5}  {}  {}/{}",
                                     client::cut_to_width(base::printable(name(i)), 16), state_of(*pool.partition),
                                     fmt::format("{}/{}", pool.up, pool.nodes), pool.running, pool.waiting,
                                     bar(pool.gpus.used, all, kBar, look_), pool.gpus.used, all));
    }
    return out;
  }

  std::vector<std::string> about(size_t row, size_t columns, base::Time /*now*/) const override {
    const Pool& pool = pools_[row];
    const wire::Partition& p = *pool.partition;
    std::string text = fmt::format("{}: {} GPUs free, {} in use, {} offline; time limit {}", base::printable(p.name()),
                                   pool.gpus.free, pool.gpus.used, pool.gpus.offline,
                                   p.max_time_us() == 0 ? "none" : base::format_duration({p.max_time_us()}));
    if (p.allow_qos_size() > 0)
      text +=
          "; for QOS " +
          base::printable(base::join(std::vector<std::string>(p.allow_qos().begin(), p.allow_qos().end()), ","), 500);
    text += "\nJobs of several partitions are counted in each while they wait.";
    return wrap(text, columns);
  }

 private:
  const Look look_;
  std::vector<Pool> pools_;
};

bool has_gpus(const wire::ShowSharesReply& shares) {
  const auto has_line = [](const wire::QosShare& qos) {
    return std::any_of(qos.lines().begin(), qos.lines().end(), [](const auto& l) { return l.resource() == "gpu"; });
  };
  return std::any_of(shares.qos().begin(), shares.qos().end(), has_line);
}

class QuotaRows final : public RowView {
 public:
  QuotaRows(const Known& known, const Filter& filter, Look look, size_t columns) {
    client::ShareView view;
    view.resources = {has_gpus(told(known.shares)) ? "gpu" : "all"};
    view.unicode = look.unicode;
    view.colour = look.colour;
    constexpr size_t kWide = 100;
    view.columns = columns;
    view.is_narrow = columns < kWide;
    const auto text = client::share_text(told(known.shares), view);
    std::vector<std::string> lines = base::split(text ? *text : text.error().text(), '\n');
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    if (lines.empty()) return;
    header_ = std::move(lines.front());
    for (size_t i = 1; i < lines.size(); ++i)
      if (filter.fits(lines[i])) lines_.push_back(std::move(lines[i]));
  }
  size_t size() const override { return lines_.size(); }
  std::string name(size_t row) const override { return std::to_string(row); }
  Table table(size_t first, size_t last, size_t /*columns*/, base::Time /*now*/) const override {
    return {header_, {lines_.begin() + static_cast<long>(first), lines_.begin() + static_cast<long>(last)}};
  }
  std::vector<std::string> about(size_t /*row*/, size_t /*columns*/, base::Time /*now*/) const override { return {}; }

 private:
  std::string header_;
  std::vector<std::string> lines_;
};

}  // namespace

std::unique_ptr<RowView> partition_rows(const Known& known, const Filter& filter, Look look) {
  return std::make_unique<PartitionRows>(known, filter, look);
}

std::unique_ptr<RowView> quota_rows(const Known& known, const Filter& filter, Look look, size_t columns) {
  return std::make_unique<QuotaRows>(known, filter, look, columns);
}

}  // namespace gw::cmds::top
