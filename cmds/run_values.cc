// Values of grun's options.
#include "cmds/run_values.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cmds/batch_locality.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return base::iequals(w, word); });
}

/// Takes "quiet" and "verbose" off the front; what is left says how.
std::vector<std::string> binding_words(RunOptions& o, std::string_view value) {
  std::vector<std::string> rest;
  for (std::string& word : base::split(base::to_lower(value), ',')) {
    if (word == "verbose" || word == "v")
      o.says_binding = true;
    else if (word == "quiet" || word == "q")
      o.says_binding = false;
    else
      rest.push_back(std::move(word));
  }
  return rest;
}

tl::unexpected<base::Error> unknown_word(std::string_view option, std::string_view word, std::string_view choices) {
  const bool is_list = word.starts_with("map_") || word.starts_with("mask_") || word.starts_with("rank_");
  if (is_list)
    return invalid(
        "option " + std::string(option) + ": " + base::printable(word, 40) + " is not supported in this version",
        "choose one of " + std::string(choices));
  return invalid("option " + std::string(option) + ": invalid value \"" + base::printable(word, 40) + "\"",
                 "choose one of " + std::string(choices));
}

}  // namespace

Status set_cpu_bind(RunOptions& o, std::string_view value) {
  static constexpr std::array<std::string_view, 8> kBound = {"cores",   "rank",  "threads", "closest",
                                                             "sockets", "ldoms", "auto",    "yes"};
  for (const std::string& word : binding_words(o, value)) {
    if (word == "none" || word == "no")
      o.binds_cpus = false;
    else if (is_one_of(word, kBound))
      o.binds_cpus = true;
    else
      return unknown_word("--cpu-bind", word, "none, cores, rank, closest, verbose, quiet");
  }
  return {};
}

Status set_gpu_bind(RunOptions& o, std::string_view value) {
  GW_TRY(bind, parse_gpu_bind(value));
  const std::string_view how = std::string_view(bind).substr(bind.rfind(',') + 1);
  if (how.starts_with("map_") || how.starts_with("mask_"))
    return unknown_word("--gpu-bind", how, "none, closest, single:N, per_task:N, verbose");
  o.binds_gpus = how != "none";
  o.job.spec.gpu_bind = bind;
  return {};
}

Status set_mem_bind(RunOptions& o, std::string_view value) {
  static constexpr std::array<std::string_view, 2> kBound = {"local", "rank"};
  for (const std::string& word : binding_words(o, value)) {
    if (word == "none" || word == "no")
      o.binds_memory = false;
    else if (is_one_of(word, kBound))
      o.binds_memory = true;
    else if (word != "prefer" && word != "sort" && word != "nosort")
      return unknown_word("--mem-bind", word, "none, local, verbose, quiet");
  }
  return {};
}

Status set_distribution(RunOptions& o, std::string_view value) {
  const std::string nodes = base::to_lower(value.substr(0, value.find_first_of(":,")));
  if (nodes == "block" || nodes == "*")
    o.distribution = attach::Distribution::kBlock;
  else if (nodes == "cyclic")
    o.distribution = attach::Distribution::kCyclic;
  else
    return invalid("option -m/--distribution: \"" + base::printable(value, 40) + "\" is not supported",
                   "choose block or cyclic");
  return {};
}

Status set_mpi(RunOptions& o, std::string_view value) {
  if (base::iequals(value, "none")) return {};
  if (base::iequals(value, "list")) {
    o.mpi_list = true;
    return {};
  }
  if (base::iequals(value, "pmix"))
    return invalid("option --mpi: pmix is not there in this version", "--mpi=none runs programs without it");
  return invalid("option --mpi: there is no \"" + base::printable(value, 40) + "\"", "--mpi=list names what there is");
}

Status set_switch(bool& field, std::string_view value, std::string_view option) {
  if (!value.empty() && value != "0" && value != "1")
    return invalid("option " + std::string(option) + " takes 0 or 1, not \"" + base::printable(value, 40) + "\"");
  field = value != "0";
  return {};
}

}  // namespace gw::cmds
