// The map of the nodes down to their GPUs: a letter for each job of the node, which is explained below.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/bitset.h"
#include "base/counted.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/display.h"
#include "client/show/format.h"
#include "client/show/info_fields.h"
#include "client/show/job_view.h"
#include "client/show/node_view.h"
#include "cmds/gangway/top/row_view.h"

namespace gw::cmds::top {

namespace {

using client::Tone;

constexpr size_t kMostGpus = 64;  // of a node on the map; the rest is a number

std::string painted(const std::string& text, Tone tone, Look look) {
  const std::string_view code = look.colour ? client::tone_code(tone) : "";
  return code.empty() ? text : std::string(code) + text + std::string(client::kPlainCode);
}

/// a to z, and A to W for the jobs behind them; those after these share a sign.
std::map<uint32_t, char> letters_of(const wire::Node& node) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW";
  std::map<uint32_t, char> out;
  for (const auto& [gpu, job] : node.gpu_jobs()) out[job] = '+';
  size_t next = 0;
  for (auto& [job, letter] : out)
    if (next < kLetters.size()) letter = kLetters[next++];
  return out;
}

/// A sign for each GPU: of its job, `#` where a job has it that is not to be seen, `X` offline, `.` free.
std::string gpu_map(const wire::Node& node, const std::map<uint32_t, char>& letters, Look look) {
  const auto used = base::IndexSet::parse(node.alloc_gpus());
  std::string out = "[";
  const uint32_t shown = std::min<uint32_t>(node.total_gpus(), kMostGpus);
  for (uint32_t gpu = 0; gpu < shown; ++gpu) {
    if (gpu > 0 && gpu % 4 == 0) out += ' ';
    const auto job = node.gpu_jobs().find(gpu);
    if (node.offline_gpus().contains(gpu))
      out += painted("X", Tone::kBad, look);
    else if (job != node.gpu_jobs().end())
      out += painted(std::string(1, letters.at(job->second)), Tone::kBusy, look);
    else if (used && used->contains(gpu))
      out += painted("#", Tone::kBusy, look);
    else
      out += painted(".", Tone::kGood, look);
  }
  out += ']';
  if (shown < node.total_gpus()) out += fmt::format("+{}", node.total_gpus() - shown);
  return out;
}

size_t width_of_map(uint32_t gpus) {
  const size_t shown = std::min<size_t>(gpus, kMostGpus);
  return 2 + shown + (shown == 0 ? 0 : (shown - 1) / 4);
}

class NodeRows final : public RowView {
 public:
  NodeRows(const Known& known, const Filter& filter, Look look) : known_(known), look_(look) {
    for (const wire::Node& node : told(known.nodes).nodes()) {
      const std::string words = fmt::format("{} {} {}", node.name(), client::node_state_long(node), node.reason());
      if (!filter.fits(words)) continue;
      nodes_.push_back(&node);
      map_ = std::max(map_, width_of_map(node.total_gpus()));
      name_ = std::max(name_, client::display_width(node.name()));
    }
    constexpr size_t kWidestName = 24;
    name_ = std::min(name_, kWidestName);
    std::sort(nodes_.begin(), nodes_.end(),
              [](const wire::Node* a, const wire::Node* b) { return base::host_less(a->name(), b->name()); });
  }
  size_t size() const override { return nodes_.size(); }
  std::string name(size_t row) const override { return nodes_[row]->name(); }

  Table table(size_t first, size_t last, size_t /*columns*/, base::Time /*now*/) const override {
    Table out;
    out.header = fmt::format("{:<{}} {:<11} {:>9} {:>15}  {:<{}} JOBS", "NODE", name_, "STATE", "CPUS", "MEMORY MiB",
                             "GPUS", map_);
    for (size_t i = first; i < last; ++i) out.rows.push_back(row_of(*nodes_[i]));
    return out;
  }
  std::vector<std::string> about(size_t row, size_t columns, base::Time now) const override;

 private:
  const Known& known_;
  const Look look_;
  std::vector<const wire::Node*> nodes_;
  size_t name_ = 4, map_ = 4;

  std::string row_of(const wire::Node& node) const {
    const std::string name(client::cut_to_width(base::printable(node.name()), name_));
    const size_t padding = map_ - std::min(map_, width_of_map(node.total_gpus()));
    return fmt::format("{:<{}} {} {:>9} {:>15}  {}{} {}", name, name_,
                       painted(fmt::format("{:<11.11}", client::node_state_long(node)), client::node_tone(node), look_),
                       fmt::format("{}/{}", node.alloc_cpus(), node.total_cpus()),
                       fmt::format("{}/{}", node.alloc_mem_mb(), node.total_mem_mb()),
                       gpu_map(node, letters_of(node), look_), std::string(padding, ' '),
                       static_cast<uint32_t>(node.jobs_size()) + node.hidden_jobs());
  }
  const wire::Job* job(uint32_t id) const {
    for (const wire::Job& one : known_.jobs.jobs())
      if (one.id() == id) return &one;
    return nullptr;
  }
};

std::vector<std::string> NodeRows::about(size_t row, size_t columns, base::Time /*now*/) const {
  const wire::Node& node = *nodes_[row];
  std::string text = fmt::format("{}: {}", base::printable(node.name()), client::node_state_long(node));
  if (node.has_load_centi()) text += fmt::format(", load {}", client::load_text(node.load_centi()));
  if (!node.gres().empty()) text += ", " + base::printable(node.gres(), 100);
  if (!node.reason().empty()) text += fmt::format("; {}", base::printable(node.reason(), 200));
  std::vector<std::string> out = wrap(text, columns);
  constexpr int kMostJobs = 20;
  int told = 0;
  for (const auto& [id, letter] : letters_of(node)) {
    if (++told > kMostJobs) break;
    const wire::Job* one = job(id);
    std::string line = fmt::format("{}  job {}", letter, id);
    if (one != nullptr)
      line +=
          fmt::format(" {} of {}, QOS {}, {} on {}", base::printable(one->spec().name(), 40),
                      base::printable(one->spec().user(), 30), client::or_else(one->spec().qos(), "none"),
                      base::counted(client::gpu_count(*one), "GPU"), base::counted(client::node_count(*one), "node"));
    for (std::string& part : wrap(line, columns)) out.push_back(std::move(part));
  }
  for (const auto& [gpu, why] : node.offline_gpus())
    for (std::string& part : wrap(fmt::format("X  GPU {} is offline: {}", gpu, base::printable(why, 100)), columns))
      out.push_back(std::move(part));
  return out;
}

}  // namespace

std::unique_ptr<RowView> node_rows(const Known& known, const Filter& filter, Look look) {
  return std::make_unique<NodeRows>(known, filter, look);
}

}  // namespace gw::cmds::top
