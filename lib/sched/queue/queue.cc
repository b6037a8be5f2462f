// Classes of equal requests.
#include "sched/queue/queue.h"

#include <algorithm>
#include <cstring>

#include "sched/place/closeness.h"
#include "sched/place/earliest.h"
#include "sched/queue/orders.h"

namespace gw::sched {
namespace {

/// Writes values one after the other, so that two requests give the same text only if they are equal.
class Writer {
 public:
  Writer& number(uint64_t v) {
    do {
      text_.push_back(static_cast<char>((v & 0x7f) | (v > 0x7f ? 0x80 : 0)));
      v >>= 7;
    } while (v != 0);
    return *this;
  }
  Writer& text(const std::string& s) {
    number(s.size());
    text_ += s;
    return *this;
  }
  Writer& list(const std::vector<std::string>& l) {
    number(l.size());
    for (const std::string& s : l) text(s);
    return *this;
  }
  /// In whatever order they were written, and how often.
  Writer& names(std::vector<std::string> l) { return list(as_set(std::move(l))); }
  Writer& sets(std::vector<model::FeatureSet> l) {
    for (model::FeatureSet& s : l) s = as_set(std::move(s));
    l = as_set(std::move(l));
    number(l.size());
    for (const model::FeatureSet& s : l) list(s);
    return *this;
  }
  ClassKey take() { return std::move(text_); }

 private:
  std::string text_;
  template <typename T>
  static std::vector<T> as_set(std::vector<T> l) {
    std::sort(l.begin(), l.end());
    l.erase(std::unique(l.begin(), l.end()), l.end());
    return l;
  }
};

void write(Writer& w, const model::Gres& gres) {
  w.number(gres.size());
  for (const auto& [name, count] : gres) w.text(name).number(count);
}

/// How close together it wants its parts is left out.
void write(Writer& w, const model::Request& r) {
  w.number(r.min_nodes).number(r.max_nodes).number(r.tasks).number(r.tasks_per_node).number(r.cpus_per_task);
  w.number(r.mem_per_node_mb).number(r.mem_per_cpu_mb).number(r.mem_per_gpu_mb).number(r.cpus_per_gpu);
  w.number(r.mem_per_task_mb).number(r.min_cpus).number(r.tmp_mb);
  w.number(r.sockets).number(r.socket_cores).number(r.core_threads).number(r.tasks_per_socket);
  write(w, r.gres);
  w.number(static_cast<uint64_t>(r.gpu_counting)).number(r.gpus).number(r.gpu_milli).text(r.gpu_type);
  w.sets(r.features).names(r.nodelist).names(r.exclude).number(r.segment);
  w.number(static_cast<uint64_t>(r.fit));
  w.number((r.mem_all ? 1U : 0U) | (r.mem_none ? 2U : 0U) | (r.exclusive ? 4U : 0U) | (r.nodes_given ? 8U : 0U) |
           (r.tasks_given ? 16U : 0U) | (r.elastic ? 32U : 0U) | (r.cpus_by_gpus ? 64U : 0U) |
           (r.whole_cores ? 128U : 0U) | (r.overcommit ? 256U : 0U) | (r.contiguous ? 512U : 0U) |
           (r.own_gpu ? 1024U : 0U));
  w.number(r.least_version).number(r.min_tasks).number(r.exactly.size());
  for (const model::NodeShare& share : r.exactly)
    w.number(share.node.value).text(share.cores.text()).text(share.gpus.text()).number(share.gpu_milli);
}

void write(Writer& w, const model::Licenses& licenses) {
  w.number(licenses.size());
  for (const auto& [name, count] : licenses) w.text(name).number(count);
}

void write_closeness(Writer& w, const model::Request& r, Time eligible, std::optional<Time> now) {
  if (now) {
    const Closeness wanted = closeness_of(r, eligible, *now);
    w.number(static_cast<uint64_t>(wanted.level)).number(wanted.switches);
    return;
  }
  w.number(r.locality.size());
  for (const model::LocalityStep& step : r.locality)
    w.number(static_cast<uint64_t>(step.level)).number(static_cast<uint64_t>(step.wait.us));
  w.number(r.max_switches).number(static_cast<uint64_t>(r.switches_wait.us));
}

Rank rank_of(const PendingJob& job, const Orders* orders, Time now) {
  const double key =
      orders == nullptr ? 0 : -comparable(-orders->of(job).key(waiting_facts(job, now, orders->services())));
  return Rank{job.priority, key, job.nice, job.submitted, job.id};
}

/// How long the job ranks as it does. An order that names no moment to come is asked again after a while.
Time rank_until(const Orders& orders, const PendingJob& job, Time now) {
  const Time next = orders.of(job).next_change(waiting_facts(job, now, orders.services()));
  return next > now ? next : now + base::seconds(1);
}

}  // namespace

PendingJob component_of(const PendingJob& job, JobId component) {
  PendingJob out = job;
  const auto c = std::find_if(job.components.begin(), job.components.end(),
                              [&](const Component& other) { return other.id == component; });
  if (c == job.components.end()) return out;
  out.id = component;
  out.whole = job.id;
  out.request = c->request;
  out.partitions = c->partitions;
  out.licenses = c->licenses;
  out.components.clear();
  out.most_tasks = 0;
  return out;
}

ClassKey class_key(const PendingJob& job, bool by_user, std::optional<Time> now) {
  Writer w;
  write(w, job.request);
  write(w, job.licenses);
  write_closeness(w, job.request, job.eligible, now);
  w.list(job.partitions).text(job.qos).text(job.reservation);
  w.number(static_cast<uint64_t>(job.time_limit.us)).number(static_cast<uint64_t>(job.time_min.us));
  w.number(static_cast<uint64_t>(job.deadline.us)).number((job.preemptible ? 1U : 0U) | (job.may_move ? 2U : 0U));
  w.number(static_cast<uint64_t>(job.qos_priority)).number(job.most_tasks).number(job.grows_by_node ? 1 : 0);
  if (by_user || !job.reservation.empty()) w.number(job.uid);
  w.number(job.components.size());
  for (const Component& c : job.components) {
    write(w, c.request);
    write_closeness(w, c.request, job.eligible, now);
    w.list(c.partitions);
  }
  return w.take();
}

PendingJob extension_of(const PendingJob& gang, JobId extension, uint32_t tasks) {
  PendingJob out = gang;
  out.id = extension;
  out.request = model::growth_of(gang.request, tasks);
  out.preemptible = true;
  out.may_move = false;
  out.most_tasks = 0;
  out.gang = gang.id;
  return out;
}

PendingJob kept_part_of(const PendingJob& job, JobId holder) {
  PendingJob out = job;
  out.id = holder;
  out.suspended = job.id;
  out.suspends = out.between_turns = Suspends::kNo;
  out.may_move = false;
  return out;
}

Time Queue::next_change_of(const PendingJob& job, Time now) {
  Time next = closeness_of(job.request, job.eligible, now).until;
  for (const Component& c : job.components) next = std::min(next, closeness_of(c.request, job.eligible, now).until);
  return next;
}

void Queue::set_orders(std::shared_ptr<const Orders> orders, bool by_user) {
  orders_ = std::move(orders);
  by_user_ = by_user;
  std::vector<PendingJob> jobs;
  for (auto& [key, c] : classes_)
    for (auto& [rank, job] : c.members) jobs.push_back(std::move(job));
  classes_.clear();
  where_.clear();
  edges_.clear();
  for (const PendingJob& job : jobs) put(job);
}

void Queue::put(const PendingJob& job) {
  remove(job.id);
  const auto it = classes_.try_emplace(class_key(job, by_user_, now_)).first;
  const Rank rank = rank_of(job, orders_.get(), now_);
  it->second.members.emplace(rank, job);
  ++it->second.users[job.uid];
  Time until = next_change_of(job, now_);
  if (orders_ != nullptr) until = std::min(until, rank_until(*orders_, job, now_));
  if (until != Time::never()) edges_.emplace(until, job.id);
  where_[job.id] = {it, rank, until};
}

void Queue::advance_to(Time now) {
  now_ = std::max(now_, now);
  while (next_change() <= now_) put(PendingJob(*find(edges_.begin()->second)));
}

void Queue::remove(JobId id) {
  const auto it = where_.find(id);
  if (it == where_.end()) return;
  const auto c = it->second.job_class;
  const auto member = c->second.members.find(it->second.rank);
  const auto user = c->second.users.find(member->second.uid);
  if (--user->second == 0) c->second.users.erase(user);
  c->second.members.erase(member);
  if (c->second.members.empty()) classes_.erase(c);
  edges_.erase({it->second.until, id});
  where_.erase(it);
}

void Queue::forget() {
  for (auto& [key, c] : classes_) {
    c.told = 0;
    c.blocked_at = 0;
    c.blocked_fitting = 0;
    c.blocked_by.clear();
    c.lacks = model::WaitCause::kResources;
    c.lacks_in = 0;
  }
  round = {};
  ready_.clear();
}

ReadyTimes& Queue::ready_times(const PendingJob& job, const std::string& partition) {
  constexpr size_t kMost = 256;  // each is as long as there are nodes
  if (ready_.size() > kMost) ready_.clear();
  Writer w;
  write(w, job.request);
  w.text(partition).number(static_cast<uint64_t>(job.time_limit.us));
  std::shared_ptr<ReadyTimes>& known = ready_[w.take()];
  if (!known) known = std::make_shared<ReadyTimes>();
  return *known;
}

JobClass* Queue::class_of(JobId id) {
  const auto it = where_.find(id);
  return it == where_.end() ? nullptr : &it->second.job_class->second;
}

const PendingJob* Queue::find(JobId id) const {
  const auto it = where_.find(id);
  return it == where_.end() ? nullptr : &it->second.job_class->second.members.at(it->second.rank);
}

}  // namespace gw::sched
