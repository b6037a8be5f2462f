// See why_text.h.
#include "client/why/why_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/counted.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "base/time.h"
#include "client/show/job_view.h"
#include "model/blocker.h"
#include "model/outlook.h"
#include "model/qos.h"
#include "model/reason_words.h"
#include "model/request.h"
#include "wire/blockers.h"
#include "wire/convert.h"

namespace gw::client {
namespace {

using base::Time;
using model::When;
using Change = wire::UpdateJobRequest;

When when_of(const wire::Outlook& o) { return static_cast<When>(o.when()); }

/// What a change says of one thing: in words, and as `gcontrol update` takes it.
struct Said {
  std::string words, setting;
};

std::string gpu_words(const wire::GresUpdate& gres) {
  static constexpr std::string_view kOf[] = {"", "", " per node", " per task"};
  const std::string of = std::string(kOf[gres.gpu_counting() < 4 ? gres.gpu_counting() : 0]);
  const std::string type = gres.gpu_type().empty() ? "" : " of type " + base::printable(gres.gpu_type(), 60);
  return fmt::format("ask for {} {}{}{}", gres.gpus(), gres.gpus() == 1 ? "GPU" : "GPUs", of, type);
}

std::string gpu_setting(const wire::GresUpdate& gres, const wire::Job* job) {
  const auto counting = static_cast<model::GpuCounting>(gres.gpu_counting());
  const std::string type = gres.gpu_type().empty() ? "" : gres.gpu_type() + ":";
  const std::string gpus = gres.has_gpu_milli() ? fmt::format("shard:{}{}", type, gres.gpu_milli())
                                                : fmt::format("gpu:{}{}", type, gres.gpus());
  if (counting == model::GpuCounting::kPerJob) return "TresPerJob=gres/" + gpus;
  if (counting == model::GpuCounting::kPerTask) return "TresPerTask=gres/" + gpus;
  std::string out = "Gres=" + gpus;
  const auto others = wire::gres_from(job == nullptr ? wire::GresCounts() : job->spec().request().gres());
  return others && !others->empty() ? out + "," + model::format_gres(*others) : out;
}

std::string memory(uint64_t mb) { return base::format_memory_mb(mb); }

void say_places(const Change& c, std::vector<Said>& out) {
  if (c.has_partition())
    out.push_back({"use partition " + base::printable(c.partition(), 200), "Partition=" + c.partition()});
  if (c.has_qos()) out.push_back({"use QOS " + base::printable(c.qos(), 200), "QOS=" + c.qos()});
  if (c.has_reservation()) out.push_back({"run outside the reservation", "Reservation="});
  if (c.has_features()) out.push_back({"drop --constraint", "Features="});
  if (c.has_nodelist()) out.push_back({"drop --nodelist", "ReqNodeList="});
  if (c.has_exclude()) out.push_back({"drop --exclude", "ExcNodeList="});
  if (c.has_exclusive()) out.push_back({"drop --exclusive", "OverSubscribe=YES"});
  if (c.has_contiguous()) out.push_back({"drop --contiguous", "Contiguous=NO"});
  if (c.has_max_switches()) out.push_back({"drop --switches", "Switches=0"});
  if (c.has_licenses()) out.push_back({"drop --licenses", "Licenses="});
  if (c.has_sockets())
    for (const char* setting : {"ReqSockets=0", "ReqCores=0", "ReqThreads=0"})
      out.push_back({out.empty() ? "drop the wishes for sockets, cores and threads" : "", setting});
}

std::vector<Said> said_by(const Change& c, const wire::Job* job) {
  std::vector<Said> out;
  say_places(c, out);
  if (c.has_gres()) {
    const bool drops_type = job != nullptr && !job->spec().request().gpu_type().empty() && c.gres().gpu_type().empty();
    out.push_back({drops_type ? "ask for GPUs of any type" : gpu_words(c.gres()), gpu_setting(c.gres(), job)});
  }
  if (c.has_min_nodes()) {
    const std::string range =
        c.has_max_nodes() && c.max_nodes() > c.min_nodes() ? fmt::format("-{}", c.max_nodes()) : "";
    out.push_back({fmt::format("ask for {}{} {}", c.min_nodes(), range, c.min_nodes() == 1 ? "node" : "nodes"),
                   fmt::format("NumNodes={}{}", c.min_nodes(), range)});
  }
  if (c.has_task_count())
    out.push_back({fmt::format("ask for {} {}", c.task_count(), c.task_count() == 1 ? "task" : "tasks"),
                   fmt::format("NumTasks={}", c.task_count())});
  if (c.has_cpus_per_task())
    out.push_back({fmt::format("ask for {} {} per task", c.cpus_per_task(), c.cpus_per_task() == 1 ? "CPU" : "CPUs"),
                   fmt::format("CPUsPerTask={}", c.cpus_per_task())});
  if (c.has_mem_per_node_mb())
    out.push_back({fmt::format("ask for {} of memory per node", memory(c.mem_per_node_mb())),
                   fmt::format("MinMemoryNode={}M", c.mem_per_node_mb())});
  if (c.has_mem_per_cpu_mb())
    out.push_back({fmt::format("ask for {} of memory per CPU", memory(c.mem_per_cpu_mb())),
                   fmt::format("MinMemoryCPU={}M", c.mem_per_cpu_mb())});
  if (c.has_tmp_mb()) out.push_back({"drop --tmp", "MinTmpDiskNode=0"});
  if (c.has_time_limit_us()) {
    const std::string limit = base::format_duration(base::Duration{c.time_limit_us()});
    out.push_back({"run for " + limit + " at most", "TimeLimit=" + limit});
  }
  return out;
}

std::string words_of(const std::vector<Said>& all) {
  std::vector<std::string> words;
  for (const Said& said : all)
    if (!said.words.empty()) words.push_back(said.words);
  return base::join(words, ", ");
}

std::string named_jobs(const google::protobuf::RepeatedField<uint32_t>& ids, uint32_t more) {
  constexpr int kMost = 16;
  std::vector<std::string> words;
  for (int i = 0; i < std::min(ids.size(), kMost); ++i) words.push_back(std::to_string(ids[i]));
  more += static_cast<uint32_t>(std::max(ids.size() - kMost, 0));
  if (words.empty()) return more == 1 ? "a job of somebody else" : fmt::format("{} jobs of others", more);
  if (more > 0) words.push_back(fmt::format("{} more", more));
  if (words.size() == 1) return "job " + words[0];
  const std::string last = words.back();
  words.pop_back();
  return "jobs " + base::join(words, ", ") + " and " + last;
}

bool has_victims(const wire::Outlook& o) { return !o.victims().empty() || o.victims_more() > 0; }
std::string victims_of(const wire::Outlook& o) { return named_jobs(o.victims(), o.victims_more()); }

std::string on_nodes(const wire::Outlook& o) {
  return (o.nodes().empty() ? "" : " on " + base::printable(o.nodes(), 1000)) +
         (o.partition().empty() ? "" : " (partition " + base::printable(o.partition()) + ")");
}

std::string clock(int64_t us) { return base::format_time({us}); }

/// "starts now on n3", "starts at 14:20 instead of 15:05"; empty: it is no better than `as_it_is`.
std::string better(const wire::Outlook& o, const wire::Outlook& as_it_is) {
  constexpr int64_t kWorthIt = base::minutes(1).us;
  const std::string victims = has_victims(o) ? fmt::format(", {} would leave for it", victims_of(o)) : "";
  const bool is_sooner = as_it_is.start_us() == 0 ? when_of(as_it_is) != When::kOnceOthersLeft
                                                  : o.start_us() + kWorthIt <= as_it_is.start_us();
  switch (when_of(o)) {
    case When::kNow:
      return "starts now" + on_nodes(o) + victims;
    case When::kOnceOthersLeft:
      return is_sooner ? fmt::format("starts by {}{}{}", clock(o.start_us()), on_nodes(o), victims) : "";
    case When::kPlanned:
      if (!is_sooner) return {};
      return fmt::format("starts at {} at the latest{}", clock(o.start_us()), on_nodes(o));
    default:
      return {};
  }
}

std::string summary(const wire::WhyJobReply& why) {
  const wire::Outlook& o = why.outlook();
  switch (when_of(o)) {
    case When::kNow:
      return "It starts with the next pass of the scheduler" + on_nodes(o) +
             (has_victims(o) ? ", for which " + victims_of(o) + " would leave" : "") + ".";
    case When::kOnceOthersLeft:
      return "It starts" + on_nodes(o) + " once " +
             (has_victims(o) ? victims_of(o) + " left" : std::string("others have left for it")) +
             (o.start_us() == 0 ? "" : ", by " + clock(o.start_us())) + ".";
    case When::kPlanned:
      return fmt::format("It starts at {}{}{}; sooner if they end sooner.", clock(o.start_us()), on_nodes(o),
                         o.waits_for().empty() && o.waits_for_more() == 0
                             ? std::string(" if all that runs uses its whole limit")
                             : " if " + named_jobs(o.waits_for(), o.waits_for_more()) +
                                   (o.waits_for_size() + o.waits_for_more() == 1 ? " uses" : " use") +
                                   " the whole limit");
    case When::kNever:
      return "It will be ended: its deadline can no longer be met.";
    default:
      return o.room_at_us() == 0 ? "When it starts cannot be foreseen."
                                 : "The limits that hold it back have room for it at " + clock(o.room_at_us()) +
                                       " if all that runs uses its whole limit; where it runs then is not planned.";
  }
}

/// What the forecast makes of it, by how long jobs really run.
std::string foreseen(const wire::WhyJobReply& why) {
  if (!why.job().status().waiting().has_start_range() || when_of(why.outlook()) == When::kNow) return {};
  const wire::StartRange& range = why.job().status().waiting().start_range();
  const std::string likely = range.likely_us() == 0 ? "" : fmt::format(", most likely at {}", clock(range.likely_us()));
  if (range.high_us() == 0)
    return fmt::format("By how long jobs here really run it starts after {}{}.\n", clock(range.low_us()), likely);
  return fmt::format("By how long jobs here really run it starts between {} and {}{}.\n", clock(range.low_us()),
                     clock(range.high_us()), likely);
}

/// Each with what belongs to it: a partition with the nodes that are ruled out in it.
std::vector<model::Blockers> grouped(const model::Blockers& all) {
  std::vector<model::Blockers> out;
  for (const model::Blocker& b : all) {
    const bool belongs = !out.empty() && out.back().front().kind == model::BlockerKind::kNodes && b.nodes > 0 &&
                         b.kind != model::BlockerKind::kNodes;
    if (!belongs) out.emplace_back();
    out.back().push_back(b);
  }
  return out;
}

/// With the job's number where the remedy has an N.
std::string remedy(model::BlockerKind kind, const wire::Job& job) {
  std::string help(model::help(kind));
  for (const std::string_view before : {"JobId=", "release "})
    if (const size_t at = help.find(std::string(before) + "N"); at != std::string::npos)
      help.replace(at + before.size(), 1, std::to_string(job.id()));
  return help;
}

std::string in_the_way(const wire::WhyJobReply& why) {
  const model::Blockers all = wire::blockers_from(why.job().status().waiting().blockers());
  if (all.empty()) return {};
  std::string out = "\nIn the way:\n";
  std::vector<std::string> said;
  for (const model::Blockers& group : grouped(all)) {
    const std::string words = model::words(group);
    out += "  " + base::printable(words, 4000) + "\n";
    for (const model::Blocker& b : group) {
      const std::string help = remedy(b.kind, why.job());
      if (help.empty() || words.find(help) != std::string::npos ||
          std::find(said.begin(), said.end(), help) != said.end())
        continue;
      said.push_back(help);
      out += fmt::format("      {}\n", help);
    }
  }
  return out;
}

std::string gpus(uint64_t milli) { return model::format_amount("gpu", milli); }

/// From its QOS up what each holds and is due, and who could give some back.
std::string quotas(const wire::WhyJobReply& why) {
  if (why.quota_path().empty()) return {};
  std::string out = fmt::format("\nQuotas on its way, in GPUs (it asks for {}):\n", gpus(why.quota_asked()));
  for (const wire::QuotaStep& step : why.quota_path())
    out += fmt::format("  QOS {}: holds {}, guaranteed {}, fair share {}{}\n", base::printable(step.name()),
                       gpus(step.held()), gpus(step.guaranteed()), gpus(step.fair()),
                       step.has_limit() ? ", limit " + gpus(step.limit()) : "");
  for (const wire::QuotaHolder& holder : why.quota_holders()) {
    const std::string lent = holder.lent() == 0 ? ""
                                                : fmt::format(", {} of them lent by {}", gpus(holder.lent()),
                                                              base::printable(holder.beside()));
    const std::string verdict =
        holder.may() ? fmt::format("{} may be taken back", holder.may_take() == 0 ? "some" : gpus(holder.may_take()))
                     : "none of it may be taken";
    out += fmt::format("  QOS {} beside {}: holds {}, {} more than it is due{}; {}: {}{}\n",
                       base::printable(holder.name()), base::printable(holder.beside()), gpus(holder.held()),
                       gpus(holder.beyond()), lent, verdict, base::printable(holder.why(), 1000),
                       holder.may() || holder.rule() == 0 ? "" : fmt::format(" (rule {})", holder.rule()));
  }
  return out;
}

std::string ahead(const wire::WhyJobReply& why) {
  if (why.ahead().empty() && why.more_ahead() > 0)
    return fmt::format("\n{} of others {} ahead of it, and not to be delayed.\n",
                       base::counted(why.more_ahead(), "job"), why.more_ahead() == 1 ? "is" : "are");
  if (why.ahead().empty()) return {};
  std::string out = "\nAhead of it, and not to be delayed:\n";
  for (const wire::JobAhead& one : why.ahead())
    out += fmt::format("  job {}{}, in partition {}: {}\n", one.id(),
                       one.start_us() == 0 ? "" : ", planned for " + clock(one.start_us()),
                       base::printable(one.partition(), 200), model::words(static_cast<model::AheadBy>(one.rule())));
  if (why.more_ahead() > 0) out += fmt::format("  and {} more\n", why.more_ahead());
  return out;
}

/// Whose change it is: "7", of a component "7+1", of tasks of an array "7_[3-10]".
std::string whose_change(const wire::UpdateJobRequest& change, const wire::Job& job) {
  if (!change.tasks().empty()) {
    const auto tasks = wire::from_wire(change.tasks(0).tasks());
    return fmt::format("{}_[{}]", change.tasks(0).array(), tasks ? tasks->text() : "");
  }
  const uint32_t id = change.ids().empty() ? job.id() : change.ids(0), first = job.spec().het_job();
  return first == 0 || id <= first ? std::to_string(id) : fmt::format("{}+{}", first, id - first);
}

/// Those that are better, those that start it now first.
std::vector<const wire::JobOffer*> helpful(const wire::WhyJobReply& why) {
  std::vector<const wire::JobOffer*> out;
  for (const wire::JobOffer& offer : why.offers())
    if (!better(offer.outlook(), why.outlook()).empty()) out.push_back(&offer);
  std::stable_partition(out.begin(), out.end(),
                        [](const wire::JobOffer* o) { return when_of(o->outlook()) == When::kNow; });
  return out;
}

std::string offers(const wire::WhyJobReply& why) {
  if (when_of(why.outlook()) == When::kNow) return {};
  if (!why.no_offers_why().empty())
    return fmt::format("\nNo changes were tried: {}.\n", base::printable(why.no_offers_why()));
  const std::vector<const wire::JobOffer*> good = helpful(why);
  const std::string cut = why.offers_cut() ? "; there are more" : "";
  if (good.empty())
    return why.offers().empty() ? ""
                                : fmt::format("\nNone of the changes that were tried ({}) would start it sooner{}.\n",
                                              why.offers_size(), cut);
  std::string out = fmt::format("\nWhat would help, of {} tried{}:\n",
                                base::counted(static_cast<uint64_t>(why.offers_size()), "change"), cut);
  for (const wire::JobOffer* offer : good)
    out += fmt::format("  {}{}: {}\n      {}\n",
                       offer->change().ids().empty() ? "" : "job " + whose_change(offer->change(), why.job()) + ", ",
                       words_of(said_by(offer->change(), &why.job())), better(offer->outlook(), why.outlook()),
                       change_command(offer->change(), why.job()));
  return out;
}

std::string named(const wire::Job& job) {
  return fmt::format("Job {} ({}) of {}", job.id(), base::printable(job.spec().name(), 100),
                     base::printable(job.spec().user(), 100));
}

/// Where its time went, the most of it first.
std::string waited(const wire::Job& job) {
  auto parts = waited_seconds(job);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [cause, seconds] : parts)
    out += fmt::format("  {} {}: {}\n", base::format_duration(base::seconds(seconds)), model::name(cause),
                       model::kWaitCauseWords[static_cast<size_t>(cause)].means);
  return out.empty() ? "" : "\nWhat it has waited for:\n" + out;
}

std::string waiting_text(const wire::WhyJobReply& why) {
  const wire::Job& job = why.job();
  const Time since{job.status().eligible_us() != 0 ? job.status().eligible_us() : job.status().submitted_us()};
  std::string out =
      fmt::format("{} waits since {} ({}), in QOS {}, partition {}: {} ({}).\n", named(job), base::format_time(since),
                  base::format_duration(std::max(Time{why.now_us()} - since, base::Duration{})),
                  base::printable(job.spec().qos()), base::printable(partition_of(job)), reason_word(job),
                  model::words_of(static_cast<model::WaitReason>(job.status().waiting().reason())).means);
  std::string when = why.has_outlook() ? summary(why) + "\n" + foreseen(why) : "";
  if (why.is_kept() && !when.empty()) {
    when.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(when.front())));
    when = "If nothing kept it from the scheduler: " + when;
  }
  out += when;
  return out + waited(job) + in_the_way(why) + quotas(why) + ahead(why) + offers(why);
}

std::string history(const wire::ShowJobReply& shown) {
  if (shown.history().empty()) return {};
  std::string out = "\nIts history:\n";
  for (const wire::HistoryEvent& e : shown.history())
    out += fmt::format("  {} {:<16} {}\n", base::format_time({e.time_us()}), e.kind(), base::printable(e.text(), 1000));
  return out;
}

/// Of a run that is not as it should be: nodes that are lost, or have not cleared up.
std::string nodes_in_the_way(const wire::Job& job) {
  const wire::Placed& placed = job.status().placed();
  const auto names = [](const auto& nodes) {
    return base::compress_hostlist(std::vector<std::string>(nodes.begin(), nodes.end()));
  };
  std::string out;
  if (!placed.unreachable().empty()) out += "Out of reach: " + names(placed.unreachable()) + ".\n";
  if (placed.waiting_for().empty()) return out;
  const bool is_over = state_of(job) == model::JobState::kCompleting;
  return out + fmt::format("Not yet {} on {}.\n", is_over ? "cleared up" : "prepared", names(placed.waiting_for()));
}

std::string placed_text(const WhyAnswer& answer) {
  const wire::Job& job = answer.why.job();
  const JobRow row{&job, {answer.why.now_us()}, &answer.label, {}};
  const std::string state(model::long_name(state_of(job)));
  std::string out;
  if (job.status().has_ended()) {
    const Time end = end_of(job);
    out = fmt::format("{} ended {}{}, exit code {}: {}.\n", named(job), state,
                      end ? " at " + base::format_time(end) : "", exit_code(job), reason_word(job));
    if (const std::string more = reason_detail(job); !more.empty()) out += base::printable(more, 2000) + "\n";
  } else {
    const Time start = start_of(job), end = end_of(job);
    out = fmt::format("{} is {}{} on {} (partition {}){}.\n", named(job), state,
                      start ? " since " + base::format_time(start) : "", node_list(job),
                      base::printable(partition_of(job)),
                      end ? ", until " + base::format_time(end) + " at the latest" : "");
    out += nodes_in_the_way(job);
    if (suspended_at(job)) out += "It is suspended " + why_suspended(job) + "\n";
    if (answer.label.job_id() != 0)
      out += fmt::format("By the quotas it is {}. Jobs of these QOS can preempt it now: {}.\n", quota_text(row.label),
                         preemptors_text(row.label));
  }
  return out + waited(job) + history(answer.shown);
}

nlohmann::ordered_json time_json(int64_t us) {
  return us == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(Time{us}.seconds());
}

nlohmann::ordered_json blockers_json(const wire::BlockerMessages& list) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const model::Blocker& b : wire::blockers_from(list))
    out.push_back({{"kind", model::name(b.kind)},
                   {"scope", model::name(b.scope)},
                   {"where", b.where},
                   {"words", model::words({b})},
                   {"help", model::help(b.kind)}});
  return out;
}

nlohmann::ordered_json outlook_json(const wire::Outlook& o) {
  return {{"when", model::name(when_of(o))},
          {"start", time_json(o.start_us())},
          {"room_at", time_json(o.room_at_us())},
          {"partition", o.partition()},
          {"nodes", o.nodes()},
          {"victims", std::vector<uint32_t>(o.victims().begin(), o.victims().end())},
          {"victims_more", o.victims_more()},
          {"waits_for_more", o.waits_for_more()},
          {"waits_for", std::vector<uint32_t>(o.waits_for().begin(), o.waits_for().end())},
          {"blockers", blockers_json(o.blockers())}};
}

}  // namespace

std::string change_words(const wire::UpdateJobRequest& change) { return words_of(said_by(change, nullptr)); }

std::string change_command(const wire::UpdateJobRequest& change, const wire::Job& job) {
  std::string out = "gcontrol update " + base::shell_quote("JobId=" + whose_change(change, job));
  for (const Said& said : said_by(change, &job))
    out += " " + base::shell_quote(base::printable(said.setting, SIZE_MAX));
  return out;
}

std::string why_text(const WhyAnswer& answer) {
  return answer.why.job().status().has_waiting() ? waiting_text(answer.why) : placed_text(answer);
}

namespace {

nlohmann::ordered_json quotas_json(const wire::WhyJobReply& why) {
  using Json = nlohmann::ordered_json;
  const auto whole = [](uint64_t milli) { return static_cast<double>(milli) / 1000; };
  if (why.quota_path().empty()) return nullptr;
  Json out = {{"asked", whole(why.quota_asked())}, {"path", Json::array()}, {"holders", Json::array()}};
  for (const wire::QuotaStep& step : why.quota_path())
    out["path"].push_back({{"qos", step.name()},
                           {"held", whole(step.held())},
                           {"guaranteed", whole(step.guaranteed())},
                           {"fair_share", whole(step.fair())},
                           {"limit", step.has_limit() ? Json(whole(step.limit())) : Json(nullptr)}});
  for (const wire::QuotaHolder& holder : why.quota_holders())
    out["holders"].push_back({{"qos", holder.name()},
                              {"beside", holder.beside()},
                              {"held", whole(holder.held())},
                              {"beyond", whole(holder.beyond())},
                              {"lent", whole(holder.lent())},
                              {"may_take", holder.may() ? Json(whole(holder.may_take())) : Json(0)},
                              {"rule", holder.rule()},
                              {"why", base::printable(holder.why(), 1000)}});
  return out;
}

}  // namespace

std::string why_json(const WhyAnswer& answer) {
  const wire::WhyJobReply& why = answer.why;
  nlohmann::ordered_json j;
  j["schema_version"] = 1;
  j["job_id"] = why.job().id();
  j["state"] = model::long_name(state_of(why.job()));
  j["reason"] = reason_word(why.job());
  j["waited_for"] = nlohmann::ordered_json::object();
  for (const auto& [cause, seconds] : waited_seconds(why.job()))
    j["waited_for"][std::string(model::name(cause))] = seconds;
  const auto range = start_range_seconds(why.job());
  j["start_range"] = range.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(range);
  j["outlook"] = why.has_outlook() ? outlook_json(why.outlook()) : nlohmann::ordered_json(nullptr);
  j["quotas"] = quotas_json(why);
  j["blockers"] = blockers_json(why.job().status().waiting().blockers());
  j["ahead"] = nlohmann::ordered_json::array();
  for (const wire::JobAhead& one : why.ahead())
    j["ahead"].push_back({{"job_id", one.id()},
                          {"rule", model::name(static_cast<model::AheadBy>(one.rule()))},
                          {"start", time_json(one.start_us())},
                          {"partition", one.partition()}});
  j["more_ahead"] = why.more_ahead();
  j["offers"] = nlohmann::ordered_json::array();
  for (const wire::JobOffer& offer : why.offers()) {
    const bool helps = !better(offer.outlook(), why.outlook()).empty();
    j["offers"].push_back({{"words", change_words(offer.change())},
                           {"command", helps ? change_command(offer.change(), why.job()) : ""},
                           {"helps", helps},
                           {"outlook", outlook_json(offer.outlook())}});
  }
  j["offers_cut"] = why.offers_cut();
  j["no_offers_because"] = why.no_offers_why();
  j["history"] = nlohmann::ordered_json::array();
  for (const wire::HistoryEvent& e : answer.shown.history())
    j["history"].push_back({{"time", time_json(e.time_us())}, {"kind", e.kind()}, {"text", e.text()}});
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
