// The scheduler with counted GPUs against a simulator of a few lines that knows nothing of it: equal ends for every
// job.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "small.h"

namespace gw::sim {
namespace {

using testing::Replayed;

struct Job {
  int64_t submit = 0, left = 0, gpus = 0, end = -1;
  bool is_running = false;
};

enum class Rule { kFifo, kFifoSkip, kShortest, kSrtf };

/// Jobs in the order in which they are served at `now`: by submission, or by what is left of them.
std::vector<size_t> served(const std::vector<Job>& jobs, Rule rule, int64_t now) {
  std::vector<size_t> order;
  for (size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].submit <= now && jobs[i].end < 0 && (rule == Rule::kSrtf || !jobs[i].is_running)) order.push_back(i);
  const bool by_length = rule == Rule::kShortest || rule == Rule::kSrtf;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (by_length && jobs[a].left != jobs[b].left) return jobs[a].left < jobs[b].left;
    return std::pair(jobs[a].submit, a) < std::pair(jobs[b].submit, b);
  });
  return order;
}

/// Second by second: what is over ends, then whoever fits in the rule's order runs.
void simulate(std::vector<Job>& jobs, int64_t gpus, Rule rule) {
  int64_t open = static_cast<int64_t>(jobs.size());
  for (int64_t now = 0; open > 0; ++now) {
    int64_t free = gpus;
    for (Job& job : jobs) {
      if (job.is_running && job.left == 0) {
        job.is_running = false;
        job.end = now;
        --open;
      }
      if (rule == Rule::kSrtf) job.is_running = false;
      if (job.is_running) free -= job.gpus;
    }
    for (size_t i : served(jobs, rule, now)) {
      if (jobs[i].gpus <= free) {
        jobs[i].is_running = true;
        free -= jobs[i].gpus;
      } else if (rule == Rule::kFifo) {
        break;
      }
    }
    for (Job& job : jobs) job.left -= job.is_running;
  }
}

/// Numbers from a seed, the same everywhere.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 2654435761u + 1) {}
  int64_t below(int64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(limit));
  }

 private:
  uint64_t state_;
};

std::vector<Job> random_jobs(Numbers& numbers, int64_t gpus) {
  std::vector<Job> jobs(static_cast<size_t>(1 + numbers.below(25)));
  int64_t at = 0;
  for (Job& job : jobs) {
    at += numbers.below(12);
    job = {at, 1 + numbers.below(numbers.below(2) == 0 ? 10 : 120), 1 + numbers.below(gpus)};
  }
  return jobs;
}

std::vector<double> ends_of(const std::vector<Job>& jobs, int64_t nodes, int64_t per_node, const char* order) {
  Replayed r;
  r.cluster = "nodes: [{name: \"n[0-" + std::to_string(nodes - 1) + "]\", gpus: " + std::to_string(per_node) + "}]";
  r.trace = "job_id,submit_s,duration_s,gpus\n";
  for (size_t i = 0; i < jobs.size(); ++i)
    r.trace += std::to_string(i) + "," + std::to_string(jobs[i].submit) + "," + std::to_string(jobs[i].left) + "," +
               std::to_string(jobs[i].gpus) + "\n";
  r.options.order = order;
  r.options.fit = "count";
  const Replay replay = r.result();
  std::vector<double> ends;
  for (const Record& record : replay.engine->records()) ends.push_back(testing::seconds_of(record.ended));
  return ends;
}

class Oracle : public ::testing::TestWithParam<std::pair<const char*, Rule>> {};

TEST_P(Oracle, EndsEveryJobAtTheSameTime) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Numbers numbers(seed);
    const int64_t nodes = 1 + numbers.below(4), per_node = 1 + numbers.below(8);
    std::vector<Job> jobs = random_jobs(numbers, nodes * per_node);
    const std::vector<double> ends = ends_of(jobs, nodes, per_node, GetParam().first);
    simulate(jobs, nodes * per_node, GetParam().second);
    for (size_t i = 0; i < jobs.size(); ++i)
      ASSERT_EQ(ends[i], jobs[i].end) << "seed " << seed << ", job " << i << " of " << jobs.size() << ", " << nodes
                                      << " nodes x " << per_node;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, Oracle,
                         ::testing::Values(std::pair("fifo", Rule::kFifo), std::pair("fifo_skip", Rule::kFifoSkip),
                                           std::pair("shortest", Rule::kShortest), std::pair("srtf", Rule::kSrtf)),
                         [](const auto& instance) { return std::string(instance.param.first); });

}  // namespace
}  // namespace gw::sim
