// See figures_text.h.
#include "cmds/gdiag/figures_text.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "client/show/show_json.h"

namespace gw::cmds {
namespace {

using client::kSchemaVersion;

using Json = nlohmann::ordered_json;
using Figures = wire::ShowFiguresReply;
using One = wire::RequestFigures;

/// Kinds for which Slurm has one of its own; the others are called alike.
constexpr std::pair<std::string_view, std::string_view> kSlurmKinds[] = {
    {"submit", "REQUEST_SUBMIT_BATCH_JOB"},
    {"list_jobs", "REQUEST_JOB_INFO"},
    {"show_job", "REQUEST_JOB_INFO_SINGLE"},
    {"cancel", "REQUEST_KILL_JOB"},
    {"update_job", "REQUEST_UPDATE_JOB"},
    {"list_priorities", "REQUEST_PRIORITY_FACTORS"},
    {"create_step", "REQUEST_JOB_STEP_CREATE"},
    {"list_steps", "REQUEST_JOB_STEP_INFO"},
    {"signal_step", "REQUEST_CANCEL_JOB_STEP"},
    {"end_allocation", "REQUEST_COMPLETE_JOB_ALLOCATION"},
    {"step_usage", "REQUEST_JOB_STEP_STAT"},
    {"list_nodes", "REQUEST_NODE_INFO"},
    {"update_node", "REQUEST_UPDATE_NODE"},
    {"list_partitions", "REQUEST_PARTITION_INFO"},
    {"create_partition", "REQUEST_CREATE_PARTITION"},
    {"update_partition", "REQUEST_UPDATE_PARTITION"},
    {"delete_partition", "REQUEST_DELETE_PARTITION"},
    {"list_reservations", "REQUEST_RESERVATION_INFO"},
    {"create_reservation", "REQUEST_CREATE_RESERVATION"},
    {"update_reservation", "REQUEST_UPDATE_RESERVATION"},
    {"delete_reservation", "REQUEST_DELETE_RESERVATION"},
    {"show_shares", "REQUEST_SHARE_INFO"},
    {"set_log_level", "REQUEST_SET_DEBUG_LEVEL"},
    {"show_config", "REQUEST_BUILD_INFO"},
    {"reconfigure", "REQUEST_RECONFIGURE"},
    {"ping", "REQUEST_PING"},
    {"show_figures", "REQUEST_STATS_INFO"},
};

std::string kind_name(const One& one, bool is_slurm) {
  if (!is_slurm) return one.kind();
  for (const auto& [own, slurm] : kSlurmKinds)
    if (own == one.kind()) return std::string(slurm);
  std::string name = "REQUEST_" + one.kind();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::string user_name(uint32_t uid) {
  if (uid == UINT32_MAX) return "others";
  const passwd* entry = ::getpwuid(uid);
  return entry == nullptr ? std::to_string(uid) : entry->pw_name;
}

uint64_t mean(uint64_t sum, uint64_t count) { return count == 0 ? 0 : sum / count; }

/// "Fri Nov 27 19:30:00 2026 (1795807800)"
std::string when(int64_t us) {
  const std::time_t seconds = us / 1'000'000;
  tm local{};
  char text[64] = "";
  if (::localtime_r(&seconds, &local) != nullptr) std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &local);
  return fmt::format("{} ({})", text, seconds);
}

template <typename List>
std::vector<One> sorted(const List& list, FiguresView::Sort how) {
  std::vector<One> out(list.begin(), list.end());
  const auto before = [how](const One& a, const One& b) {
    switch (how) {
      case FiguresView::Sort::kByTotal:
        return a.took_us() > b.took_us();
      case FiguresView::Sort::kByMean:
        return mean(a.took_us(), a.count()) > mean(b.took_us(), b.count());
      case FiguresView::Sort::kByCount:
        return a.count() > b.count();
      case FiguresView::Sort::kByNumber:
        break;
    }
    return std::pair(a.number(), a.uid()) < std::pair(b.number(), b.uid());
  };
  std::stable_sort(out.begin(), out.end(), before);
  return out;
}

std::string counts_of(const One& one) {
  return fmt::format("count:{:<6} ave_time:{:<6} total_time:{}", one.count(), mean(one.took_us(), one.count()),
                     one.took_us());
}

std::string jobs_text(const Figures& f) {
  return fmt::format(
      "Jobs submitted: {}\nJobs started:   {}\nJobs completed: {}\nJobs canceled:  {}\nJobs failed:    {}\n\n"
      "Job states ts:  {}\nJobs pending:   {}\nJobs running:   {}\n",
      f.submitted(), f.started(), f.completed(), f.cancelled(), f.failed(), when(f.now_us()), f.pending(), f.running());
}

uint64_t passes_a_minute(const Figures& f) {
  const int64_t seconds = std::max<int64_t>((f.now_us() - f.since_us()) / 1'000'000, 1);
  return f.passes() * 60 / static_cast<uint64_t>(seconds);
}

std::string main_text(const Figures& f) {
  return fmt::format(
      "Main schedule statistics (microseconds):\n\tLast cycle:   {}\n\tMax cycle:    {}\n\tTotal cycles: {}\n"
      "\tMean cycle:   {}\n\tMean depth cycle:  {}\n\tCycles per minute: {}\n\tLast queue length: {}\n\n"
      "Main scheduler exit:\n\tEnd of job queue:{:>2}\n\tHit default_queue_depth: 0\n\tHit sched_max_job_start: 0\n"
      "\tBlocked on licenses: 0\n\tHit max_rpc_cnt: 0\n\tTimeout (max_sched_time):{:>2}\n",
      f.last_pass_us(), f.longest_pass_us(), f.passes(), mean(f.all_passes_us(), f.passes()),
      mean(f.steps(), f.passes()), passes_a_minute(f), f.queue_length(), f.passes() - f.cut_passes(), f.cut_passes());
}

/// Here every pass backfills: the figures are those of the same passes.
std::string backfill_text(const Figures& f) {
  const uint64_t depth = mean(f.steps(), f.passes());
  return fmt::format(
      "Backfilling stats\n\tTotal backfilled jobs (since last slurm start): {}\n"
      "\tTotal backfilled jobs (since last stats cycle start): {}\n"
      "\tTotal backfilled heterogeneous job components: 0\n\tTotal cycles: {}\n\tLast cycle when: {}\n"
      "\tLast cycle: {}\n\tMax cycle:  {}\n\tMean cycle: {}\n\tLast depth cycle: {}\n"
      "\tLast depth cycle (try sched): {}\n\tDepth Mean: {}\n\tDepth Mean (try depth): {}\n\tLast queue length: {}\n"
      "\tQueue length mean: {}\n\tLast table size: 0\n\tMean table size: 0\n\nBackfill exit\n\tEnd of job queue:{:>2}\n"
      "\tHit bf_max_job_start: 0\n\tHit bf_max_job_test: 0\n\tSystem state changed: 0\n\tHit table size limit "
      "(bf_node_space_size): 0\n\tTimeout (bf_max_time):{:>2}\n",
      f.backfilled_ever(), f.backfilled(), f.passes(), when(f.last_pass_at_us()), f.last_pass_us(), f.longest_pass_us(),
      mean(f.all_passes_us(), f.passes()), depth, depth, depth, depth, f.queue_length(), f.queue_length(),
      f.passes() - f.cut_passes(), f.cut_passes());
}

/// What Slurm does not have.
std::string own_text(const Figures& f) {
  std::string out = fmt::format(
      "\nGangway\n\tClasses of jobs that wait:   {}\n\tTransactions of the database: {}\n"
      "\tRows in one, mean and most:  {} {}\n\tTime of one, mean and most:  {} {}\n"
      "\tChanges to be written now:   {}\n\tRequests received, not begun: {}\n"
      "\tQuestions before the scheduler: {}\n\nSlowest requests\n",
      f.job_classes(), f.commits(), mean(f.committed_rows(), f.commits()), f.most_committed_rows(),
      mean(f.all_commits_us(), f.commits()), f.longest_commit_us(), f.waiting_commits(), f.waiting_requests(),
      f.waiting_questions());
  for (const wire::SlowRequest& slow : f.slowest())
    out += fmt::format("\t{:<24} {:<16} took {} at {}\n", base::printable(slow.kind()),
                       base::printable(user_name(slow.uid())), slow.took_us(), when(slow.at_us()));
  return f.slowest().empty() ? out + "\tnone\n" : out;
}

Json own_json(const Figures& f) {
  Json slowest = Json::array();
  for (const wire::SlowRequest& slow : f.slowest())
    slowest.push_back({{"request", slow.kind()},
                       {"user", user_name(slow.uid())},
                       {"user_id", slow.uid()},
                       {"time", slow.took_us()},
                       {"at", slow.at_us() / 1'000'000}});
  return {{"job_classes", f.job_classes()},
          {"commits", f.commits()},
          {"commit_rows_mean", mean(f.committed_rows(), f.commits())},
          {"commit_rows_max", f.most_committed_rows()},
          {"commit_time_mean", mean(f.all_commits_us(), f.commits())},
          {"commit_time_max", f.longest_commit_us()},
          {"commits_waiting", f.waiting_commits()},
          {"requests_waiting", f.waiting_requests()},
          {"questions_waiting", f.waiting_questions()},
          {"slowest_requests", std::move(slowest)}};
}

}  // namespace

std::string figures_text(const Figures& f, const FiguresView& view) {
  const std::string rule(55, '*');
  std::string out = fmt::format("{0}\n{1} output at {2}\nData since      {3}\n{0}\n", rule,
                                view.is_slurm ? "sdiag" : "gdiag", when(f.now_us()), when(f.since_us()));
  out += fmt::format(
      "Server thread count:  {}\nRPC queue enabled:    0\nAgent queue size:     0\nAgent count:          0\n"
      "Agent thread count:   0\nDBD Agent queue size: 0\n\n",
      f.connections());
  out += jobs_text(f) + "\n" + main_text(f) + "\n" + backfill_text(f) + "\n";
  out += "Remote Procedure Call statistics by message type\n";
  for (const One& one : sorted(f.kinds(), view.sort))
    out += fmt::format("\t{:<40}({:>5}) {}\n", kind_name(one, view.is_slurm), one.number(), counts_of(one));
  out += "\nRemote Procedure Call statistics by user\n";
  for (const One& one : sorted(f.users(), view.sort))
    out += fmt::format("\t{:<16}({:>8}) {}\n", base::printable(user_name(one.uid())), one.uid(), counts_of(one));
  out += "\nPending RPC statistics\n\tNo pending RPCs\n";
  return view.is_slurm ? out : out + own_text(f);
}

std::string figures_json(const Figures& f, const FiguresView& view) {
  Json s = {{"server_thread_count", f.connections()},
            {"agent_queue_size", 0},
            {"agent_count", 0},
            {"agent_thread_count", 0},
            {"dbd_agent_queue_size", 0},
            {"req_time", f.now_us() / 1'000'000},
            {"req_time_start", f.since_us() / 1'000'000},
            {"jobs_submitted", f.submitted()},
            {"jobs_started", f.started()},
            {"jobs_completed", f.completed()},
            {"jobs_canceled", f.cancelled()},
            {"jobs_failed", f.failed()},
            {"jobs_pending", f.pending()},
            {"jobs_running", f.running()},
            {"schedule_cycle_last", f.last_pass_us()},
            {"schedule_cycle_max", f.longest_pass_us()},
            {"schedule_cycle_total", f.passes()},
            {"schedule_cycle_mean", mean(f.all_passes_us(), f.passes())},
            {"schedule_cycle_mean_depth", mean(f.steps(), f.passes())},
            {"schedule_cycle_per_minute", passes_a_minute(f)},
            {"schedule_queue_length", f.queue_length()},
            {"bf_backfilled_jobs", f.backfilled_ever()},
            {"bf_last_backfilled_jobs", f.backfilled()},
            {"bf_backfilled_het_jobs", 0},
            {"bf_cycle_counter", f.passes()},
            {"bf_cycle_last", f.last_pass_us()},
            {"bf_cycle_max", f.longest_pass_us()},
            {"bf_cycle_mean", mean(f.all_passes_us(), f.passes())},
            {"bf_depth_mean", mean(f.steps(), f.passes())},
            {"bf_depth_mean_try", mean(f.steps(), f.passes())},
            {"bf_last_depth", mean(f.steps(), f.passes())},
            {"bf_last_depth_try", mean(f.steps(), f.passes())},
            {"bf_queue_len", f.queue_length()},
            {"bf_queue_len_mean", f.queue_length()},
            {"bf_table_size", 0},
            {"bf_table_size_mean", 0},
            {"bf_when_last_cycle", f.last_pass_at_us() / 1'000'000},
            {"bf_active", false},
            {"rpcs_by_message_type", Json::array()},
            {"rpcs_by_user", Json::array()}};
  for (const One& one : sorted(f.kinds(), view.sort))
    s["rpcs_by_message_type"].push_back({{"message_type", kind_name(one, view.is_slurm)},
                                         {"type_id", one.number()},
                                         {"count", one.count()},
                                         {"average_time", mean(one.took_us(), one.count())},
                                         {"total_time", one.took_us()}});
  for (const One& one : sorted(f.users(), view.sort))
    s["rpcs_by_user"].push_back({{"user", user_name(one.uid())},
                                 {"user_id", one.uid()},
                                 {"count", one.count()},
                                 {"average_time", mean(one.took_us(), one.count())},
                                 {"total_time", one.took_us()}});
  Json all = {{"schema_version", kSchemaVersion}, {"statistics", std::move(s)}};
  if (!view.is_slurm) all["gangway"] = own_json(f);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::cmds
