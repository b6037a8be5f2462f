// A job whose steps are tested: its nodes, its client, and what they say.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {

inline std::string key_of(char c) { return std::string(32, c); }

class StepWorld : public World {
 public:
  /// With a key the submission begins the first step.
  explicit StepWorld(uint32_t nodes, model::JobKind kind = model::JobKind::kAllocation, uint32_t tasks = 8,
                     char first_key = 0)
      : World(nodes), conn(++last_conn) {
    connect_all();
    wire::ApiRequest request = submission(request_of(nodes, tasks));
    const bool is_batch = kind == model::JobKind::kBatch;
    if (!is_batch) request.mutable_submit()->clear_script();
    request.mutable_submit()->mutable_spec()->set_kind(static_cast<uint32_t>(kind));
    request.mutable_submit()->mutable_spec()->set_attended(!is_batch);
    request.mutable_submit()->mutable_spec()->set_not_preemptible(!is_batch);
    if (first_key != 0) request.mutable_submit()->mutable_first_step()->set_client_key(key_of(first_key));
    id = JobId(ask_on(conn, kAlice, request).submit().job_id());
    schedule();
  }
  static model::Request request_of(uint32_t nodes, uint32_t tasks) {
    model::Request r = gang(nodes, 4);
    r.tasks = tasks;
    r.tasks_given = true;
    return r;
  }
  wire::ApiReply ask_on(ConnId c, uint32_t uid, wire::ApiRequest request) {
    const size_t before = replies[c].size();
    request.set_id(7);
    core->on_request(now, c, user(uid), request);
    pump();
    return replies[c].size() == before ? wire::ApiReply() : replies[c].back();
  }
  void run() {
    for (const auto& share : job(id).placed()->allocation.shares) prepared(share.name, id);
    ASSERT_EQ(state(id), model::JobState::kRunning);
  }
  /// On a connection of its own, where the answer may come later.
  ConnId begin(char key, uint32_t tasks, uint32_t nodes = 0, bool overlap = false, uint32_t uid = kAlice,
               const std::vector<uint32_t>& beside = {}) {
    wire::ApiRequest r;
    wire::CreateStepRequest& c = *r.mutable_create_step();
    c.set_job_id(id.value);
    c.set_client_key(key_of(key));
    c.mutable_step()->set_tasks(tasks);
    c.mutable_step()->set_min_nodes(nodes);
    c.mutable_step()->set_overlap(overlap);
    c.mutable_beside()->Assign(beside.begin(), beside.end());
    const ConnId c_id = ++last_conn;
    ask_on(c_id, uid, r);
    return c_id;
  }
  wire::ApiReply answer(ConnId c) { return replies[c].empty() ? wire::ApiReply() : replies[c].back(); }
  void ready(const std::string& node, uint32_t step, const std::string& listening = "[::]:4711") {
    wire::NodeToController m;
    m.mutable_prepared()->set_job(id.value);
    m.mutable_prepared()->set_attempt(job(id).attempt);
    m.mutable_prepared()->set_step(step + 1);
    m.mutable_prepared()->set_address(listening);
    m.mutable_prepared()->set_key(key_of('k'));
    say(node, m);
  }
  void step_exit(const std::string& node, uint32_t step, int code, int signo = 0) {
    wire::NodeToController m;
    m.mutable_batch_exited()->set_job(id.value);
    m.mutable_batch_exited()->set_attempt(job(id).attempt);
    m.mutable_batch_exited()->set_step(step + 1);
    m.mutable_batch_exited()->set_exit_code(code);
    m.mutable_batch_exited()->set_exit_signo(signo);
    say(node, m);
  }
  void step_gone(const std::string& node, uint32_t step) {
    wire::NodeToController m;
    m.mutable_done()->set_job(id.value);
    m.mutable_done()->set_attempt(job(id).attempt);
    m.mutable_done()->set_step(step + 1);
    say(node, m);
  }
  std::vector<wire::Step> steps() {
    wire::ApiRequest r;
    r.mutable_list_steps();
    const wire::ApiReply reply = ask(kAlice, r);
    return {reply.list_steps().steps().begin(), reply.list_steps().steps().end()};
  }
  wire::ApiReply ticket(uint32_t uid, uint32_t step, bool watch) {
    wire::ApiRequest r;
    r.mutable_ticket()->set_job_id(id.value);
    r.mutable_ticket()->set_step(step);
    r.mutable_ticket()->set_client_key(key_of('t'));
    r.mutable_ticket()->set_watch(watch);
    return ask(uid, r);
  }

  ConnId conn;
  JobId id;
};

}  // namespace gw::ctld::testing
