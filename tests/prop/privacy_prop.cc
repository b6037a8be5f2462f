// With `private` set nothing that leaves the controller for one user tells of another: no name of a user, no name,
// number, script or comment of a job. Whatever kind of question, and whatever happened before; as bytes, so that no
// field is forgotten. What does not exist and what is private are the same answer.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "ctld/core/cluster/quota_answers.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using testing::World;

// Numbers of which each takes four bytes in a message and stands in no other number: they are found wherever they are.
constexpr uint32_t kFirstUid = 73'100'001, kSecondUid = 73'100'002, kThirdUid = 73'100'003;
constexpr uint32_t kFirstJob = 48'271'001, kNoJob = 48'299'999;

/// What tells of this user's job: names and texts that have his number in them.
std::string mark_of(uint32_t uid, std::string_view what) { return std::string(what) + "Of" + std::to_string(uid); }

std::string as_varint(uint32_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}

class Neighbours : public World {
 public:
  Neighbours() : World(4, cluster()) {
    store.meta["next_job"] = std::to_string(kFirstJob);
    settings.private_data = {.jobs = true, .users = true, .usage = true, .nodes = true};
    restart();
    connect_all();
    wire::ApiRequest tree;
    add_qos(tree, "one", kFirstUid, 8);
    add_qos(tree, "two", kSecondUid, 16);
    add_qos(tree, "three", kThirdUid, 0);
    if (ask(0, tree).has_error()) throw std::logic_error("no tree");
  }

  void step(uint32_t dice) {
    const uint32_t pick = dice / 16;
    const uint32_t uid = kFirstUid + pick % 3;
    switch (dice % 10) {
      case 0:
      case 1:
      case 2:
      case 3:
        return submit_some(uid, pick / 3);
      case 4:
        return schedule();
      case 5:
        return tick(base::seconds(1 + pick % 200));
      case 6:
        return act(pick);
      case 7:
        return reserve(uid, pick / 3);
      case 8:
        return finish(pick);
      default:
        return drain(pick);
    }
  }
  /// What the user is told, with what only the scheduler knows.
  wire::ApiReply told(uint32_t uid, const wire::ApiRequest& request) {
    asked_.reset();
    wire::ApiReply reply = ask(uid, request);
    if (asked_) {
      reply = answer_from(view, now, *asked_);
      core->privacy().keep(user(uid), reply);
    }
    return reply;
  }
  std::vector<uint32_t> jobs_of(const std::function<bool(uint32_t uid)>& whose) const {
    std::vector<uint32_t> out;
    for (const auto& [id, job] : core->jobs())
      if (whose(job.spec.uid)) out.push_back(id.value);
    return out;
  }

 private:
  std::optional<wire::ApiRequest> asked_;

  static Settings cluster() {
    Settings s;
    model::Partition& p = s.partitions.emplace_back();
    p.name = "main";
    p.is_default = p.unlimited = true;
    s.policy.preempts = true;
    s.policy.reclaim = model::Reclaim::kFairShare;
    s.policy.grace = base::seconds(20);
    s.policy.licenses = {{"tool", 3}};
    return s;
  }
  static void add_qos(wire::ApiRequest& tree, const std::string& name, uint32_t uid, uint64_t gpus) {
    wire::QuotaChange& change = *tree.mutable_change_quotas()->add_changes();
    change.set_what(wire::QuotaChange::kAdd);
    change.set_name(name);
    change.mutable_qos()->mutable_users()->add_add(user(uid).user);
    if (gpus == 0) return;
    wire::QosAmount& amount = *change.mutable_qos()->mutable_guaranteed()->add_set();
    amount.set_resource("gpu");
    amount.set_amount(gpus * 1000);
  }
  void submit_some(uint32_t uid, uint32_t pick) {
    wire::ApiRequest r = submission(gang(1 + pick % 3, 1 + pick / 3 % 8));
    wire::JobSpec& spec = *r.mutable_submit()->mutable_spec();
    spec.set_name(mark_of(uid, "name"));
    spec.set_comment(mark_of(uid, "comment"));
    spec.set_qos(uid == kFirstUid ? "one" : uid == kSecondUid ? "two" : "three");
    spec.set_time_limit_us(base::minutes(1 + pick / 24 % 60).us);
    spec.set_priority(pick / 7 % 3);
    if (pick % 5 == 0) spec.set_licenses("tool:2");
    if (pick % 11 == 0) spec.set_begin_us((now + base::seconds(500)).us);
    r.mutable_submit()->set_script("#!/bin/sh\n# " + mark_of(uid, "script"));
    ask(uid, r);
  }
  void act(uint32_t pick) {
    const std::vector<uint32_t> all = jobs_of([](uint32_t) { return true; });
    if (all.empty()) return;
    const uint32_t id = all[pick / 4 % all.size()];
    const uint32_t owner = core->jobs().at(JobId(id)).spec.uid;
    wire::ApiRequest r;
    r.mutable_job_action()->add_ids(id);
    r.mutable_job_action()->set_action(pick % 4 == 0   ? wire::kHold
                                       : pick % 4 == 1 ? wire::kRelease
                                       : pick % 4 == 2 ? wire::kSuspend
                                                       : wire::kRequeue);
    ask(pick / 8 % 2 == 0 ? 0 : owner, r);
    if (pick % 13 == 0) cancel(pick / 13 % 2 == 0 ? 0 : owner, JobId(id));
  }
  void reserve(uint32_t uid, uint32_t pick) {
    wire::ApiRequest r;
    wire::Reservation& made = *r.mutable_create_reservation()->mutable_reservation();
    made.set_name("course" + std::to_string(pick % 3));
    made.add_nodes("n" + std::to_string(pick % 4));
    made.add_users(user(uid).user);
    made.set_start_us((now + base::seconds(pick % 600)).us);
    made.set_duration_us(base::minutes(10).us);
    made.set_ignore_jobs(true);
    ask(0, r);
  }
  void finish(uint32_t pick) {
    for (const auto& [id, job] : std::map<JobId, model::Job>(core->jobs())) {
      if (job.state != model::JobState::kConfiguring || pick-- % 3 != 0) continue;
      for (const model::NodeShare& share : job.placed()->allocation.shares) prepared(share.name, id);
      return;
    }
  }
  void drain(uint32_t pick) {
    wire::ApiRequest r;
    r.mutable_update_node()->add_names("n" + std::to_string(pick % 4));
    r.mutable_update_node()->set_action(pick / 4 % 3 == 0 ? wire::kNodeDrain : wire::kNodeResume);
    r.mutable_update_node()->set_reason("disk of " + user(kFirstUid + pick % 3).user);
    ask(0, r);
  }

 public:
  void hear_questions() {
    on_effects = [this](const Effects& effects) {
      for (const Outgoing& out : effects.out)
        if (const auto* ask = std::get_if<AskScheduler>(&out)) asked_ = ask->request;
    };
  }
};

/// Every question that names no job.
std::vector<wire::ApiRequest> questions() {
  std::vector<wire::ApiRequest> out;
  const auto add = [&out]() -> wire::ApiRequest& { return out.emplace_back(); };
  add().mutable_list_jobs()->mutable_filter()->set_all_states(true);
  add().mutable_list_jobs()->mutable_filter()->add_users(World::user(kSecondUid).user);
  add().mutable_list_priorities();
  add().mutable_list_steps();
  add().mutable_list_nodes();
  add().mutable_list_nodes()->add_names("nosuch");
  add().mutable_list_partitions()->set_effective(true);
  add().mutable_list_reservations();
  add().mutable_list_quotas();
  add().mutable_show_shares();
  add().mutable_show_shares()->set_all_jobs(true);
  add().mutable_explain_quota()->set_preemptor("one");
  out.back().mutable_explain_quota()->set_from("two");
  add().mutable_list_offers();
  add().mutable_list_offers()->set_qos("two");
  add().mutable_show_config();
  add().mutable_show_figures();
  add().mutable_list_events();
  add().mutable_list_events()->set_node("n0");
  add().mutable_list_held_aside();
  add().mutable_ping();
  add() = World::submission(gang(2, 8));
  out.back().mutable_submit()->set_test_only(true);
  out.back().mutable_submit()->mutable_spec()->set_qos("two");  // which is not open to him
  for (const uint32_t nodes : {1U, 2U, 4U}) {
    add() = World::submission(gang(nodes, 8));
    out.back().mutable_submit()->set_test_only(true);
    out.back().mutable_submit()->mutable_spec()->set_qos("one");
  }
  out.back().mutable_submit()->mutable_spec()->mutable_request()->add_nodelist("n1");
  add().mutable_cancel()->mutable_filter()->add_partitions("main");
  out.back().mutable_cancel()->set_signo(10);
  return out;
}

/// Every question about one job.
std::vector<wire::ApiRequest> questions_about(uint32_t id) {
  std::vector<wire::ApiRequest> out;
  const auto add = [&out]() -> wire::ApiRequest& { return out.emplace_back(); };
  add().mutable_list_jobs()->mutable_filter()->add_ids(id);
  add().mutable_show_job()->set_id(id);
  add().mutable_show_job()->set_id(id);
  out.back().mutable_show_job()->set_script(true);
  add().mutable_why_job()->set_id(id);
  out.back().mutable_why_job()->set_offers(true);
  add().mutable_list_priorities()->mutable_filter()->add_ids(id);
  add().mutable_list_steps()->add_job_ids(id);
  add().mutable_show_shares()->add_job_ids(id);
  add().mutable_explain_quota()->set_preemptor_job(id);
  out.back().mutable_explain_quota()->set_from("two");
  add().mutable_cancel()->mutable_filter()->add_ids(id);
  out.back().mutable_cancel()->set_signo(10);
  add().mutable_job_action()->add_ids(id);
  out.back().mutable_job_action()->set_action(wire::kRelease);
  add().mutable_update_job()->add_ids(id);
  out.back().mutable_update_job()->set_comment("mine");
  add().mutable_notify_job()->set_id(id);
  out.back().mutable_notify_job()->set_text("hello");
  add().mutable_checkpointed()->set_job_id(id);
  add().mutable_progress()->set_job_id(id);
  out.back().mutable_progress()->set_step(7);
  add().mutable_ticket()->set_job_id(id);
  add().mutable_signal_step()->set_job_id(id);
  add().mutable_end_allocation()->set_job_id(id);
  add().mutable_step_usage()->set_job_id(id);
  add().mutable_create_step()->set_job_id(id);
  out.back().mutable_create_step()->set_client_key(std::string(32, 'k'));
  add() = World::submission(gang(1));
  out.back().mutable_submit()->mutable_spec()->set_dependency("afterok:" + std::to_string(id));
  out.back().mutable_submit()->mutable_spec()->set_qos("one");
  out.back().mutable_submit()->set_test_only(true);
  return out;
}

/// What the bytes tell of others than `uid`; empty: nothing.
std::string leak_in(const std::string& bytes, const Neighbours& w, uint32_t uid) {
  for (const uint32_t other : {kFirstUid, kSecondUid, kThirdUid}) {
    if (other == uid) continue;
    if (bytes.find(std::to_string(other)) != std::string::npos) return "a name or text of " + std::to_string(other);
    if (bytes.find(as_varint(other)) != std::string::npos) return "the uid " + std::to_string(other);
  }
  for (const uint32_t id : w.jobs_of([uid](uint32_t owner) { return owner != uid; }))
    if (bytes.find(std::to_string(id)) != std::string::npos || bytes.find(as_varint(id)) != std::string::npos)
      return "the job " + std::to_string(id);
  return {};
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void check_answers(Neighbours& w, uint32_t uid) {
  w.hear_questions();
  std::vector<wire::ApiRequest> all = questions();
  std::vector<uint32_t> own = w.jobs_of([uid](uint32_t owner) { return owner == uid; });
  constexpr size_t kMost = 8;
  if (own.size() > kMost) own.erase(own.begin(), own.end() - kMost);
  for (const uint32_t id : own)
    for (wire::ApiRequest& request : questions_about(id))
      if (request.has_list_jobs() || request.has_show_job() || request.has_why_job()) all.push_back(std::move(request));
  for (const wire::ApiRequest& request : all) {
    w.now = w.now + base::seconds(60);  // so that nobody asks too often
    const std::string bytes = w.told(uid, request).SerializeAsString();
    const std::string leak = leak_in(bytes, w, uid);
    if (!leak.empty()) RC_FAIL("an answer of kind " + std::to_string(request.kind_case()) + " tells " + leak);
  }
}

/// A job of somebody else, and one that never was: nobody can tell which is which.
void check_strangers(Neighbours& w, uint32_t uid) {
  w.hear_questions();
  const std::vector<uint32_t> others = w.jobs_of([uid](uint32_t owner) { return owner != uid; });
  if (others.empty()) return;
  const uint32_t id = others.back();
  const std::vector<wire::ApiRequest> of_other = questions_about(id), of_none = questions_about(kNoJob);
  for (size_t i = 0; i < of_other.size(); ++i) {
    w.now = w.now + base::seconds(60);  // so that nobody asks too often
    const size_t reads = w.reads.size();
    const std::string there = w.told(uid, of_other[i]).SerializeAsString();
    RC_ASSERT(w.reads.size() == reads);  // the store is not asked about what is there
    std::string nowhere = w.told(uid, of_none[i]).SerializeAsString();
    if (w.reads.size() > reads) continue;  // it might know of one that was: read_job_test.cc
    replace_all(nowhere, std::to_string(kNoJob), std::to_string(id));
    replace_all(nowhere, as_varint(kNoJob), as_varint(id));
    if (there != nowhere)
      RC_FAIL("a request of kind " + std::to_string(of_other[i].kind_case()) + " tells that it is there");
  }
}

RC_GTEST_PROP(Privacy, NoAnswerTellsOfSomebodyElse, (std::vector<uint32_t> dice)) {
  Neighbours w;
  for (const uint32_t one : dice) w.step(one);
  w.schedule();
  for (const uint32_t uid : {kFirstUid, kSecondUid}) {
    check_answers(w, uid);
    check_strangers(w, uid);
  }
}

}  // namespace
}  // namespace gw::ctld
