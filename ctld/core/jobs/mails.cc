// See mails.h.
#include "ctld/core/jobs/mails.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/jobs/arrays.h"
#include "ctld/core/shared/sight.h"
#include "model/mail.h"
#include "model/output_path.h"

namespace gw::ctld {

using base::Duration;
using model::Job;

namespace {

/// Bytes that are shown; what cannot be printed takes four times as many. gscriptd takes no longer ones.
constexpr size_t kMostName = 200, kMostText = 1'000;

constexpr std::array<std::pair<uint32_t, int64_t>, 3> kShares = {
    {{model::kMailTimeLimit50, 50}, {model::kMailTimeLimit80, 80}, {model::kMailTimeLimit90, 90}}};

uint32_t events_of(const Job& job) {
  if (job.spec.mail_type.empty() || job.spec.het_offset > 0) return 0;
  return model::parse_mail_events(job.spec.mail_type).value_or(0);
}

bool speaks_for_array(const Job& job, uint32_t events) {
  return job.spec.array && (events & model::kMailArrayTasks) == 0;
}

/// As `--mail-type` names it, or else END of END and FAIL.
std::string_view word_of(uint32_t event) {
  switch (event) {
    case model::kMailBegin:
      return "Began";
    case model::kMailEnd:
      return "Ended";
    case model::kMailFail:
      return "Failed";
    case model::kMailRequeue:
      return "Requeued";
    case model::kMailInvalidDependency:
      return "Invalid dependency";
    case model::kMailTimeLimit90:
      return "Reached 90% of time limit";
    case model::kMailTimeLimit80:
      return "Reached 80% of time limit";
    case model::kMailTimeLimit50:
      return "Reached 50% of time limit";
    default:
      return "Reached time limit";
  }
}

/// "Job_id=5", "Array Task Job_id=5_3 (8)", "Array Summary Job_id=5_* (5)"
std::string whose(const Job& job, bool is_of_array) {
  if (!job.spec.array) return "Job_id=" + job.id.text();
  const JobId array = job.spec.array->job;
  if (is_of_array) return fmt::format("Array Summary Job_id={}_* ({})", array.value, array.value);
  if (!job.spec.array->is_task()) return fmt::format("Array Task Job_id={}_[...] ({})", array.value, job.id.value);
  return fmt::format("Array Task Job_id={}_{} ({})", array.value, job.spec.array->task, job.id.value);
}

Duration run_of(const Job& job, base::Time now) {
  if (const model::Ended* ended = job.ended())
    return ended->started ? ended->ended - ended->started - ended->stood_still : Duration{};
  const model::Placed* placed = job.placed();
  return placed != nullptr && placed->started ? now - placed->running_since() : Duration{};
}

/// ", COMPLETED, ExitCode 0"; no code of one that a signal ended.
std::string result_of(const Job& job) {
  const model::ExitStatus& exit = job.ended()->outcome.exit;
  const std::string state(model::long_name(job.state));
  return exit.signo == 0 ? fmt::format(", {}, ExitCode {}", state, exit.code) : ", " + state;
}

/// A cancelled one has come to an end, and not failed.
bool has_failed(const Job& job) {
  return job.state != model::JobState::kCompleted && job.state != model::JobState::kCancelled;
}

/// What the tasks of an array came to; of those that left memory only how many completed is known.
struct ArrayResult {
  bool has_failed = false;
  std::string text;  ///< ", Mixed, ExitCode [0-2], 3 of 10 tasks did not complete"
};
ArrayResult result_of_array(const Core& core, const Job& job) {
  const ArrayTable::Array& array = *core.jobs.arrays().find(job.spec.array->job);
  if (array.failed == 0) return {false, ", COMPLETED, ExitCode [0-0]"};
  ArrayResult result;
  uint64_t cancelled = 0;
  int code = 0;
  for (const auto& [part, tasks] : array.parts) cancelled += tasks.size();
  for (const auto& [index, id] : array.jobs) {
    const Job& task = core.jobs.at(id);
    if (task.ended() == nullptr) continue;
    cancelled += task.state == model::JobState::kCancelled;
    result.has_failed |= has_failed(task);
    code = std::max(code, task.ended()->outcome.exit.code);
  }
  result.has_failed |= array.failed > cancelled;
  const bool are_cancelled = !result.has_failed && array.completed == 0;
  result.text = fmt::format(", {}, ExitCode [{}-{}], {} of {} tasks did not complete",
                            are_cancelled          ? "CANCELLED"
                            : array.completed == 0 ? "FAILED"
                                                   : "Mixed",
                            array.completed == 0 && code > 0 && cancelled == 0 ? 1 : 0, code, array.failed,
                            array.completed + array.failed);
  return result;
}

std::string nodes_of(const Job& job) {
  const model::Allocation* allocation = job.placed() != nullptr  ? &job.placed()->allocation
                                        : job.ended() != nullptr ? &job.ended()->allocation
                                                                 : nullptr;
  return allocation == nullptr ? std::string() : base::compress_hostlist(allocation->node_names());
}

std::string why_of(const Job& job) {
  if (job.ended() != nullptr) return job.ended()->outcome.detail;
  if (job.waiting() != nullptr && job.unmet.is_hopeless()) return model::format_dependency(job.unmet);
  return job.waiting() != nullptr ? job.last_failure : std::string();
}

/// As the owner may read it: it may tell of others (private: in the configuration).
std::string for_owner(const Core& core, const Job& job, const std::string& text) {
  if (!core.settings.private_data.any()) return text;
  const Caller owner{.uid = job.spec.uid, .gid = job.spec.gid, .user = job.spec.user, .group = {}, .groups = {}};
  return Sight(core, owner).without_names(text);
}

std::string plain(const std::string& text) { return base::printable(text, kMostText); }

/// Whether one more may be written; that comes first, since the writing takes most of the time.
bool may_send(Core& core, const Job& job) {
  if (!core.settings.sends_mail) return false;
  const MailRate::Answer answer = core.clients.mail_rate.take(core.now, job.spec.uid, core.settings.mail_per_user_hour);
  if (answer == MailRate::Answer::kDropAndSay)
    core.out.note(fmt::format("mail about job {} is not sent: its user had {} within the hour (mail.per_user_hour)",
                              job.id.value, core.settings.mail_per_user_hour),
                  true);
  return answer == MailRate::Answer::kSend;
}

void send(Core& core, const Job& job, uint32_t event, const std::string& more, bool is_of_array = false) {
  if (!may_send(core, job)) return;
  const std::string name = base::printable(job.spec.name, kMostName);
  SendMail mail;
  mail.uid = job.spec.uid;
  mail.to = job.spec.mail_user.empty() ? job.spec.user : job.spec.mail_user;
  mail.subject = fmt::format("{} {} Name={} {}{}", job.spec.launch.slurm_names ? "Slurm" : "Gangway",
                             whose(job, is_of_array), name, word_of(event), more);
  const std::string state(model::long_name(job.state)),
      nodes = plain(nodes_of(job)), why = plain(for_owner(core, job, why_of(job))),
      partitions = plain(base::join(job.spec.partitions, ",")), folder = plain(job.spec.launch.work_dir);
  mail.body = fmt::format("{}\n\nCluster: {}\nJob: {} ({})\nUser: {}\nPartition: {}\n", mail.subject,
                          core.settings.cluster, job.id.value, name, job.spec.user, partitions);
  if (!is_of_array) mail.body += "State: " + state + "\n";
  if (!nodes.empty()) mail.body += "Nodes: " + nodes + "\n";
  if (!why.empty()) mail.body += "Why: " + why + "\n";
  if (!folder.empty()) mail.body += "Folder: " + folder + "\n";
  mail.variables = {{"SLURM_CLUSTER_NAME", core.settings.cluster},
                    {"SLURM_JOB_ID", job.id.text()},
                    {"SLURM_JOB_NAME", name},
                    {"SLURM_JOB_USER", job.spec.user},
                    {"SLURM_JOB_PARTITION", partitions},
                    {"SLURM_JOB_NODELIST", nodes},
                    {"SLURM_JOB_STATE", state},
                    {"SLURM_JOB_MAIL_TYPE", std::string(word_of(event))},
                    {"SLURM_JOB_RUN_TIME", base::format_duration(run_of(job, core.now))},
                    {"SLURM_JOB_WORK_DIR", folder}};
  if (job.ended() != nullptr) mail.variables.emplace_back("SLURM_JOB_EXIT_CODE", job.ended()->outcome.exit.text());
  if (job.spec.array) mail.variables.emplace_back("SLURM_ARRAY_JOB_ID", job.spec.array->job.text());
  core.out.send(std::move(mail));
}

void mail_of_array_end(Core& core, const Job& job, uint32_t events) {
  ArrayTable& arrays = core.jobs.arrays();
  const JobId id = job.spec.array->job;
  const ArrayTable::Array* array = arrays.find(id);
  if (array == nullptr || !array->is_over() || !arrays.tell_once(id, model::kMailEnd)) return;
  const ArrayResult result = result_of_array(core, job);
  const bool is_failure = result.has_failed && (events & model::kMailFail) != 0;
  if (!is_failure && (events & model::kMailEnd) == 0) return;
  send(core, job, is_failure ? model::kMailFail : model::kMailEnd, result.text, true);
}

/// About what concerns a task alone: of an array, the first one that it happens to.
void send_if_asked(Core& core, const Job& job, uint32_t event, const std::string& more) {
  const uint32_t events = events_of(job);
  if ((events & event) == 0) return;
  if (speaks_for_array(job, events) && !core.jobs.arrays().tell_once(job.spec.array->job, event)) return;
  send(core, job, event, more);
}

base::Time time_of_share(const Job& job, int64_t percent) {
  return job.placed()->running_since() + Duration{job.spec.time_limit.us / 100 * percent};
}

}  // namespace

void mail_of_start(Core& core, const Job& job) {
  const uint32_t events = events_of(job);
  if ((events & model::kMailBegin) == 0) return;
  const bool is_of_array = speaks_for_array(job, events);
  if (is_of_array && !core.jobs.arrays().tell_once(job.spec.array->job, model::kMailBegin)) return;
  const base::Time since = job.eligible ? job.eligible : job.submitted;
  send(core, job, model::kMailBegin, ", Queued time " + base::format_duration(core.now - since), is_of_array);
}

void mail_of_end(Core& core, const Job& job) {
  const uint32_t events = events_of(job);
  if ((events & (model::kMailEnd | model::kMailFail)) == 0) return;
  if (speaks_for_array(job, events)) return mail_of_array_end(core, job, events);
  const bool is_failure = has_failed(job) && (events & model::kMailFail) != 0;
  if (!is_failure && (events & model::kMailEnd) == 0) return;
  send(core, job, is_failure ? model::kMailFail : model::kMailEnd,
       ", Run time " + base::format_duration(run_of(job, core.now)) + result_of(job));
}

void mail_of_requeue(Core& core, const Job& job, Duration run) {
  send_if_asked(core, job, model::kMailRequeue, ", Run time " + base::format_duration(run));
}

void mail_of_hopeless(Core& core, const Job& job) {
  const uint32_t events = events_of(job);
  if ((events & model::kMailInvalidDependency) == 0) return;
  const bool is_of_array = speaks_for_array(job, events);
  if (is_of_array && !core.jobs.arrays().tell_once(job.spec.array->job, model::kMailInvalidDependency)) return;
  send(core, job, model::kMailInvalidDependency, "", is_of_array);
}

void mail_of_time_limit(Core& core, const Job& job) { send_if_asked(core, job, model::kMailTimeLimit, ""); }

void mail_due(Core& core, const Job& job) {
  if (job.state != model::JobState::kRunning) return;
  const uint32_t events = events_of(job);
  const auto passed = std::find_if(kShares.rbegin(), kShares.rend(), [&](const auto& share) {
    return (events & share.first) != 0 && time_of_share(job, share.second) <= core.now;
  });
  if (passed != kShares.rend()) send_if_asked(core, job, passed->first, "");
  arm_mail(core, job);
}

void arm_mail(Core& core, const Job& job) {
  const uint32_t events = events_of(job);
  core.timers.cancel(TimerKind::kJobMail, job.id.value);
  if (job.spec.time_limit == base::kUnlimited) return;
  for (const auto& [event, percent] : kShares) {
    const base::Time at = time_of_share(job, percent);
    if ((events & event) == 0 || at <= core.now) continue;
    return core.timers.set({at, TimerKind::kJobMail, job.id.value, job.attempt});
  }
}

}  // namespace gw::ctld
