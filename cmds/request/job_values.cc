// Values of gbatch's options.
#include "cmds/request/job_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>

#include "base/hostlist.h"
#include "base/text.h"
#include "cmds/request/job_options.h"
#include "cmds/request/read_names.h"
#include "model/sentences.h"

namespace gw::cmds {

using base::invalid;
using base::Status;
using client::Handler;
using Text = std::string_view;

namespace {

constexpr int64_t kMaxNice = 2'147'483'645;

/// A number of nodes; "1k" are 1,024 of them, as in Slurm, and "1m" 1,024 times as many.
base::Result<int64_t> node_count(Text text) {
  constexpr int64_t kMost = 1'000'000;
  int64_t unit = 1;
  if (!text.empty() && (text.back() == 'k' || text.back() == 'K')) unit = 1 << 10;
  if (!text.empty() && (text.back() == 'm' || text.back() == 'M')) unit = 1 << 20;
  if (unit > 1) text.remove_suffix(1);
  GW_TRY(count, base::parse_int(text, 1, kMost, "-N/--nodes"));
  if (count * unit <= kMost) return count * unit;
  return base::with_sentence(invalid(fmt::format("-N/--nodes: more than {} nodes", kMost)), model::kNodeCountSentence);
}

}  // namespace

Handler number(uint32_t& field, Text option, int64_t low, int64_t high) {
  return [&field, option, low, high](Text value) -> Status {
    GW_TRY(n, base::parse_int(value, low, high, option));
    field = static_cast<uint32_t>(n);
    return {};
  };
}

Handler text_of_job(std::string& field, Text option) {
  return [&field, option](Text value) -> Status {
    if (value.empty()) return invalid(std::string(option) + ": the value is empty");
    field = value;
    return {};
  };
}

Handler host_list(std::vector<std::string>& field, Text option) {
  return [&field, option](Text value) -> Status {
    if (value.find('/') != Text::npos) {
      GW_TRY(listed, read_names(std::string(value), option));
      field = std::move(listed);
      return {};
    }
    auto names = base::expand_hostlist(value);
    if (!names)
      return base::fail(names.error().code, std::string(option) + ": " + names.error().what, names.error().hint);
    if (names->empty()) return invalid(std::string(option) + ": no node is named");
    base::sort_hostlist(*names);
    field = std::move(*names);
    return {};
  };
}

Handler gpus(GpuSpec& spec, Text option) {
  return [&spec, option](Text value) -> Status {
    GW_TRY(parsed, parse_gpu_spec(value, option));
    spec = parsed;
    return {};
  };
}

Status set_nodes(model::Request& r, Text value) {
  const size_t dash = value.find('-', 1);
  GW_TRY(low, node_count(value.substr(0, dash)));
  int64_t high = low;
  if (dash != Text::npos) {
    GW_TRY(parsed, node_count(value.substr(dash + 1)));
    high = parsed;
  }
  if (high < low) return invalid(fmt::format("-N/--nodes: \"{}\" runs backwards", base::printable(value, 40)));
  r.nodes_given = true;
  r.min_nodes = static_cast<uint32_t>(low);
  r.max_nodes = static_cast<uint32_t>(high);
  return {};
}

Status set_memory(model::Request& r, Text value, MemoryOf of) {
  static constexpr const char* kOptions[] = {"--mem: ", "--mem-per-cpu: ", "--mem-per-gpu: "};
  auto mb = base::parse_memory_mb(value);
  if (!mb) return base::fail(mb.error().code, kOptions[static_cast<size_t>(of)] + mb.error().what, mb.error().hint);
  r.mem_per_node_mb = of == MemoryOf::kNode ? *mb : 0;
  r.mem_per_cpu_mb = of == MemoryOf::kCpu ? *mb : 0;
  r.mem_per_gpu_mb = of == MemoryOf::kGpu ? *mb : 0;
  r.mem_all = of == MemoryOf::kNode && *mb == 0;
  return {};
}

base::Result<base::Duration> parse_time_limit(Text text) {
  return base::parse_duration(text).map(
      [](base::Duration d) { return d == base::Duration{} ? base::kUnlimited : base::round_up_to_minute(d); });
}

Status set_time(model::JobSpec& spec, Text value) {
  auto limit = parse_time_limit(value);
  if (!limit)
    return invalid("-t/--time: Invalid time limit specification: " + limit.error().what,
                   "such as 90 (minutes), 1:30:00, 2-12 (days-hours), 90s, UNLIMITED");
  spec.time_limit = *limit;
  return {};
}

Status set_begin(model::JobSpec& spec, Text value, base::Time now) {
  auto begin = base::parse_time(value, now);
  if (!begin) return base::fail(begin.error().code, "--begin: " + begin.error().what, begin.error().hint);
  spec.begin = *begin <= now ? base::Time{} : *begin;
  return {};
}

Status set_time_min(model::JobSpec& spec, Text value) {
  auto least = base::parse_duration(value);
  if (!least) return base::fail(least.error().code, "--time-min: " + least.error().what, least.error().hint);
  if (*least == base::kUnlimited) return invalid("--time-min: UNLIMITED is no time to be shortened to");
  spec.time_min = base::round_up_to_minute(*least);
  return {};
}

Status set_deadline(model::JobSpec& spec, Text value, base::Time now) {
  auto deadline = base::parse_time(value, now);
  if (!deadline)
    return base::fail(deadline.error().code, "--deadline: " + deadline.error().what, deadline.error().hint);
  if (*deadline <= now)
    return base::with_sentence(invalid("--deadline: " + base::format_time(*deadline) + " has passed"),
                               model::kTimesSentence);
  spec.deadline = *deadline;
  return {};
}

Status set_reservation(model::JobSpec& spec, Text value) {
  if (value.empty()) return invalid("--reservation: the value is empty");
  if (value.find(',') != Text::npos)
    return invalid("--reservation: several reservations for one job are not supported in this version");
  const bool is_name = value.size() <= 64 && std::all_of(value.begin(), value.end(), [](unsigned char c) {
                         return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                       });
  if (!is_name) return invalid("--reservation: \"" + base::printable(value, 80) + "\" is not a name");
  spec.reservation = value;
  return {};
}

Status set_dependency(model::JobSpec& spec, Text value) {
  auto parsed = model::parse_dependency(value);
  if (!parsed) return base::fail(parsed.error().code, "--dependency: " + parsed.error().what, parsed.error().hint);
  if (parsed->terms.empty()) return invalid("-d/--dependency: the value is empty");
  spec.dependency = value;
  return {};
}

base::Result<bool> parse_yes_or_no(Text option, Text value) {
  for (const auto& [word, means] : {std::pair{"yes", true},
                                    {"y", true},
                                    {"true", true},
                                    {"1", true},
                                    {"no", false},
                                    {"n", false},
                                    {"false", false},
                                    {"0", false}})
    if (base::iequals(value, word)) return means;
  return invalid(std::string(option) + ": \"" + base::printable(value, 40) + "\" is neither yes nor no");
}

Status set_nice(model::JobSpec& spec, Text value) {
  if (value.empty()) {
    spec.nice = 100;
    return {};
  }
  GW_TRY(nice, base::parse_int(value, -kMaxNice, kMaxNice, "--nice"));
  spec.nice = static_cast<int32_t>(nice);
  return {};
}

Status set_open_mode(model::JobSpec& spec, Text value) {
  const bool append = base::iequals(value, "append") || base::iequals(value, "a");
  const bool truncate = base::iequals(value, "truncate") || base::iequals(value, "t");
  if (!append && !truncate)
    return invalid("--open-mode: \"" + base::printable(value, 40) + "\" is neither append nor truncate");
  spec.launch.append_output = append;
  return {};
}

Status set_on_preempt(model::JobSpec& spec, Text value) {
  std::vector<std::string> known;
  for (const auto what : model::kOnPreempt) {
    known.emplace_back(model::name(what));
    if (!base::iequals(value, known.back())) continue;
    spec.on_preempt = what;
    return {};
  }
  return invalid("--on-preempt: \"" + base::printable(value, 40) + "\" is none of " + base::join(known, ", "),
                 base::did_you_mean(base::to_lower(value), known));
}

Status set_exclusive(model::JobSpec& spec, LeftOut& left_out, Text value) {
  const bool is_among_own = base::iequals(value, "user") || base::iequals(value, "mcs") || base::iequals(value, "topo");
  if (!value.empty() && !is_among_own && !base::iequals(value, "exclusive"))
    return invalid("--exclusive: \"" + base::printable(value, 40) + "\" is neither user nor mcs");
  spec.request.exclusive = !is_among_own;
  if (is_among_own)
    left_out.add("exclusive", "jobs of others may run on its nodes; --exclusive without a value takes whole nodes");
  else
    left_out.remove("exclusive");
  return {};
}

Status set_features(model::JobSpec& spec, Text value) {
  GW_TRY(features, model::parse_features(std::string(value)));
  if (features.empty()) return invalid("-C/--constraint: the value is empty");
  spec.request.features = std::move(features);
  return {};
}

base::Result<int> parse_signal(Text text, Text option) {
  const std::string shown = base::printable(text, 40);
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    GW_TRY(number, base::parse_int(text, 1, 64, option));
    return static_cast<int>(number);
  }
  std::string name = base::to_lower(text);
  if (name.starts_with("sig")) name = name.substr(3);
  std::vector<std::string> known;
  for (int signo = 1; signo < 32; ++signo) {
    const char* abbreviation = ::sigabbrev_np(signo);
    if (abbreviation == nullptr) continue;
    if (base::iequals(name, abbreviation)) return signo;
    known.emplace_back(base::to_lower(abbreviation));
  }
  return invalid(fmt::format("{}: unknown signal \"{}\"", option, shown), base::did_you_mean(name, known));
}

base::Result<model::WarnSignal> parse_warn_signal(Text text) {
  model::WarnSignal warn;
  Text rest = text;
  while (rest.size() > 2 && rest[1] == ':' && (rest[0] == 'B' || rest[0] == 'b' || rest[0] == 'R' || rest[0] == 'r')) {
    // R: is for reservations that give way to running jobs; there are none, so that it changes nothing.
    warn.batch_only |= rest[0] == 'B' || rest[0] == 'b';
    rest.remove_prefix(2);
  }
  const size_t at = rest.find('@');
  if (at != Text::npos) {
    GW_TRY(before, base::parse_int(rest.substr(at + 1), 0, 65'535, "--signal: seconds"));
    warn.seconds_before = static_cast<uint32_t>(before);
  }
  GW_TRY(signo, parse_signal(rest.substr(0, at), "--signal"));
  warn.signo = signo;
  return warn;
}

}  // namespace gw::cmds
