// GPU options of gbatch.
#include "cmds/request/gpu_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gw::cmds {
namespace {

using base::invalid;

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool looks_numeric(std::string_view text) {
  return !text.empty() && (text[0] == '-' || text[0] == '+' || (text[0] >= '0' && text[0] <= '9'));
}

base::Result<std::string> common_type(const GpuOptions& g) {
  std::string type;
  for (const GpuSpec* s : {&g.total, &g.per_node, &g.per_task}) {
    if (!s->given || s->type.empty() || s->type == type) continue;
    if (!type.empty())
      return invalid(fmt::format("the GPU options ask for different types: {} and {}", base::printable(type, 40),
                                 base::printable(s->type, 40)));
    type = s->type;
  }
  return type;
}

void set(model::Request& r, model::GpuCounting counting, uint32_t count) {
  r.gpu_counting = counting;
  r.gpus = count;
}

base::Result<uint32_t> divided(const GpuSpec& total, const GpuSpec& part, const char* option) {
  if (part.count != 0 && total.count % part.count == 0) return total.count / part.count;
  return invalid(fmt::format("--gpus={} is not a multiple of {}={}", total.count, option, part.count));
}

/// --gpus with --gpus-per-node: their quotient is the number of nodes.
base::Status total_and_node(const GpuOptions& g, model::Request& r) {
  GW_TRY(nodes, divided(g.total, g.per_node, "--gpus-per-node"));
  if (r.nodes_given && (nodes < r.min_nodes || nodes > r.max_nodes))
    return invalid(fmt::format("--gpus={} with --gpus-per-node={} means {} nodes, but -N/--nodes asks for {}",
                               g.total.count, g.per_node.count, nodes, r.min_nodes));
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = nodes;
  set(r, model::GpuCounting::kPerNode, g.per_node.count);
  return {};
}

/// --gpus with --gpus-per-task: their quotient is the number of tasks.
base::Status total_and_task(const GpuOptions& g, model::Request& r) {
  GW_TRY(tasks, divided(g.total, g.per_task, "--gpus-per-task"));
  if (r.tasks_given && tasks != r.tasks)
    return invalid(fmt::format("--gpus={} with --gpus-per-task={} means {} tasks, but -n/--ntasks asks for {}",
                               g.total.count, g.per_task.count, tasks, r.tasks));
  r.tasks_given = true;
  r.tasks = tasks;
  set(r, model::GpuCounting::kPerTask, g.per_task.count);
  return {};
}

/// --gpus-per-node with --gpus-per-task: their quotient is the number of tasks on a node.
base::Status node_and_task(const GpuOptions& g, model::Request& r) {
  if (g.per_task.count == 0 || g.per_node.count % g.per_task.count != 0)
    return invalid(
        fmt::format("--gpus-per-node={} is not a multiple of --gpus-per-task={}", g.per_node.count, g.per_task.count));
  const uint32_t tasks = g.per_node.count / g.per_task.count;
  if (r.tasks_per_node != 0 && r.tasks_per_node != tasks)
    return invalid(fmt::format(
        "--gpus-per-node={} with --gpus-per-task={} means {} tasks on a node, but --ntasks-per-node asks for {}",
        g.per_node.count, g.per_task.count, tasks, r.tasks_per_node));
  r.tasks_per_node = tasks;
  set(r, model::GpuCounting::kPerNode, g.per_node.count);
  return {};
}

/// The one thing that does not go together with shards.
base::Status check_shards(const GpuOptions& g) {
  if (g.per_node.milli == model::kWholeGpu) return {};
  if ((g.total.given && g.total.count != 0) || (g.per_task.given && g.per_task.count != 0))
    return invalid("--gres=shard is given together with --gpus or --gpus-per-task",
                   "a job has a part of one GPU, or whole GPUs");
  return {};
}

/// `250` or `h100:250`
base::Result<GpuSpec> parse_shards(const std::string& spec) {
  constexpr const char* kHint = "shard:250 is a quarter of a GPU; for a whole one write gpu:1";
  const size_t colon = spec.rfind(':');
  const std::string parts = colon == std::string::npos ? spec : spec.substr(colon + 1);
  GpuSpec one{true, 1, {}};
  if (colon != std::string::npos) {
    auto typed = parse_gpu_spec(spec.substr(0, colon) + ":1", "--gres=shard");
    if (!typed) return typed;
    one.type = typed->type;
  }
  auto milli = base::parse_int(parts, 1, model::kWholeGpu - 1, "--gres=shard");
  if (!milli) return base::fail(milli.error().code, milli.error().what, kHint);
  one.milli = static_cast<uint32_t>(*milli);
  return one;
}

/// GPUs, or parts of one, that a part of --gres asks for; nullopt: it asks for something else.
base::Result<std::optional<GpuSpec>> gpus_of_gres(std::string_view part) {
  if (part.starts_with("gres/") || part.starts_with("gres:")) part.remove_prefix(5);
  std::string spec(part);
  std::replace(spec.begin(), spec.end(), '=', ':');
  const size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon);
  spec = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (kind != "shard" && kind != "gpu") return std::optional<GpuSpec>();
  auto one = kind == "shard" ? parse_shards(spec)
             : spec.empty()  ? GpuSpec{true, 1, {}}
                             : parse_gpu_spec(spec, "--gres");
  if (one) one->by_gres = true;
  return one;
}

}  // namespace

base::Result<GpuSpec> parse_gpu_spec(std::string_view text, std::string_view option) {
  const std::string name(option);
  if (text.find(',') != std::string_view::npos)
    return invalid(name + ": several GPU types in one job are not supported in this version");
  const size_t colon = text.rfind(':');
  const std::string_view last = colon == std::string_view::npos ? text : text.substr(colon + 1);
  GpuSpec spec{true, 1, {}};
  if (colon == std::string_view::npos && !looks_numeric(text)) {
    if (text.empty()) return invalid(name + " needs a value: [TYPE:]COUNT");
    spec.type = base::to_lower(text);
    return spec;
  }
  GW_TRY(count, base::parse_int(last, 0, 10'000'000, name));
  spec.count = static_cast<uint32_t>(count);
  if (colon != std::string_view::npos) {
    spec.type = base::to_lower(text.substr(0, colon));
    if (spec.type.empty() || spec.type.find(':') != std::string::npos || is_number(spec.type))
      return invalid(name + ": \"" + base::printable(text, 60) + "\" is not [TYPE:]COUNT");
  }
  return spec;
}

base::Result<GresAsked> parse_gres_option(std::string_view text) {
  GresAsked out;
  if (base::trim(text).empty()) return invalid("--gres: the value is empty");
  if (base::iequals(text, "none")) {
    out.gpus = GpuSpec{true, 0, {}};
    return out;
  }
  std::vector<std::string> others;
  for (const std::string& part : base::split(std::string(text), ',')) {
    GW_TRY(gpus, gpus_of_gres(part));
    if (gpus && out.gpus)
      return invalid("--gres: \"" + base::printable(text, 60) + "\" asks for GPUs twice",
                     out.gpus->milli != gpus->milli ? "a job has a part of one GPU, or whole GPUs"
                                                    : "several GPU types in one job are not supported in this version");
    if (gpus)
      out.gpus = std::move(*gpus);
    else
      others.push_back(part);
  }
  GW_TRY(gres, model::parse_gres(base::join(others, ",")));
  out.others = std::move(gres);
  return out;
}

base::Status apply_gpus(const GpuOptions& g, model::Request& r) {
  GW_TRY_STATUS(check_shards(g));
  GW_TRY(type, common_type(g));
  r.gpu_type = type;
  r.gpu_milli = g.per_node.milli;
  // Zero says "none" and takes no part in the arithmetic.
  const bool total = g.total.given && g.total.count != 0;
  const bool per_node = g.per_node.given && g.per_node.count != 0;
  const bool per_task = g.per_task.given && g.per_task.count != 0;
  if (total && per_node && per_task)
    return invalid("--gpus, --gpus-per-node and --gpus-per-task are given at once", "leave out one of them");
  if (total && per_node) return total_and_node(g, r);
  if (total && per_task) return total_and_task(g, r);
  if (per_node && per_task) return node_and_task(g, r);
  if (total)
    set(r, model::GpuCounting::kPerJob, g.total.count);
  else if (per_node)
    set(r, model::GpuCounting::kPerNode, g.per_node.count);
  else if (per_task)
    set(r, model::GpuCounting::kPerTask, g.per_task.count);
  else
    r.gpu_type.clear();
  return {};
}

}  // namespace gw::cmds
