// See record_list.h.
#include "ctld/shell/record_list.h"

#include <map>
#include <utility>

#include "wire/convert.h"

namespace gw::ctld {
namespace {

/// What nobody is shown by accounting, and what is bulky.
void shorten(wire::JobRecord& record) {
  wire::Launch& launch = *record.mutable_spec()->mutable_launch();
  launch.clear_limits();
  launch.clear_args();
  launch.clear_script_hash();
  launch.clear_env_hash();
  wire::JobStatus& status = *record.mutable_status();
  if (status.has_placed()) {
    wire::Placed& placed = *status.mutable_placed();
    placed.clear_shares();
    placed.clear_extensions();
    placed.clear_moves_to();
  }
  if (status.has_ended()) {
    wire::Ended& ended = *status.mutable_ended();
    if (ended.shares_size() > 0) *record.mutable_first() = std::move(*ended.mutable_shares(0));
    ended.clear_shares();
  }
  if (status.has_waiting()) status.mutable_waiting()->clear_nomination();
}

void put_columns(const store::JobRow& row, wire::JobRecord& to) {
  to.set_id(row.id.value);
  to.set_partition(row.partition);
  to.set_nodes(row.nodes);
  to.set_node_count(row.node_count);
  to.set_cpus(row.cpus);
  to.set_gpus(row.gpus);
  to.set_mem_mb(row.mem_mb);
  to.set_started_us(row.started.us);
  to.set_ended_us(row.ended.us);
}

/// Of a row whose messages are damaged.
void put_what_columns_say(const store::JobRow& row, wire::JobRecord& to) {
  wire::JobSpec& spec = *to.mutable_spec();
  spec.Clear();
  spec.set_name(row.name);
  spec.set_uid(row.uid);
  spec.set_user(row.user);
  spec.set_account(row.account);
  spec.set_qos(row.qos);
  wire::JobStatus& status = *to.mutable_status();
  status.Clear();
  status.set_state(row.state);
  status.set_submitted_us(row.submitted.us);
  if (!row.ended) return;
  wire::Outcome& outcome = *status.mutable_ended()->mutable_outcome();
  outcome.set_end(row.state);
  outcome.set_exit_code(row.exit_code);
  outcome.set_exit_signo(row.exit_signo);
}

/// A step that runs, with what it has on its nodes.
void put_step(const store::PutStep& row, const std::vector<store::PutRunNode>& on_nodes, wire::JobRecord& to) {
  wire::Step step;
  if (!step.ParseFromString(row.bytes)) return;
  wire::RunNodes nodes;
  for (const store::PutRunNode& on : on_nodes)
    if (wire::RunNode node; on.step == row.step + 1 && node.ParseFromString(on.bytes)) nodes[on.node] = std::move(node);
  if (!wire::add_run_nodes(nodes, step)) return;
  if (const auto made = wire::from_wire(step)) *to.add_runs() = wire::past_run(*made, {}, model::JobState::kRunning);
}

void put(const store::JobParts& parts, wire::JobRecord& to) {
  put_columns(parts.job, to);
  if (!to.mutable_spec()->ParseFromString(parts.job.spec) || !to.mutable_status()->ParseFromString(parts.job.status))
    put_what_columns_say(parts.job, to);
  if (parts.array.job && to.spec().has_array() && !to.spec().array().has_task())
    if (auto row = wire::array_row(parts.array.bytes, parts.array.ranges.value_or("")))
      *to.mutable_status()->mutable_tasks() = std::move(*row);
  shorten(to);
  for (const store::PutPastRun& past : parts.past)
    if (!to.add_runs()->ParseFromString(past.bytes)) to.mutable_runs()->RemoveLast();
  for (const store::PutStep& step : parts.steps) put_step(step, parts.on_nodes, to);
}

}  // namespace

RecordList::RecordList(const ReadRecords& asked) : asked_(asked), match_(asked.query.filter(), asked.now) {
  for (const wire::TasksOfArray& named : asked.query.filter().tasks())
    if (auto tasks = wire::from_wire(named.tasks())) tasks_[named.array()] = std::move(*tasks);
}

/// Where tasks of an array were named: is it one of them, or does it stand for one?
bool RecordList::is_named(const wire::JobRecord& record) const {
  const wire::ArrayPlace& place = record.spec().array();
  const auto asked = record.spec().has_array() ? tasks_.find(place.job()) : tasks_.end();
  if (asked == tasks_.end()) return true;
  for (const uint32_t id : asked_.query.filter().ids())
    if (id == record.id() || id == place.job()) return true;
  if (place.has_task()) return asked->second.contains(place.task());
  const wire::JobStatus& status = record.status();
  const auto left = wire::from_wire(status.has_ended() ? status.ended().never_made() : status.tasks().left());
  return left && !left->common(asked->second).empty();
}

base::Result<std::string> RecordList::next(store::RecordReader& reader) {
  store::RecordQuery query = match_.query();
  query.with_parts = !asked_.query.jobs_alone() || asked_.query.all_runs();
  uint32_t hidden = 0;
  const auto wants = [&](const store::JobRow& row) {
    if (!match_.wants(row)) return false;
    if (asked_.seen.has(row.uid, row.qos)) return true;
    hidden += match_.may_count() ? 1 : 0;
    return false;
  };
  GW_TRY(page, reader.read(query, place_, wants));
  place_ = page.next;
  has_more_ = !page.is_last;
  wire::ApiReply piece;
  piece.set_id(asked_.request_id);
  piece.set_piece(++pieces_);
  piece.set_more(has_more_);
  wire::ListRecordsReply& list = *piece.mutable_list_records();
  list.set_now_us(asked_.now.us);
  list.set_cluster(asked_.cluster);
  if (hidden > 0) list.add_hidden(hidden);
  for (const store::JobParts& parts : page.jobs) {
    put(parts, *list.add_records());
    if (!is_named(list.records(list.records_size() - 1))) list.mutable_records()->RemoveLast();
  }
  return piece.SerializeAsString();
}

}  // namespace gw::ctld
