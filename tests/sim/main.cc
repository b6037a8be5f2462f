// sim_cluster: runs clusters in a box (cluster.h), one for each seed.
//   sim_cluster [--seeds FIRST-LAST | --seed N] [--trace]
// Prints the seeds that fail, what was broken, and the end of the trace; --trace prints all of it as it happens. Exit
// status 1 if one failed.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <unistd.h>

#include "tests/sim/cluster.h"

namespace gw::sim_cluster {
namespace {

struct Options {
  uint64_t first = 1, last = 20;
  bool traces = false;
};

std::optional<Broken> run_one(uint64_t seed, Trace& trace) {
  try {
    Cluster cluster(seed, trace);
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

bool holds(uint64_t seed, bool traces) {
  std::snprintf(now_running, sizeof now_running, "\nseed %llu: aborted\n", static_cast<unsigned long long>(seed));
  Trace trace(traces ? Trace::Mode::kPrint : Trace::Mode::kOff);
  const auto broken = run_one(seed, trace);
  if (!broken) return true;
  if (!traces) {
    Trace again(Trace::Mode::kLast);
    const auto same = run_one(seed, again);
    for (const std::string& line : again.lines()) std::printf("%s\n", line.c_str());
    if (!same || same->what != broken->what) std::printf("THE SAME SEED GAVE ANOTHER RUN\n");
  }
  std::printf("seed %llu: BROKEN: %s: %s\n", static_cast<unsigned long long>(seed), broken->checker.c_str(),
              broken->what.c_str());
  std::printf("again: sim_cluster --seed %llu --trace\n", static_cast<unsigned long long>(seed));
  return false;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    char* rest = nullptr;
    if (word == "--trace") {
      options.traces = true;
      continue;
    }
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
    std::fprintf(stderr, "usage: sim_cluster [--seeds FIRST-LAST | --seed N] [--trace]\n");
    return 2;
  }
  std::signal(SIGABRT, on_abort);
  std::signal(SIGSEGV, on_abort);
  uint64_t failed = 0;
  for (uint64_t seed = options->first; seed <= options->last; ++seed) failed += holds(seed, options->traces) ? 0 : 1;
  const double seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  std::printf("%llu seeds, %llu failed, %.1f s\n", static_cast<unsigned long long>(options->last - options->first + 1),
              static_cast<unsigned long long>(failed), seconds);
  return failed == 0 ? 0 : 1;
}
