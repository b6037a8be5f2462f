// What the quota rules say about a small world, by brute force: the measure that the scheduler's answers are held
// against.
//
// It shares no code with the scheduler and is written for clarity: every answer is worked out anew from the whole
// world, with exact numbers. Meant for a dozen QOS, twenty jobs and a few nodes.
//
// A *side* is a QOS, named by its name, or the implicit child in which an inner QOS keeps its own jobs, named by the
// name of the QOS and "/" ("/" alone at the root, which is always inner; the root itself is ""). A QOS without children
// has no implicit child: its jobs stand in the QOS itself.
//
// What a world must keep to: names of QOS are not empty, differ and hold no "/"; parents exist and make a tree; ids of
// jobs differ; a running job has one entry of `at` for each task; amounts, weights and priorities are not negative. An
// unknown QOS or job is an std::out_of_range.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gw::oracle {

// By resource: "gpu" and "gpu:TYPE" in thousandths, "cpu", "mem", "node". What is not named is 0. A job that wants two
// GPUs of one type names both "gpu" and "gpu:TYPE"; one that wants nodes to itself names "node" per task.
using Amounts = std::map<std::string, int64_t>;
// By side.
using Shares = std::map<std::string, Amounts>;

struct Qos {
  std::string name;
  std::string parent;  // "" is the root
  Amounts guaranteed;
  Amounts limit;  // none where not named
  int64_t weight = 1;
  int64_t priority = 0;
  bool preempt_children = false;
  int64_t min_runtime_s = 0;  // 0: as the nearest ancestor has it
};

struct Job {
  int id = 0;
  std::string qos;  // "" is the root
  int tasks = 1;
  Amounts per_task;
  int64_t priority = 50;
  bool preemptible = true;
  bool saves_work = false;  // if it is preempted
  bool running = false;
  std::vector<int> at;  // of a running job: the node of each task, an index of World::nodes
  int gang = 0;         // of what a running elastic gang has above its smallest size: the id of the gang
  int64_t started_s = 0;
  int64_t submitted_s = 0;
};

enum class Reclaim { kNone, kGuaranteed, kFairShare };

struct World {
  std::vector<Amounts> nodes;  // what each node has
  std::vector<Qos> qos;
  std::vector<Job> jobs;  // running or waiting
  Reclaim reclaim = Reclaim::kNone;
  bool preempt = false;  // whether rule 7 is in force
  int64_t now_s = 0;
};

// What a QOS is guaranteed: where it names types of GPUs and no "gpu", that is their sum.
Amounts named_guarantees(const Qos& qos);

// Whether the side has a line for the resource. `gpu` has one everywhere, any other where `guaranteed` names it there
// or above (below the root), and types of GPUs where it names types but no "gpu". An implicit child has those of its
// QOS.
bool has_line(const World& world, const std::string& side, const std::string& resource);

// 0 without a line. Of an implicit child: what the children of its QOS leave over. Of the root: the capacity.
int64_t guaranteed_of(const World& world, const std::string& side, const std::string& resource);

// Rule 2: of every side but the root, for every resource with a line there.
Shares fair_shares(const World& world);

// Rule 3: the waiting job that is served next, those in `blocked` left out.
std::optional<int> next_job(const World& world, const std::set<int>& blocked);

// What keeps a job from starting: a limit, or the guarantee that a non-preemptible job may not go beyond (rule 4).
struct Bar {
  enum class Kind { kLimit, kGuarantee };
  Kind kind = Kind::kLimit;
  std::string side;
  std::string resource;
  bool operator==(const Bar&) const = default;
};

// All of them, limits first, from the job's side upwards, resources by name. Space on the nodes is no part of it.
std::vector<Bar> bars_of(const World& world, int job);
bool may_start(const World& world, int job);

// Whether the tasks find room on the nodes beside what runs. All tasks are alike, so counting is exact.
bool fits(const World& world, int job);

// Why a job may take from another.
struct Grant {
  int rule = 5;                   // 5, 6 or 7
  Reclaim mode = Reclaim::kNone;  // of rule 5: by which of its two conditions
  bool operator==(const Grant&) const = default;
};

// Whether the waiting `preemptor` may take from `victim` now. Every reason that holds, in the order 5 by fair share, 5
// by guarantee, 6, 7; the first alone. Nothing may be taken from a job that is non-preemptible or within its
// min_runtime. Rule 7 asks for more of all who are taken together: see may_take_all().
std::vector<Grant> grants_of(const World& world, int preemptor, int victim);
std::optional<Grant> may_take(const World& world, int preemptor, int victim);

// The running jobs that are covered at the side: gone through in the order of rule 8, those that fit into what it is
// due together with those before them; what extends a gang comes last, and only with the gang.
std::set<int> covered(const World& world, const std::string& side, Reclaim mode);

// Whether the waiting `preemptor` may take these, and nobody else: by what is left once all of them are gone. If one is
// taken by rule 7, no side above the preemptor may come from within its guarantee, or its fair share, to beyond it.
bool may_take_all(const World& world, int preemptor, const std::vector<int>& taken);

// Rule 8: whom the job takes, the cheapest set that lets it start, of equal ones that of the youngest; empty if it can
// start as things are, nothing if no set does. Jobs in `leaving` are not taken; else they count as what they are in the
// world (running ones hold their nodes and amounts). To have them gone, with their demand kept, make them waiting jobs.
// Looks at every set: at most a dozen running jobs, please.
std::optional<std::vector<int>> victims(const World& world, int preemptor, const std::set<int>& leaving = {});

// Whether two sets of victims are equally good by rule 8.
bool is_as_cheap(const World& world, int preemptor, const std::vector<int>& a, const std::vector<int>& b);

}  // namespace gw::oracle
