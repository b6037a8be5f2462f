// Values of a job as they are shown.
#include "client/show/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/bitset.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "model/job.h"
#include "model/output_path.h"
#include "model/request.h"
#include "wire/blockers.h"
#include "wire/convert.h"
#include "wire/waits.h"

namespace gw::client {
namespace {

const wire::Outcome* outcome_of(const wire::Job& job) {
  const wire::JobStatus& s = job.status();
  if (s.has_ended()) return &s.ended().outcome();
  if (s.has_placed() && s.placed().has_outcome()) return &s.placed().outcome();
  return nullptr;
}

uint32_t index_count(const std::string& list) {
  auto set = base::IndexSet::parse(list);
  return set ? set->size() : 0;
}

/// "Segmentation_fault": a word, since it stands in a list of words.
std::string signal_name(int signo) {
  const char* described = ::sigdescr_np(signo);
  std::string text = described == nullptr ? "signal " + std::to_string(signo) : described;
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

/// Of the job that writes the files: that is the first component, of whose nodes another one knows nothing.
model::PatternValues pattern_values(const wire::Job& job) {
  const bool writes = job.spec().het_offset() == 0;
  model::PatternValues v;
  v.job_id = writes ? job.id() : job.spec().het_job();
  v.job_name = job.spec().name();
  v.user = job.spec().user();
  v.node = writes ? first_node(job) : "%N";
  if (job.spec().has_array()) v.array = wire::from_wire(job.spec().array());
  return v;
}

std::string tres(uint64_t cpus, uint64_t mem_mb, uint32_t nodes, uint32_t gpus, const wire::Request& r) {
  const std::string& type = r.gpu_type();
  std::string out = "cpu=" + std::to_string(cpus);
  if (mem_mb != 0) out += ",mem=" + tres_memory(mem_mb);
  out += ",node=" + std::to_string(nodes) + ",billing=" + std::to_string(cpus);
  if (gpus != 0 && r.has_gpu_milli()) {
    out += ",gres/shard=" + std::to_string(r.gpu_milli());
  } else if (gpus != 0) {
    out += ",gres/gpu=" + std::to_string(gpus);
    if (!type.empty()) out += ",gres/gpu:" + type + "=" + std::to_string(gpus);
  }
  return out + gres_tres(r, nodes);
}

uint32_t requested_gpus(const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  switch (static_cast<model::GpuCounting>(r.gpu_counting())) {
    case model::GpuCounting::kPerJob:
      return r.gpus();
    case model::GpuCounting::kPerNode:
      return r.gpus() * r.min_nodes();
    case model::GpuCounting::kPerTask:
      return r.gpus() * r.tasks();
    case model::GpuCounting::kNone:
      break;
  }
  return 0;
}

uint64_t requested_cpus(const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  return std::max(uint64_t{r.tasks()} * r.cpus_per_task(), uint64_t{requested_gpus(job)} * r.cpus_per_gpu());
}

uint64_t requested_memory(const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  if (r.mem_per_node_mb() != 0) return r.mem_per_node_mb() * r.min_nodes();
  if (r.mem_per_gpu_mb() != 0) return r.mem_per_gpu_mb() * requested_gpus(job);
  return r.mem_per_cpu_mb() * requested_cpus(job);
}

/// What the controller has run for it now.
model::JobProgram program_of(const wire::Job& job) {
  const uint32_t program = job.status().placed().program();
  return program > static_cast<uint32_t>(model::kLastJobProgram) ? model::JobProgram::kNone
                                                                 : static_cast<model::JobProgram>(program);
}

}  // namespace

model::JobState state_of(const wire::Job& job) {
  const uint32_t state = job.status().state();
  return state < static_cast<uint32_t>(model::kJobStateCount) ? static_cast<model::JobState>(state)
                                                              : model::JobState::kPending;
}

const google::protobuf::RepeatedPtrField<wire::NodeShare>& shares_of(const wire::Job& job) {
  return job.status().has_placed() ? job.status().placed().shares() : job.status().ended().shares();
}

std::string host_list(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return base::compress_hostlist({names.begin(), names.end()});
}

std::string node_list(const wire::Job& job) {
  std::vector<std::string> names;
  for (const wire::NodeShare& s : shares_of(job)) names.push_back(s.node());
  return base::compress_hostlist(names);
}

std::string first_node(const wire::Job& job) {
  return shares_of(job).empty() ? std::string() : shares_of(job)[0].node();
}

std::string partition_of(const wire::Job& job) {
  const wire::JobStatus& s = job.status();
  const std::string& used = s.has_placed() ? s.placed().partition() : s.ended().partition();
  if (!used.empty()) return used;
  if (job.spec().partitions_size() == 1) return job.spec().partitions(0);
  std::vector<std::string> asked(job.spec().partitions().begin(), job.spec().partitions().end());
  return base::join(asked, ",");
}

base::Time start_of(const wire::Job& job) {
  return {job.status().has_placed() ? job.status().placed().started_us() : job.status().ended().started_us()};
}

base::Time expected_start(const wire::Job& job) {
  if (job.status().has_ended()) return end_of(job);
  if (job.status().has_waiting() && job.status().waiting().estimated_start_us() != 0)
    return {job.status().waiting().estimated_start_us()};
  return {job.spec().begin_us()};
}

std::string start_range(const wire::Job& job) {
  const wire::StartRange& range = job.status().waiting().start_range();
  if (range.low_us() == 0) return "N/A";
  return base::format_time({range.low_us()}) + "/" +
         (range.high_us() == 0 ? ".." : base::format_time({range.high_us()}));
}

std::string likely_start(const wire::Job& job) {
  const int64_t likely = job.status().waiting().start_range().likely_us();
  return likely == 0 ? "N/A" : base::format_time({likely});
}

std::map<std::string, int64_t> start_range_seconds(const wire::Job& job) {
  if (!job.status().waiting().has_start_range()) return {};
  constexpr int64_t kSecond = 1'000'000;
  const wire::StartRange& range = job.status().waiting().start_range();
  return {
      {"low", range.low_us() / kSecond}, {"likely", range.likely_us() / kSecond}, {"high", range.high_us() / kSecond}};
}

int64_t priority_of(const wire::Job& job) {
  const wire::Waiting& waiting = job.status().waiting();
  const bool is_held = job.status().has_waiting() && (job.spec().hold_user() || job.spec().hold_admin());
  if (is_held) return 0;
  return std::max<int64_t>(1, waiting.has_priority() ? waiting.priority() : job.spec().priority());
}

base::Time end_of(const wire::Job& job) {
  if (job.status().has_ended()) return {job.status().ended().ended_us()};
  if (state_of(job) == model::JobState::kCompleting && outcome_of(job) != nullptr && outcome_of(job)->ended_us() != 0)
    return {outcome_of(job)->ended_us()};
  const base::Time start = start_of(job);
  // One that is ending does so when its processes have gone: before its limit, or after.
  const bool is_open = state_of(job) == model::JobState::kSuspended || state_of(job) == model::JobState::kCompleting;
  if (!start || time_limit(job) == base::kUnlimited || is_open) return {};
  return start + stood_still(job) + time_limit(job);
}

base::Duration stood_still(const wire::Job& job) {
  const wire::JobStatus& s = job.status();
  return base::Duration{s.has_placed() ? s.placed().stood_still_us() : s.ended().stood_still_us()};
}

std::string why_suspended(const wire::Job& job) {
  const wire::Suspension& s = job.status().placed().suspension();
  std::string out = s.for_job() == UINT32_MAX ? "for a job of somebody else"
                    : s.for_job() != 0        ? "for job " + std::to_string(s.for_job())
                                              : "by " + s.who();
  if (s.is_held()) return out + ", until it is resumed";
  return s.detail().empty() ? out : out + "; waits: " + s.detail();
}

base::Time suspended_at(const wire::Job& job) { return {job.status().placed().suspension().since_us()}; }

base::Duration run_time(const JobRow& row) {
  const base::Time start = start_of(*row.job);
  if (!start) return {};
  const bool is_over = row.job->status().has_ended() || state_of(*row.job) == model::JobState::kCompleting;
  base::Time end = is_over && end_of(*row.job) ? end_of(*row.job) : row.now;
  if (const base::Time since = suspended_at(*row.job)) end = std::min(end, since);
  return std::max(end - start - stood_still(*row.job), base::Duration{});
}

base::Duration time_limit(const wire::Job& job) {
  const int64_t us = job.spec().time_limit_us();
  return us <= 0 ? base::kUnlimited : base::Duration{us};
}

std::string exit_code(const wire::Job& job) {
  const wire::Outcome* o = outcome_of(job);
  if (job.status().has_ended() && state_of(job) == model::JobState::kOutOfMemory) return "0:125";  // as in sacct
  return o == nullptr ? "0:0" : std::to_string(o->exit_code()) + ":" + std::to_string(o->exit_signo());
}

std::string reason_word(const wire::Job& job) {
  if (job.status().has_waiting()) {
    const uint32_t reason = job.status().waiting().reason();
    if (reason == static_cast<uint32_t>(model::WaitReason::kNone)) return "NotYetConsidered";  // by the scheduler
    return reason > static_cast<uint32_t>(model::kLastWaitReason)
               ? "Unknown"
               : std::string(model::name(static_cast<model::WaitReason>(reason)));
  }
  if (program_of(job) == model::JobProgram::kProlog) return "Prolog";
  const wire::Outcome* o = outcome_of(job);
  if (o == nullptr || !job.status().has_ended()) return "None";
  if (o->reason() > static_cast<uint32_t>(model::kLastEndReason)) return "Unknown";
  const auto reason = static_cast<model::EndReason>(o->reason());
  if (reason == model::EndReason::kRaisedSignal)
    return "RaisedSignal:" + std::to_string(o->exit_signo()) + "(" + signal_name(o->exit_signo()) + ")";
  if (reason == model::EndReason::kCancelledByUser) return "None";  // as Slurm has it; the state says it
  return std::string(model::name(reason));
}

std::string reason_word(const JobRow& row) {
  const std::string word = reason_word(*row.job);
  const wire::Waiting& waiting = row.job->status().waiting();
  if (!row.says_more || waiting.reason() != static_cast<uint32_t>(model::WaitReason::kPriority)) return word;
  for (const model::Blocker& b : wire::blockers_from(waiting.blockers())) {
    if (b.kind == model::BlockerKind::kPlannedStart) return word + ", nodes are kept for planned starts";
    if (b.kind == model::BlockerKind::kStrictOrder) return word + ", behind " + model::holder_of(b);
  }
  return word;
}

std::string dependency_text(const wire::Job& job) {
  model::Dependency unmet;
  return wire::unmet_from_wire(job.status(), unmet) ? model::format_dependency(unmet) : "(null)";
}

std::string reason_detail(const wire::Job& job) {
  if (job.status().has_waiting()) return job.status().waiting().detail();
  const wire::Outcome* o = outcome_of(job);
  if (o != nullptr && !o->detail().empty()) return o->detail();
  if (program_of(job) == model::JobProgram::kProlog) return "the controller's prolog runs";
  if (program_of(job) == model::JobProgram::kEpilog) return "the controller's epilog runs";
  if (job.status().placed().unreachable_size() == 0) return {};
  std::vector<std::string> names(job.status().placed().unreachable().begin(),
                                 job.status().placed().unreachable().end());
  return "out of reach: " + base::compress_hostlist(names);
}

std::string reason_or_nodes(const JobRow& row) {
  const wire::Job& job = *row.job;
  switch (state_of(job)) {
    case model::JobState::kPending:
    case model::JobState::kFailed:
    case model::JobState::kTimeout:
    case model::JobState::kOutOfMemory:
    case model::JobState::kDeadline:
      return "(" + reason_word(row) + ")";
    default:
      return node_list(job);
  }
}

uint32_t node_count(const wire::Job& job) {
  const auto held = static_cast<uint32_t>(shares_of(job).size());
  return held != 0 ? held : job.spec().request().min_nodes();
}

uint32_t cpu_count(const wire::Job& job) {
  uint32_t sum = 0;
  for (const wire::NodeShare& s : shares_of(job)) sum += s.cpus();
  return sum != 0 ? sum : static_cast<uint32_t>(requested_cpus(job));
}

uint32_t task_count(const wire::Job& job) { return job.spec().request().tasks(); }

uint32_t gpu_count(const wire::Job& job) {
  if (shares_of(job).empty()) return requested_gpus(job);
  uint32_t sum = 0;
  for (const wire::NodeShare& s : shares_of(job)) sum += index_count(s.gpus());
  return sum;
}

uint64_t memory_mb(const wire::Job& job) {
  if (shares_of(job).empty()) return requested_memory(job);
  uint64_t sum = 0;
  for (const wire::NodeShare& s : shares_of(job)) sum += s.mem_mb();
  return sum;
}

std::string gpu_request(const wire::Job& job, uint32_t counting) {
  const wire::Request& r = job.spec().request();
  if (r.gpu_counting() != counting || r.gpus() == 0) return {};
  const std::string type = r.gpu_type().empty() ? "" : r.gpu_type() + ":";
  if (r.has_gpu_milli()) return "gres/shard:" + type + std::to_string(r.gpu_milli());
  return "gres/gpu:" + type + std::to_string(r.gpus());
}

std::string gres_tres(const wire::Request& r, uint64_t nodes) {
  std::string out;
  for (const wire::GresCount& one : r.gres()) out += ",gres/" + one.name() + "=" + std::to_string(one.count() * nodes);
  return out;
}

std::string layout_of(const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  const auto or_any = [](uint32_t count) { return count == 0 ? std::string("*") : std::to_string(count); };
  return std::to_string(r.sockets()) + ":" + or_any(r.socket_cores()) + ":" +
         (r.whole_cores() ? "1" : or_any(r.core_threads()));
}

std::string tres_per_node(const wire::Job& job) {
  std::string out = gpu_request(job, static_cast<uint32_t>(model::GpuCounting::kPerNode));
  const auto gres = wire::gres_from(job.spec().request().gres());
  if (!gres || gres->empty()) return out;
  for (const std::string& one : base::split(model::format_gres(*gres), ','))
    out += (out.empty() ? "gres/" : ",gres/") + one;
  return out;
}

std::string tres_requested(const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  return tres(requested_cpus(job), requested_memory(job), r.min_nodes(), requested_gpus(job), r);
}

std::string tres_allocated(const wire::Job& job) {
  if (shares_of(job).empty()) return "(null)";
  return tres(cpu_count(job), memory_mb(job), node_count(job), gpu_count(job), job.spec().request());
}

std::string min_memory(const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  const uint64_t mb = r.mem_per_node_mb() != 0 ? r.mem_per_node_mb() : r.mem_per_cpu_mb();
  return mb == 0 ? "0" : tres_memory(mb);
}

std::string locality_of(const wire::Job& job) {
  std::vector<model::LocalityStep> steps;
  for (const wire::LocalityStep& step : job.spec().request().locality())
    if (step.level() < static_cast<uint32_t>(model::kLocalityCount))
      steps.push_back({static_cast<model::Locality>(step.level()), {step.wait_us()}});
  return model::format_locality(steps);
}

std::string switches_of(const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  if (r.max_switches() == 0) return {};
  const base::Duration wait = r.has_switches_wait_us() ? base::Duration{r.switches_wait_us()} : base::kUnlimited;
  return std::to_string(r.max_switches()) + "@" + base::format_duration(wait);
}

std::string fit_of(const wire::Job& job) {
  const uint32_t fit = job.spec().request().fit();
  return fit == 0 || fit > static_cast<uint32_t>(model::Fit::kSpread)
             ? std::string()
             : std::string(model::name(static_cast<model::Fit>(fit)));
}

std::string features_of(const wire::Job& job) {
  std::vector<model::FeatureSet> sets;
  for (const wire::FeatureSet& set : job.spec().request().features())
    sets.emplace_back(set.all().begin(), set.all().end());
  return model::format_features(sets);
}

std::string_view on_preempt_of(const wire::Job& job) {
  const uint32_t what = job.spec().on_preempt();
  const bool is_known = what < model::kOnPreempt.size();
  return model::name(is_known ? static_cast<model::OnPreempt>(what) : model::OnPreempt::kRequeue);
}

double lost_gpu_seconds(const wire::Job& job) { return static_cast<double>(job.status().lost_gpu_ms()) / 1e3; }

double attained_gpu_seconds(const wire::Job& job, base::Time now) {
  const wire::Service& s = job.status().service();
  const double running_s = s.rate() > 0 ? static_cast<double>(std::max(now.us - s.since_us(), int64_t{0})) / 1e6 : 0;
  return static_cast<double>(s.done_us()) / 1e6 + running_s * static_cast<double>(s.rate()) / 1e6;
}

std::string progress_of(const wire::Job& job) {
  const wire::Progress& p = job.status().progress();
  if (p.step() == 0 && p.of() == 0) return "";
  return p.of() == 0 ? std::to_string(p.step()) : fmt::format("{}/{}", p.step(), p.of());
}

std::string step_rate_of(const wire::Job& job) {
  const uint64_t milli = job.status().progress().rate_milli();
  return milli == 0 ? "" : fmt::format("{:.4g}", static_cast<double>(milli) / 1e3);
}

base::Time told_end(const wire::Job& job) {
  const wire::Progress& p = job.status().progress();
  const bool is_running = job.status().has_placed() && !suspended_at(job);
  return p.has_overrun() || !is_running ? base::Time{} : base::Time{p.expected_us()};
}

std::string tres_memory(uint64_t mb) {
  constexpr std::string_view kUnits = "MGTPE";
  size_t unit = 0;
  for (; mb >= 1024 && mb % 1024 == 0 && unit + 1 < kUnits.size(); ++unit) mb /= 1024;
  return std::to_string(mb) + kUnits[unit];
}

std::string stdout_path(const wire::Job& job) {
  const wire::Launch& l = job.spec().launch();
  const std::string pattern =
      l.std_out().empty() ? std::string(model::default_output(l.slurm_names(), job.spec().has_array())) : l.std_out();
  return model::resolve_job_path(pattern, l.work_dir(), pattern_values(job));
}

std::string stderr_path(const wire::Job& job) {
  const wire::Launch& l = job.spec().launch();
  return l.std_err().empty() ? stdout_path(job)
                             : model::resolve_job_path(l.std_err(), l.work_dir(), pattern_values(job));
}

std::string stdin_path(const wire::Job& job) {
  const wire::Launch& l = job.spec().launch();
  return l.std_in().empty() ? "/dev/null" : model::resolve_job_path(l.std_in(), l.work_dir(), pattern_values(job));
}

std::string or_else(std::string text, std::string_view otherwise) {
  return text.empty() ? std::string(otherwise) : text;
}

std::string show_time(base::Time t, std::string_view otherwise) {
  if (!t || t == base::Time::never()) return std::string(otherwise);
  static const bool in_seconds = [] {
    const char* format = std::getenv("SLURM_TIME_FORMAT");
    return format != nullptr && std::strcmp(format, "%s") == 0;
  }();
  return in_seconds ? std::to_string(t.seconds()) : base::format_time(t);
}

std::string quota_text(const wire::JobLabel* label) {
  if (label == nullptr) return {};
  std::string out = label->is_borrowed() ? "borrowed at " + base::printable(label->borrowed_at()) : "covered";
  if (label->borrowed_extensions() > 0)
    out += fmt::format(", {} of {} extensions borrowed", label->borrowed_extensions(), label->extensions());
  return out;
}

std::string preemptors_text(const wire::JobLabel* label) {
  if (label == nullptr) return {};
  if (label->is_never_preempted()) return "none, it is never preempted";
  if (label->protected_until_us() != 0)
    return "none until " + show_time({label->protected_until_us()}, "") + ", within min_runtime";
  if (label->preemptors().empty()) return label->preemptors_cut() ? "unknown, too much was asked at once" : "none";
  std::vector<std::string> names;
  for (const std::string& name : label->preemptors()) names.push_back(base::printable(name));
  return base::join(names, ",") + (label->preemptors_cut() ? ",..." : "");
}

std::vector<std::pair<model::WaitCause, int64_t>> waited_seconds(const wire::Job& job) {
  return wire::waits_from(job.status().waited()).in_seconds();
}

std::string waited_text(const wire::Job& job) {
  const wire::WaitParts& parts = job.status().waited();
  if (parts.empty() || (parts.size() == 1 && parts[0].time_us() < 1'000'000)) return {};  // as most of a long list
  std::string out;
  for (const auto& [cause, seconds] : waited_seconds(job))
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", model::name(cause),
                       base::format_duration(base::seconds(seconds)));
  return out;
}

}  // namespace gw::client
