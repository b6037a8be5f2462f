// Classes of pending jobs.
#include "sched/queue.h"

#include <functional>
#include <string_view>

namespace gw::sched {
namespace {

/// FNV-1a over a canonical text of the parts; stable across runs, since it is part of a snapshot's identity.
class Hasher {
 public:
  void add(std::string_view text) {
    for (unsigned char c : text) mix(c);
    mix(0xff);
  }
  void add(uint64_t n) {
    for (int i = 0; i < 8; ++i) mix(static_cast<unsigned char>(n >> (8 * i)));
  }
  void add(const std::vector<std::string>& list) {
    add(list.size());
    for (const std::string& s : list) add(s);
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 14695981039346656037ULL;
  void mix(unsigned char c) { value_ = (value_ ^ c) * 1099511628211ULL; }
};

void add_request(Hasher& h, const model::Request& r) {
  for (uint64_t n : {uint64_t{r.min_nodes}, uint64_t{r.max_nodes}, uint64_t{r.tasks}, uint64_t{r.tasks_per_node},
                     uint64_t{r.cpus_per_task}, r.mem_per_node_mb, r.mem_per_cpu_mb, uint64_t{r.mem_all},
                     static_cast<uint64_t>(r.gpu_counting), uint64_t{r.gpus}, uint64_t{r.exclusive},
                     uint64_t{r.nodes_given}, uint64_t{r.tasks_given}})
    h.add(n);
  h.add(r.gpu_type);
  h.add(r.features.size());
  for (const model::FeatureSet& all : r.features) h.add(all);
  h.add(r.nodelist);
  h.add(r.exclude);
}

}  // namespace

ClassKey class_key(const PendingJob& job) {
  Hasher h;
  add_request(h, job.request);
  h.add(job.partitions);
  h.add(job.qos);
  h.add(static_cast<uint64_t>(job.time_limit.us));
  return h.value();
}

void Queue::put(const PendingJob& job) {
  remove(job.id);
  const ClassKey key = class_key(job);
  const Rank rank{job.priority, job.submitted, job.id};
  JobClass& c = classes_[key];
  if (c.members.empty()) c.shape = job;
  c.members.insert(rank);
  where_[job.id] = Place{key, rank};
}

void Queue::remove(JobId id) {
  const auto it = where_.find(id);
  if (it == where_.end()) return;
  const auto c = classes_.find(it->second.key);
  c->second.members.erase(it->second.rank);
  if (c->second.members.empty()) classes_.erase(c);
  where_.erase(it);
}

}  // namespace gw::sched
