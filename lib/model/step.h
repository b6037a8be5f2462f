// A step: one launch of tasks inside the allocation of a job that runs.
// Invariants: its shares lie within those of the job, on the same nodes; cores and GPUs that it takes are taken by no
// other step of the job, unless it overlaps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/job.h"

namespace gw::model {

/// What a step asks for. Zero in a number means "not given".
struct StepRequest {
  std::string name;
  uint32_t tasks = 0;
  uint32_t min_nodes = 0;
  uint32_t max_nodes = 0;
  uint32_t tasks_per_node = 0;
  uint32_t cpus_per_task = 0;
  uint32_t gpus_per_task = 0;         ///< 0: sees all of the job's on its nodes, and takes none.
  std::vector<std::string> nodelist;  ///< All of these.
  std::vector<std::string> exclude;
  bool overlap = false;                      ///< Takes nothing: shares with the other steps.
  bool whole = false;                        ///< All cores and GPUs that the job has on its nodes.
  bool overcommit = false;                   ///< May have more tasks than cores.
  std::string cpu_bind, gpu_bind, mem_bind;  ///< Words of bind/words.h; empty: not said.
  uint32_t plane = 0;     ///< Ranks that follow each other on a node before the next has its turn; 0: all of its.
  bool kept = false;      ///< Its client may leave it and come back.
  bool terminal = false;  ///< Task 0 has a terminal.
  std::vector<std::string> hosts = {};  ///< Of each task its node; none: wherever there is room.
  bool fills = false;                   ///< Without `tasks`: as many as the CPUs of its nodes give.
  uint32_t tasks_per_socket = 0;        ///< As in Request.
  bool whole_cores = false;             ///< As in Request: each CPU of a task is a core.
  bool operator==(const StepRequest&) const = default;
};

/// A step's part on one node.
struct StepNode {
  NodeShare share;
  std::string address;   ///< Where its shepherd listens; empty until it is ready.
  std::string key;       ///< X25519, of the shepherd; 32 bytes.
  bool is_gone = false;  ///< Nothing of it is there any more.
  bool operator==(const StepNode&) const = default;
};

/// Steps of one job are numbered from 0.
struct Step {
  base::JobId job;
  uint32_t attempt = 0;
  uint32_t number = 0;
  uint32_t uid = 0;
  std::string client_key;  ///< Of the client that made it: asking again gives the same step.
  StepRequest request;
  std::vector<StepNode> nodes;  ///< In order; never empty.
  base::Time created;
  base::Time started;      ///< All its shepherds were ready; zero: not yet.
  bool is_ending = false;  ///< Its nodes were told to end it, or one of them said that it is over.
  ExitStatus exit;         ///< The worst so far.
  bool is_out_of_memory = false;
  bool is_lease_over = false;  ///< A node ended it, having been cut off for too long.
  std::string detail;          ///< Why it could not run, for people.
  RunUse use;                  ///< On the nodes that it has left.
  // Not stored: counted again after a restart, when the nodes have said where their shepherds listen.
  size_t ready_nodes = 0;  ///< With an address, and not gone.
  size_t gone_nodes = 0;
  bool is_killed = false;  ///< Its nodes were told to end it at once.
  bool is_ready() const { return static_cast<bool>(started); }
  std::string text() const { return job.text() + "." + std::to_string(number); }
  bool operator==(const Step&) const = default;
};

/// The kind of the line by which the history of a job tells that a step is over.
constexpr const char* kStepEnded = "step ended";
/// That line: "step 7.0 4:0", and why, if there is something to say. Commands read it: an older one reads it, too.
std::string end_line(const Step& step);
/// The exit status in a line of that kind, if it is of the step that is called "7.0".
std::optional<ExitStatus> exit_in(std::string_view end_line, std::string_view step);

}  // namespace gw::model
