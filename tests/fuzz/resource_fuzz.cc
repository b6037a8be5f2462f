// What jobs ask for: GPUs (--gpus, --gres), features, locality, signals; and the patterns of output paths. The first
// byte says which.
#include <algorithm>

#include "bind/words.h"
#include "cmds/request/gpu_options.h"
#include "cmds/request/job_options.h"
#include "cmds/request/locality_options.h"
#include "model/output_path.h"
#include "model/request.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

template <typename T>
bool is_sound(const base::Result<T>& result) {
  if (!result) check_error(result.error());
  return result.has_value();
}

bool gpus(std::string_view text) { return is_sound(cmds::parse_gpu_spec(text, "--gpus")); }
bool gres(std::string_view text) { return is_sound(cmds::parse_gres_option(text)); }

bool features(std::string_view text) {
  const auto sets = model::parse_features(std::string(text));
  if (!is_sound(sets)) return false;
  FUZZ_CHECK(model::parse_features(model::format_features(*sets)) == *sets);
  return true;
}

bool locality(std::string_view text) {
  const auto steps = model::parse_locality(text);
  if (!is_sound(steps)) return false;
  FUZZ_CHECK(model::parse_locality(model::format_locality(*steps)) == *steps);
  return true;
}

bool warn_signal(std::string_view text) {
  const auto warn = cmds::parse_warn_signal(text);
  return is_sound(warn);
}

/// A value put in for a pattern never adds a path component.
bool output_path(std::string_view text) {
  model::PatternValues values;
  values.job_id = 7;
  values.job_name = "../../etc/passwd";
  values.user = "..";
  values.node = "n1.example";
  const std::string path = model::expand_patterns(text, values);
  const auto slashes = [](std::string_view s) { return std::count(s.begin(), s.end(), '/'); };
  FUZZ_CHECK(slashes(path) == slashes(text));
  FUZZ_CHECK(path.size() <= 64 + 32 * text.size());
  FUZZ_CHECK(path.empty() || model::resolve_job_path(text, "/home/u", values).starts_with('/'));
  return true;
}

/// Three lines: --gpus, --gpus-per-node, --gpus-per-task, together.
bool together(std::string_view text) {
  Input in(text);
  cmds::GpuOptions options;
  for (cmds::GpuSpec* spec : {&options.total, &options.per_node, &options.per_task}) {
    const std::string_view line = in.line();
    if (line.empty()) continue;
    auto parsed = cmds::parse_gpu_spec(line, "--gpus");
    if (!is_sound(parsed)) return false;
    *spec = std::move(*parsed);
  }
  model::Request request;
  const base::Status applied = cmds::apply_gpus(options, request);
  const base::Status fits = applied ? model::normalise(request) : applied;
  if (!fits) check_error(fits.error());
  return fits.has_value();
}

bool gpu_bind(std::string_view text) {
  const auto words = cmds::parse_gpu_bind(text);
  if (!is_sound(words)) return false;
  FUZZ_CHECK(cmds::parse_gpu_bind(*words) == *words);
  return true;
}

bool gres_flags(std::string_view text) {
  const auto words = cmds::parse_gres_flags(text);
  if (!is_sound(words)) return false;
  FUZZ_CHECK(cmds::parse_gres_flags(*words) == *words);
  return true;
}

/// What is bound lies within the bounds that it promises.
template <typename Way>
bool is_bound(const base::Result<bind::Words<Way>>& words) {
  if (!is_sound(words)) return false;
  FUZZ_CHECK(words->list.size() <= bind::kMaxEntries);
  for (const base::IndexSet& set : words->list) {
    FUZZ_CHECK(!set.empty());
    FUZZ_CHECK(bind::mask_text(set).starts_with("0x"));
  }
  return true;
}

bool cpu_bind(std::string_view text) { return is_bound(bind::parse_cpu(text)); }
bool mem_bind(std::string_view text) { return is_bound(bind::parse_mem(text)); }

constexpr bool (*kKinds[])(std::string_view) = {gpus,     gres,     features,   locality, warn_signal, output_path,
                                                together, gpu_bind, gres_flags, cpu_bind, mem_bind};

bool run(std::string_view input) {
  Input in(input);
  const size_t kind = static_cast<size_t>(in.u8() - '0');
  const std::string_view text = in.rest();
  return kKinds[kind % std::size(kKinds)](text);
}

GW_FUZZ_TARGET("resource", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
