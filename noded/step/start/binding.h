// Binding a task to the cores and the memory of its place.
// Invariant: what this machine does not have is passed over: the cores of emulated nodes are only recorded.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bitset.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// "0-3,8" in rising order; nothing if it is malformed or names more than kMaxIndex.
constexpr unsigned kMaxIndex = 8191;
std::optional<std::vector<unsigned>> parse_indices(std::string_view text);

/// "0-3,8"; empty if it is malformed.
base::IndexSet index_set(const std::string& text);
/// What a thread may run on (0: the caller); nothing: it has gone, or is not ours to see.
std::optional<base::IndexSet> cpus_of(pid_t thread);
/// False: the kernel refused.
bool set_cpus(pid_t thread, const base::IndexSet& cpus);

/// Both for the calling process. Return a note if the kernel refused, else "".
std::string bind_to_cpus(const std::string& cpus);
std::string bind_to_memory(const std::string& mems, bool prefers);

struct BoundTask {
  std::string node;
  unsigned rank = 0;
  unsigned place = 0;
  std::string gpus;  ///< "CUDA_VISIBLE_DEVICES=0"
};
/// The lines that "verbose" asks for, in Slurm's form: "cpu-bind=MASK - n0, task  1  1 [4711]: mask 0x3 set". What the
/// calling process really has; of an emulated node what it would have.
std::string describe_binding(const BoundTask& task, const wire::TaskPlace& place, const wire::BindingManner& manner);

}  // namespace gw::noded::step
