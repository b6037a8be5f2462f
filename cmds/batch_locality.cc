// Options of gbatch on locality.
#include "cmds/batch_locality.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "bind/words.h"
#include "cmds/batch_values.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using client::Arg;
using client::kDirective;
using client::Option;
using Text = std::string_view;

constexpr int64_t kMaxNodes = 1'000'000;
constexpr int64_t kMaxCpus = 65'536;

/// The error with the option's name before it.
tl::unexpected<base::Error> of_option(const char* option, const base::Error& e) {
  return base::fail(e.code, std::string(option) + ": " + e.what, e.hint);
}

Status set_locality(model::Request& r, Text value) {
  auto steps = model::parse_locality(value);
  if (!steps) return of_option("--locality", steps.error());
  r.locality = std::move(*steps);
  return {};
}

Status set_switches(model::Request& r, Text value) {
  const size_t at = value.find('@');
  GW_TRY(count, base::parse_int(value.substr(0, at), 1, kMaxNodes, "--switches"));
  base::Duration wait = base::kUnlimited;
  if (at != Text::npos) {
    auto parsed = base::parse_duration(value.substr(at + 1));
    if (!parsed) return of_option("--switches", parsed.error());
    wait = *parsed;
  }
  r.max_switches = static_cast<uint32_t>(count);
  r.switches_wait = wait;
  return {};
}

Status set_fit(model::Request& r, Text value) {
  auto fit = model::parse_fit(value);
  if (!fit) return of_option("--fit", fit.error());
  r.fit = *fit;
  return {};
}

void add_network(std::vector<Option>& t, model::Request& r) {
  t.push_back(
      {"locality", 0, Arg::kRequired, "LEVEL[@WAIT][,...]",
       "how close: gpu, nvlink, pcie, numa, node, leaf, block, any; hold out WAIT for a level, then take the next",
       "LOCALITY", kDirective, [&r](Text v) { return set_locality(r, v); }});
  t.push_back({"switches", 0, Arg::kRequired, "COUNT[@WAIT]",
               "at most so many leaf switches; after WAIT (minutes, H:M:S, 90s) any number", "REQ_SWITCH", kDirective,
               [&r](Text v) { return set_switches(r, v); }});
  t.push_back({"segment", 0, Arg::kRequired, "COUNT", "nodes in groups of COUNT, each group within one block",
               "SEGMENT_SIZE", kDirective, number(r.segment, "--segment", 1, kMaxNodes)});
  t.push_back({"fit", 0, Arg::kRequired, "best|worst|spread",
               "take the fullest nodes that do, the emptiest, or one after the other (default: the partition's)", "FIT",
               kDirective, [&r](Text v) { return set_fit(r, v); }});
}

void add_with_gpus(std::vector<Option>& t, BatchOptions& o) {
  model::Request& r = o.spec.request;
  t.push_back({"cpus-per-gpu", 0, Arg::kRequired, "COUNT", "CPUs that come with a GPU; not together with -c",
               "CPUS_PER_GPU", kDirective, [&o, &r](Text v) -> Status {
                 o.given.cpus_per_gpu = true;
                 return number(r.cpus_per_gpu, "--cpus-per-gpu", 1, kMaxCpus)(v);
               }});
  t.push_back({"mem-per-gpu", 0, Arg::kRequired, "SIZE[KMGT]", "memory that comes with a GPU", "MEM_PER_GPU",
               kDirective, [&r](Text v) { return set_memory(r, v, MemoryOf::kGpu); }});
  t.push_back({"gpu-bind", 0, Arg::kRequired, "HOW",
               "GPUs of a task: closest, single:N, per_task:N, map_gpu:LIST, mask_gpu:LIST, none; verbose, before it",
               "GPU_BIND", kDirective, [&o](Text v) -> Status {
                 GW_TRY(bind, parse_gpu_bind(v));
                 o.spec.gpu_bind = bind;
                 return {};
               }});
  t.push_back({"gres-flags", 0, Arg::kRequired, "WORDS",
               "enforce-binding (only CPUs near the GPUs), disable-binding, or other words of Slurm's", "GRES_FLAGS",
               kDirective, [&o](Text v) -> Status {
                 GW_TRY(flags, parse_gres_flags(v));
                 o.spec.gres_flags = flags;
                 return {};
               }});
}

}  // namespace

base::Result<std::string> parse_gpu_bind(Text text) {
  if (text.empty()) return invalid("option --gpu-bind needs a value");
  GW_TRY(words, bind::parse_gpu(text));
  static_cast<void>(words);
  return base::to_lower(text);
}

base::Result<std::string> parse_gres_flags(Text text) {
  const std::vector<std::string> known = {"enforce-binding", "disable-binding", "allow-task-sharing",
                                          "multiple-tasks-per-sharing", "one-task-per-sharing"};
  std::string all = base::to_lower(text);
  const std::vector<std::string> words = base::split(all, ',');
  const auto has = [&](const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const std::string meant = base::did_you_mean(word, known);
    return invalid("--gres-flags: \"" + base::printable(word, 40) + "\" is no flag",
                   meant.empty() ? base::join(known, ", ") : meant);
  }
  if (words.empty()) return invalid("--gres-flags: the value is empty");
  for (const auto& [a, b] : {std::pair{0, 1}, std::pair{3, 4}})
    if (has(known[a]) && has(known[b])) return invalid("--gres-flags: " + known[a] + " contradicts " + known[b]);
  return all;
}

void add_locality(std::vector<Option>& table, BatchOptions& options) {
  add_network(table, options.spec.request);
  add_with_gpus(table, options);
}

}  // namespace gw::cmds
