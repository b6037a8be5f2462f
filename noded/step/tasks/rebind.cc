// Going through the threads of tasks, again until none was missed.
#include "noded/step/tasks/rebind.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "noded/step/proc/tree.h"
#include "noded/step/start/binding.h"
#include "noded/step/tasks/task_descent.h"

namespace gw::noded::step {
namespace {

using base::IndexSet;

// A thread that begins meanwhile is bound as the one that began it was.
constexpr int kPasses = 4;

struct Move {
  IndexSet before, after;
};

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone))
    threads.push_back(static_cast<pid_t>(std::atoi(entry.path().filename().c_str())));
  return threads;
}

IndexSet within(IndexSet set, const IndexSet& machine) {
  set &= machine;
  return set;
}

using Moves = std::map<size_t, Move>;  // by local task

bool move_thread(pid_t thread, const IndexSet& present, const IndexSet& target) {
  return target != present && set_cpus(thread, target);
}

/// Whether one was elsewhere.
bool move_threads(pid_t process, const Move& move) {
  bool any = false;
  for (const pid_t thread : threads_of(process))
    if (const auto present = cpus_of(thread))
      any |= move_thread(thread, *present, moved(*present, move.before, move.after));
  return any;
}

/// Of a process that has left its task: it is known by what it is bound to.
bool move_strays(pid_t process, const Moves& moves) {
  bool any = false;
  for (const pid_t thread : threads_of(process)) {
    const auto present = cpus_of(thread);
    const auto is_its = [&](const auto& entry) { return present && entry.second.before == *present; };
    if (const auto move = std::find_if(moves.begin(), moves.end(), is_its); move != moves.end())
      any |= move_thread(thread, *present, move->second.after);
  }
  return any;
}

/// Whether something was elsewhere.
bool pass(pid_t root, const std::vector<pid_t>& pids, const Moves& moves) {
  TaskDescent descent;
  for (size_t i = 0; i < pids.size(); ++i)
    if (pids[i] > 0) descent.add(pids[i], i);
  bool any = false;
  for (const proc::Process& process : proc::descendants(root)) {
    const auto task = descent.find(process, ::getsid(process.pid));
    if (!task) {
      any |= move_strays(process.pid, moves);
    } else if (const auto move = moves.find(*task); move != moves.end()) {
      any |= move_threads(process.pid, move->second);
    }
  }
  return any;
}

}  // namespace

IndexSet moved(const IndexSet& present, const IndexSet& before, const IndexSet& after) {
  if (present == before) return after;
  const IndexSet left = within(present, after);
  return left.empty() ? after : left;
}

void TaskCpus::begin(const wire::StepAccess& access) {
  bound_.clear();
  for (const wire::TaskPlace& place : access.places()) bound_.push_back(place.cpus());
}

void TaskCpus::follow(const wire::StepAccess& access, pid_t root, const std::vector<pid_t>& pids) {
  Moves moves;
  for (size_t i = 0; i < pids.size() && i < bound_.size() && i < static_cast<size_t>(access.places_size()); ++i) {
    const std::string& now = access.places(static_cast<int>(i)).cpus();
    if (pids[i] <= 0 || now == bound_[i]) continue;
    const IndexSet machine = cpus_of(0).value_or(IndexSet{});
    Move move{within(index_set(bound_[i]), machine), within(index_set(now), machine)};
    bound_[i] = now;
    if (!move.before.empty() && !move.after.empty()) moves[i] = std::move(move);
  }
  if (moves.empty() || access.binding().only_records()) return;
  for (int i = 0; i < kPasses && pass(root, pids, moves); ++i) {
  }
}

}  // namespace gw::noded::step
