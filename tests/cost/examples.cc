// See examples.h.
#include "tests/cost/examples.h"

#include <utility>

namespace gw::cost {
namespace {

using ctld::testing::gang;
using wire::ApiRequest;
using wire::NodeToController;

class Requests {
 public:
  explicit Requests(CostWorld& world) : w_(world) {}

  std::vector<Example> all() {
    submission();
    queue();
    jobs();
    nodes();
    partitions();
    reservations();
    quotas();
    steps();
    controller();
    stored();
    return std::move(out_);
  }

 private:
  CostWorld& w_;
  std::vector<Example> out_;

  void add(const char* kind, uint32_t uid, ApiRequest request, bool has_pass = false) {
    request.set_id(7);
    request.set_client_id("a request");
    out_.push_back({kind, uid, {}, has_pass, request.SerializeAsString(), {}});
  }

  void submission() {
    ApiRequest r = CostWorld::submission(gang(1));
    r.mutable_submit()->set_environment(std::string("HOME=/home\0LANG=C", 17));
    add("submit", kFirstUid, r, true);
  }
  void queue() {
    ApiRequest list, priorities, show, wait;
    list.mutable_list_jobs();
    add("list_jobs", kFirstUid, list);
    priorities.mutable_list_priorities();
    add("list_priorities", kFirstUid, priorities);
    show.mutable_show_job()->set_id(w_.running.value);
    add("show_job", kFirstUid, show);
    wait.mutable_wait_job()->set_id(w_.running.value);
    add("wait_job", kFirstUid, wait);
  }
  void jobs() {
    ApiRequest cancel, update, action, amend, notify, checkpointed, progress;
    cancel.mutable_cancel()->mutable_filter()->add_ids(w_.waiting.value);
    add("cancel", kFirstUid, cancel);
    update.mutable_update_job()->add_ids(w_.waiting.value);
    update.mutable_update_job()->set_comment("changed");
    add("update_job", kFirstUid, update, true);
    action.mutable_job_action()->add_ids(w_.waiting.value);
    action.mutable_job_action()->set_action(wire::kHold);
    add("job_action", kFirstUid, action);
    amend.mutable_amend_job()->set_id(4'000'000'000);  // one that is in memory no more
    amend.mutable_amend_job()->set_comment("lost a disk");
    add("amend_job", kFirstUid, amend);
    notify.mutable_notify_job()->set_id(w_.running.value);
    notify.mutable_notify_job()->set_text("mind the gap");
    add("notify_job", kFirstUid, notify);
    wire::ApiRequest why;
    why.mutable_why_job()->set_id(w_.waiting.value);
    why.mutable_why_job()->set_offers(true);
    add("why_job", kFirstUid, why);
    checkpointed.mutable_checkpointed()->set_job_id(w_.running.value);
    add("checkpointed", kFirstUid, checkpointed);
    progress.mutable_progress()->set_job_id(w_.running.value);
    progress.mutable_progress()->set_step(1'000);
    progress.mutable_progress()->set_of(10'000);
    progress.mutable_progress()->set_rate_milli(3'200);
    add("progress", kFirstUid, progress);
  }
  void nodes() {
    ApiRequest list, update;
    list.mutable_list_nodes();
    add("list_nodes", kFirstUid, list);
    update.mutable_update_node()->add_names("n1");
    update.mutable_update_node()->set_action(wire::kNodeDrain);
    update.mutable_update_node()->set_reason("disk");
    add("update_node", 0, update);
  }
  void partitions() {
    ApiRequest list, update, create, gone;
    list.mutable_list_partitions()->set_effective(true);
    add("list_partitions", kFirstUid, list);
    update.mutable_update_partition()->set_name("p0");
    update.mutable_update_partition()->set_tier(2);
    add("update_partition", 0, update);
    create.mutable_create_partition()->mutable_partition()->set_name("more");
    create.mutable_create_partition()->mutable_partition()->set_default_time_us(base::hours(24).us);
    create.mutable_create_partition()->mutable_partition()->set_max_time_us(base::hours(48).us);
    create.mutable_create_partition()->mutable_partition()->add_nodes("n1");
    add("create_partition", 0, create);
    gone.mutable_delete_partition()->set_name("p1");
    add("delete_partition", 0, gone);
  }
  void reservations() {
    ApiRequest list, create, update, gone;
    list.mutable_list_reservations();
    add("list_reservations", kFirstUid, list);
    wire::Reservation& r = *create.mutable_create_reservation()->mutable_reservation();
    r.set_name("more");
    r.set_ignore_jobs(true);
    r.set_start_us((w_.now + base::hours(2'000)).us);
    r.set_duration_us(base::hours(1).us);
    r.add_nodes("n1");
    r.add_users("user1000");
    add("create_reservation", 0, create);
    update.mutable_update_reservation()->set_name("r0");
    update.mutable_update_reservation()->set_duration_us(base::minutes(30).us);
    add("update_reservation", 0, update);
    gone.mutable_delete_reservation()->set_name("r0");
    add("delete_reservation", 0, gone);
  }
  void quotas() {
    ApiRequest change, list, shares, explain;
    wire::QuotaChange& q = *change.mutable_change_quotas()->add_changes();
    q.set_what(wire::QuotaChange::kModify);
    q.set_name("q0");
    q.mutable_qos()->set_weight(2);
    add("change_quotas", 0, change);
    list.mutable_list_quotas();
    add("list_quotas", kFirstUid, list);
    shares.mutable_show_shares();
    add("show_shares", kFirstUid, shares);
    wire::ApiRequest figures;
    figures.mutable_show_figures();
    add("show_figures", kFirstUid, figures);
    explain.mutable_explain_quota()->set_preemptor("q0");
    explain.mutable_explain_quota()->set_from("q1");
    add("explain_quota", kFirstUid, explain);
    ApiRequest offers;
    offers.mutable_list_offers();
    add("list_offers", kFirstUid, offers);
  }
  void steps() {
    ApiRequest create, ticket, list, signal, usage, end;
    create.mutable_create_step()->set_job_id(w_.allocation.value);
    create.mutable_create_step()->set_client_key(std::string(32, 'b'));
    create.mutable_create_step()->mutable_step()->set_tasks(1);
    add("create_step", kFirstUid, create);
    ticket.mutable_ticket()->set_job_id(w_.allocation.value);
    ticket.mutable_ticket()->set_client_key(std::string(32, 't'));
    add("ticket", kFirstUid, ticket);
    list.mutable_list_steps();
    add("list_steps", kFirstUid, list);
    signal.mutable_signal_step()->set_job_id(w_.allocation.value);
    signal.mutable_signal_step()->set_signo(2);
    add("signal_step", kFirstUid, signal);
    usage.mutable_step_usage()->set_job_id(w_.allocation.value);
    add("step_usage", kFirstUid, usage);
    end.mutable_end_allocation()->set_job_id(w_.allocation.value);
    add("end_allocation", kFirstUid, end);
  }
  void controller() {
    ApiRequest config, reconfigure, ping, backup, snapshot;
    config.mutable_show_config();
    add("show_config", kFirstUid, config);
    reconfigure.mutable_reconfigure();
    add("reconfigure", 0, reconfigure);
    ping.mutable_ping();
    add("ping", kFirstUid, ping);
    backup.mutable_backup()->set_path("/backup");
    add("backup", 0, backup);
    snapshot.mutable_take_snapshot();
    add("take_snapshot", 0, snapshot);
  }
  void stored() {
    ApiRequest list, gone, events;
    list.mutable_list_held_aside();
    add("list_held_aside", kFirstUid, list);
    gone.mutable_delete_held_aside()->set_kind("reservation");
    gone.mutable_delete_held_aside()->set_name(kDamaged);
    add("delete_held_aside", 0, gone);
    events.mutable_list_events()->set_node("n1");
    add("list_events", kFirstUid, events);
    ApiRequest audit, level;
    audit.mutable_list_audit()->set_uid(kFirstUid);
    add("list_audit", 0, audit);
    level.mutable_set_log_level()->set_level("info");
    add("set_log_level", 0, level);
    wire::ApiRequest make, tokens, revoke, act;
    make.mutable_make_token()->set_hash(std::string(64, 'a'));
    add("make_token", kFirstUid, make);
    tokens.mutable_list_tokens()->set_all_users(true);
    add("list_tokens", 0, tokens);
    revoke.mutable_revoke_tokens()->set_all(true);
    add("revoke_tokens", kFirstUid, revoke);
    act.mutable_act_for()->set_hash(std::string(64, 'b'));  // one that the world has
    add("act_for", kWebUid, act);
    ApiRequest change;
    change.mutable_await_change();
    add("await_change", kFirstUid, change);
    ApiRequest records;
    records.mutable_list_records()->mutable_filter()->add_users("u1");
    add("list_records", kFirstUid, records);
    ApiRequest sums;
    sums.mutable_sum_records()->add_by(wire::kByUser);
    add("sum_records", kFirstUid, sums);
  }
};

class NodeMessages {
 public:
  explicit NodeMessages(CostWorld& world) : w_(world) {}

  std::vector<Example> all() {
    registration();
    start();
    run();
    unfit();
    usage();
    return std::move(out_);
  }

 private:
  CostWorld& w_;
  std::vector<Example> out_;

  void add(const char* kind, const std::string& node, const NodeToController& m) {
    out_.push_back({kind, 0, node, false, m.SerializeAsString(), {}});
  }

  /// Of the node that is away, with a run and a link between two of its GPUs.
  void registration() {
    NodeToController m;
    wire::Register& r = *m.mutable_register_node();
    r.set_name(w_.absent_node);
    r.set_boot_id("b1");
    *r.mutable_topology() = wire::to_wire(ctld::testing::eight_gpus());
    wire::GpuLink& link = *r.mutable_topology()->add_links();
    link.set_b(1);
    link.set_mbps(25'000);
    wire::Nic& nic = *r.mutable_topology()->add_nics();
    nic.set_name("mlx5_0");
    nic.set_kind("infiniband");
    *r.add_runs() = CostWorld::run(w_.running, 1, wire::kRunStarted);
    add("register_node", w_.absent_node, m);
    NodeToController beat;
    beat.mutable_heartbeat()->set_now_us(w_.now.us);
    add("heartbeat", w_.node_of_run, beat);
  }
  template <typename Message>
  static Message& about(Message& m, base::JobId job) {
    m.set_job(job.value);
    m.set_attempt(1);
    return m;
  }
  void start() {
    NodeToController prepared, failed, started;
    about(*prepared.mutable_prepared(), w_.preparing);
    add("prepared", w_.node_of_preparing, prepared);
    about(*failed.mutable_prepare_failed(), w_.preparing).set_detail("no such folder");
    add("prepare_failed", w_.node_of_preparing, failed);
    about(*started.mutable_started(), w_.running);
    add("started", w_.node_of_run, started);
  }
  void run() {
    NodeToController exited, done, suspended;
    about(*exited.mutable_batch_exited(), w_.running).set_exit_code(1);
    add("batch_exited", w_.node_of_run, exited);
    about(*done.mutable_done(), w_.running);
    add("done", w_.node_of_run, done);
    about(*suspended.mutable_suspended(), w_.running).set_round(1);
    add("suspended", w_.node_of_run, suspended);
  }
  /// What the site's own programs say of a node, of a run that is about to start there.
  void unfit() {
    NodeToController m;
    about(*m.mutable_unfit(), w_.preparing).set_why("prolog: exit code 1: no driver");
    m.mutable_unfit()->set_by_prolog(true);
    add("unfit", w_.node_of_preparing, m);
  }
  /// The answer to a question that is open.
  void usage() {
    wire::ApiRequest ask;
    ask.mutable_step_usage()->set_job_id(w_.allocation.value);
    w_.ask(kFirstUid, ask);
    const std::string node = w_.job(w_.allocation).placed()->allocation.shares.front().name;
    const auto* query = w_.last(node, wire::ControllerToNode::kUsageQuery);
    NodeToController m;
    wire::Usage& told = about(*m.mutable_usage(), w_.allocation);
    told.set_id(query->usage_query().id());
    told.set_step(query->usage_query().step());
    told.mutable_usage()->set_mem(1 << 20);
    add("usage", node, m);
  }
};

}  // namespace

std::vector<Example> requests(CostWorld& world) { return Requests(world).all(); }
std::vector<Example> node_messages(CostWorld& world) { return NodeMessages(world).all(); }

}  // namespace gw::cost
