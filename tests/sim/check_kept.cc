// What was acknowledged is kept. See check_kept.h.
#include "tests/sim/check_kept.h"

#include <algorithm>

namespace gw::sim_cluster {
namespace {

constexpr char kKept[] = "what was acknowledged is kept";

using ctld::testing::MemoryStore;

bool is_to_last(const wire::ApiRequest& r) {
  return r.has_submit() || r.has_cancel() || r.has_job_action() || r.has_update_job() || r.has_change_quotas() ||
         r.has_create_reservation() || r.has_update_reservation() || r.has_delete_reservation() ||
         r.has_create_partition() || r.has_update_partition() || r.has_delete_partition() || r.has_update_node();
}

template <typename Map>
std::string difference_of(const std::string& what, const Map& kept, const Map& found) {
  for (const auto& [key, bytes] : kept) {
    const auto it = found.find(key);
    if (it == found.end()) return what + " " + key + " is lost";
    if (it->second != bytes) return what + " " + key + " is another one";
  }
  for (const auto& [key, bytes] : found)
    if (!kept.contains(key)) return what + " " + key + " comes from nowhere";
  return {};
}

using Texts = std::map<std::string, std::string>;

Texts texts_of(const std::vector<store::NamedBytes>& rows) {
  Texts out;
  for (const store::NamedBytes& row : rows) out[row.name] = row.bytes;
  return out;
}
Texts texts_of(const std::vector<store::JobRow>& rows) {
  Texts out;
  for (const store::JobRow& row : rows) out[row.id.text()] = row.spec + "|" + row.status + "|" + row.name;
  return out;
}
Texts texts_of(const std::vector<store::PutStep>& rows) {
  Texts out;
  for (const store::PutStep& row : rows) out[row.job.text() + "." + std::to_string(row.step)] = row.bytes;
  return out;
}
Texts texts_of(const std::vector<store::PutArray>& rows) {
  Texts out;
  for (const store::PutArray& row : rows) out[row.job.text()] = row.bytes + row.ranges.value_or("");
  return out;
}
Texts texts_of(const std::vector<store::PutRunNode>& rows) {
  Texts out;
  for (const store::PutRunNode& row : rows)
    out[row.job.text() + "." + std::to_string(row.step) + " on " + row.node] =
        std::to_string(row.attempt) + " " + row.bytes;
  return out;
}

/// The first row that is not as it should be.
std::string difference_of(const store::Snapshot& kept, const store::Snapshot& found) {
  for (const std::string& one :
       {difference_of("job", texts_of(kept.jobs), texts_of(found.jobs)),
        difference_of("ended job", texts_of(kept.recently_ended), texts_of(found.recently_ended)),
        difference_of("node", texts_of(kept.nodes), texts_of(found.nodes)),
        difference_of("partition", texts_of(kept.partitions), texts_of(found.partitions)),
        difference_of("reservation", texts_of(kept.reservations), texts_of(found.reservations)),
        difference_of("QOS", texts_of(kept.qos), texts_of(found.qos)),
        difference_of("array", texts_of(kept.arrays), texts_of(found.arrays)),
        difference_of("step", texts_of(kept.steps), texts_of(found.steps)),
        difference_of("run", texts_of(kept.run_nodes), texts_of(found.run_nodes))})
    if (!one.empty()) return one;
  return {};
}

}  // namespace

void KeptChecker::on_rows(std::span<const store::Batch> batches, bool is_sure) {
  if (!is_sure) return unsure_.assign(batches.begin(), batches.end());
  for (const store::Batch& batch : batches) {
    rows_.apply(batch);
    check_accounting(batch);
    for (const store::Op& op : batch) {
      if (const auto* put = std::get_if<store::PutJob>(&op)) {
        look_at_name(put->row);
        look_at(put->row);
      }
      if (const auto* put = std::get_if<store::PutJobStatus>(&op)) look_at(put->row);
    }
  }
}

/// What leaves the tables of what runs is in a record by the same commit: nobody sees it in neither.
void KeptChecker::check_accounting(const store::Batch& batch) const {
  std::set<std::pair<uint32_t, uint32_t>> recorded;
  for (const store::Op& op : batch)
    if (const auto* put = std::get_if<store::PutPastRun>(&op)) recorded.insert({put->job.value, put->step});
  for (const store::Op& op : batch) {
    if (const auto* drop = std::get_if<store::DropStep>(&op);
        drop && !recorded.contains({drop->job.value, drop->step + 1}))
      fail(kKept, "step " + drop->job.text() + "." + std::to_string(drop->step) + " is over and has no record");
    const auto* put = std::get_if<store::PutJobStatus>(&op);
    const auto* put_whole = std::get_if<store::PutJob>(&op);
    if (put == nullptr && put_whole == nullptr) continue;
    const store::JobRow& row = put != nullptr ? put->row : put_whole->row;
    wire::JobStatus status;
    if (!status.ParseFromString(row.status)) continue;
    const auto before = restarts_.find(row.id.value);
    if (before != restarts_.end() && status.restarts() > before->second && !recorded.contains({row.id.value, 0}))
      fail(kKept, "job " + row.id.text() + " was requeued, and its run has no record");
  }
}

void KeptChecker::look_at_name(const store::JobRow& row) {
  wire::JobSpec spec;
  if (!spec.ParseFromString(row.spec)) fail(kKept, "the row of job " + row.id.text() + " cannot be read");
  if (spec.has_array() && spec.array().job() != row.id.value) return;  // who asked knows the array alone
  if (spec.has_array()) arrays_.insert(row.id.value);
  const auto [known, is_new] = job_of_.emplace(std::pair(row.name, spec.het_offset()), row.id.value);
  if (known->second != row.id.value)
    fail(kKept, "jobs " + std::to_string(known->second) + " and " + row.id.text() + " are one submission");
}

void KeptChecker::look_at(const store::JobRow& row) {
  wire::JobStatus status;
  if (!status.ParseFromString(row.status)) fail(kKept, "the row of job " + row.id.text() + " cannot be read");
  attempts_[row.id.value] = status.attempt();
  restarts_[row.id.value] = status.restarts();
  status.has_waiting() ? (void)waiting_.insert(row.id.value) : (void)waiting_.erase(row.id.value);
  for (const auto* stopped : {&cancelled_, &held_}) {
    const auto it = stopped->find(row.id.value);
    if (it == stopped->end()) continue;
    const std::string word = stopped == &held_ ? "held" : "cancelled";
    if (status.attempt() > it->second)
      fail(kKept, "job " + row.id.text() + " (" + row.name + ") was " + word + " in attempt " +
                      std::to_string(it->second) + " and is placed again");
    if (stopped == &cancelled_ && status.has_waiting())
      fail(kKept, "job " + row.id.text() + " was cancelled and waits to start");
  }
}

/// The disk holds what commits said, and of a commit that the power cut short everything or nothing.
void KeptChecker::on_loaded(const store::Snapshot& snapshot) {
  std::string found = difference_of(rows_.snapshot({}), snapshot);
  if (!found.empty() && !unsure_.empty()) {
    const std::vector<store::Batch> last = std::move(unsure_);
    unsure_.clear();
    on_rows(last, true);
    found = difference_of(rows_.snapshot({}), snapshot);
  }
  unsure_.clear();
  if (!found.empty()) fail(kKept, "after the power was gone " + found);
  check_known();
}

void KeptChecker::check_known() const {
  for (const auto& [id, uid] : owner_of_)
    if (!rows_.jobs.contains(base::JobId(id)) && !rows_.ended.contains(base::JobId(id)))
      fail(kKept, "job " + std::to_string(id) + " was acknowledged, and there is no such job");
}

void KeptChecker::on_sent(const std::string& node, const wire::ControllerToNode& message) {
  if (!message.has_prepare()) return;
  const wire::Prepare& prepare = message.prepare();
  const auto durable = attempts_.find(prepare.job());
  if (durable == attempts_.end() || durable->second < prepare.attempt())
    fail(kKept, node + " is told of job " + std::to_string(prepare.job()) + " before that is on disk");
}

/// Components of one job wait together.
std::set<uint32_t> KeptChecker::components_with(uint32_t id) const {
  std::set<uint32_t> out;
  const auto own = std::find_if(job_of_.begin(), job_of_.end(), [&](const auto& entry) { return entry.second == id; });
  if (own == job_of_.end()) return out;
  for (auto it = job_of_.lower_bound({own->first.first, 0}); it != job_of_.end(); ++it) {
    if (it->first.first != own->first.first) break;
    out.insert(it->second);
  }
  return out;
}

/// A hold counts from its answer on, if nothing that may end it arrived after it.
void KeptChecker::on_asked(const Asked& asked) {
  if (!asked.request.has_job_action()) return;
  const wire::JobActionRequest& order = asked.request.job_action();
  const bool is_hold = order.action() == wire::kHold || order.action() == wire::kUserHold;
  std::set<uint32_t> ids(order.ids().begin(), order.ids().end());
  if (is_hold) {
    holds_.try_emplace(asked.request.client_id(), ids);
    return;
  }
  for (const uint32_t id : order.ids()) ids.merge(components_with(id));
  for (const uint32_t id : ids) held_.erase(id);
  const bool requeues = order.action() == wire::kRequeue || order.action() == wire::kRequeueHold;
  // Also one that has ended, whichever comes first: a cancel of such a one promises nothing from now on.
  if (requeues)
    for (const uint32_t id : ids) {
      cancelled_.erase(id);
      requeued_.insert(id);
    }
  for (auto& [client, held] : holds_)
    for (const uint32_t id : ids) held.erase(id);
}

void KeptChecker::accepted(const Asked& asked, const wire::SubmitReply& reply) {
  const wire::SubmitRequest& submit = asked.request.submit();
  if (submit.test_only()) return;
  for (uint32_t k = 0; k <= static_cast<uint32_t>(submit.components_size()); ++k) {
    const uint32_t id = reply.job_id() + k;
    owner_of_[id] = asked.uid;
    const auto row = job_of_.find({submit.spec().name(), k});
    if (row == job_of_.end() || row->second != id)
      fail(kKept, "job " + std::to_string(id) + " is acknowledged and not on disk");
  }
  check_known();
}

/// It was said that this was done to the job.
void KeptChecker::done(const Asked& asked, uint32_t id) {
  const uint32_t attempt = attempts_.contains(id) ? attempts_.at(id) : 0;
  const bool is_cancel = asked.request.has_cancel() && asked.request.cancel().signo() == 0;
  if (is_cancel && !requeued_.contains(id)) cancelled_.try_emplace(id, attempt);
  const auto hold = holds_.find(asked.request.client_id());
  // Of an array those tasks are held that wait; the one with the number of the array may run.
  if (hold == holds_.end() || !hold->second.contains(id) || (arrays_.contains(id) && !waiting_.contains(id))) return;
  held_[id] = attempt;
}

void KeptChecker::on_answer(const Asked& asked, const wire::ApiReply& reply) {
  if (!is_to_last(asked.request) || reply.has_error()) return;
  if (reply.has_submit()) accepted(asked, reply.submit());
  for (const uint32_t id : reply.cancel().done()) done(asked, id);
  for (const uint32_t id : reply.jobs().done()) done(asked, id);
  const std::string text = reply.SerializeAsString();
  const auto [first, is_new] = answers_.emplace(asked.request.client_id(), text);
  if (first->second != text) fail(kKept, asked.request.client_id() + " was answered twice, and otherwise");
}

}  // namespace gw::sim_cluster
