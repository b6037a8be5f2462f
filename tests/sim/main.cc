// sim_cluster: runs clusters in a box (cluster.h), one for each seed.
//   sim_cluster [--seeds FIRST-LAST | --seed N] [--trace] [--figures] [--first] [--twice]
// Prints the seeds that fail, what was broken, and the end of the trace; --trace prints all of it as it happens,
// --figures what was met how often; with --first it ends with the first seed that fails; with
// --twice each runs a second time, and fails if that is another run. Exit status 1 if one failed,
// or if 25 seeds or more did not meet everything.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>

#include "tests/sim/cluster.h"

namespace gw::sim_cluster {
namespace {

struct Options {
  uint64_t first = 1, last = 20;
  bool traces = false, figures = false, ends_at_first = false, twice = false;
};

std::optional<Broken> run_one(uint64_t seed, Trace& trace, Sights& seen) {
  try {
    Cluster cluster(seed, trace, seen);
    cluster.run();
  } catch (const Broken& broken) {
    return broken;
  }
  return std::nullopt;
}

char now_running[64];

/// A check of the product's own failed: say which seed repeats it.
void on_abort(int) {
  static_cast<void>(!write(STDERR_FILENO, now_running, std::strlen(now_running)));
  _exit(3);
}

bool holds(uint64_t seed, bool traces, Sights& seen) {
  std::snprintf(now_running, sizeof now_running, "\nseed %llu: aborted\n", static_cast<unsigned long long>(seed));
  Trace trace(traces ? Trace::Mode::kPrint : Trace::Mode::kOff);
  const auto broken = run_one(seed, trace, seen);
  if (!broken) return true;
  if (!traces) {
    Trace again(Trace::Mode::kLast);
    Sights twice;
    const auto same = run_one(seed, again, twice);
    for (const std::string& line : again.lines()) std::printf("%s\n", line.c_str());
    if (!same || same->what != broken->what) std::printf("THE SAME SEED GAVE ANOTHER RUN\n");
  }
  std::printf("seed %llu: BROKEN: %s: %s\n", static_cast<unsigned long long>(seed), broken->checker.c_str(),
              broken->what.c_str());
  std::printf("again: sim_cluster --seed %llu --trace\n", static_cast<unsigned long long>(seed));
  return false;
}

/// A seed stands for one run: what is random beside it (addresses, hashes, the system) may change nothing.
bool is_repeated(uint64_t seed) {
  Trace first(Trace::Mode::kLast), second(Trace::Mode::kLast);
  Sights seen, seen_again;
  static_cast<void>(run_one(seed, first, seen));
  static_cast<void>(run_one(seed, second, seen_again));
  const bool is_same = first.lines() == second.lines() && seen == seen_again;
  if (!is_same) std::printf("seed %llu: THE SAME SEED GAVE ANOTHER RUN\n", static_cast<unsigned long long>(seed));
  return is_same;
}

/// A hundred seeds meet everything; a part of them shows only what it met.
bool met_everything(const Sights& seen, uint64_t seeds, bool prints) {
  constexpr uint64_t kMany = 25;
  bool is_all = true;
  for (const std::string& sight : expected_sights()) {
    const auto it = seen.find(sight);
    const uint64_t times = it == seen.end() ? 0 : it->second;
    if (prints || (times == 0 && seeds >= kMany))
      std::printf("%8llu  %s\n", static_cast<unsigned long long>(times), sight.c_str());
    is_all &= times > 0;
  }
  if (!is_all && seeds >= kMany) std::printf("NOT EVERYTHING WAS MET\n");
  return is_all || seeds < kMany;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    char* rest = nullptr;
    options.traces |= word == "--trace";
    options.figures |= word == "--figures";
    options.ends_at_first |= word == "--first";
    options.twice |= word == "--twice";
    if (word == "--trace" || word == "--figures" || word == "--first" || word == "--twice") continue;
    if ((word != "--seed" && word != "--seeds") || value.empty()) return std::nullopt;
    options.first = options.last = std::strtoull(value.c_str(), &rest, 10);
    if (word == "--seeds" && *rest == '-') options.last = std::strtoull(rest + 1, &rest, 10);
    if (*rest != '\0' || options.last < options.first) return std::nullopt;
    ++i;
  }
  return options;
}

}  // namespace
}  // namespace gw::sim_cluster

int main(int argc, char** argv) {
  using namespace gw::sim_cluster;
  const auto options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr,
                 "usage: sim_cluster [--seeds FIRST-LAST | --seed N] [--trace] [--figures] [--first] [--twice]\n");
    return 2;
  }
  std::signal(SIGABRT, on_abort);
  std::signal(SIGSEGV, on_abort);
  uint64_t failed = 0;
  Sights seen;
  const uint64_t seeds = options->last - options->first + 1;
  for (uint64_t seed = options->first; seed <= options->last && !(failed > 0 && options->ends_at_first); ++seed)
    failed += (options->twice ? is_repeated(seed) : holds(seed, options->traces, seen)) ? 0 : 1;
  const bool is_whole = met_everything(seen, seeds, options->figures);
  const double seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  std::printf("%llu seeds, %llu failed, %.1f s\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(failed), seconds);
  return failed == 0 && is_whole ? 0 : 1;
}
