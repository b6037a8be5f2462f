// Figures for monitoring. See metrics.h.
#include "ctld/core/api/metrics.h"

#include <fmt/format.h>

#include <iterator>

#include "base/text.h"

namespace gw::ctld {
namespace {

/// As the format wants it: backslash, quote and newline escaped.
std::string label(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

class Text {
 public:
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(out_), "# HELP gangway_{0} {1}\n# TYPE gangway_{0} {2}\n", name, help, type);
  }
  template <typename Value>
  void value(const Value& v, std::string_view labels = "") {
    const std::string set = labels.empty() ? "" : fmt::format("{{{}}}", labels);
    fmt::format_to(std::back_inserter(out_), "gangway_{}{} {}\n", name_, set, v);
  }
  /// Of a histogram: "bucket", "sum", "count".
  template <typename Value>
  void part(std::string_view suffix, const Value& v, std::string_view labels) {
    fmt::format_to(std::back_inserter(out_), "gangway_{}_{}{{{}}} {}\n", name_, suffix, labels, v);
  }
  template <typename Value>
  void single(std::string_view name, std::string_view type, std::string_view help, const Value& v) {
    metric(name, type, help);
    value(v);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::string name_;
};

void add_fragmentation(Text& t, const Metrics& m) {
  using Line = sched::PartitionFragmentation;
  const auto each = [&](std::string_view name, std::string_view help, auto get) {
    t.metric(name, "gauge", help);
    for (const Line& line : m.fragmentation)
      if (line.figures.gpus > 0)
        t.value(get(line), fmt::format("partition=\"{}\",gpu_type=\"{}\"", label(line.partition),
                                       label(line.gpu_type.empty() ? "all" : line.gpu_type)));
  };
  each("partition_gpus", "GPUs of usable nodes.", [](const Line& l) { return double(l.figures.gpus); });
  each("partition_gpus_free", "GPUs that no job holds.", [](const Line& l) { return l.figures.free_gpus; });
  each("partition_gpus_fragmented",
       "Free GPUs that a task drawn from the recent workload is expected not to be able to use.",
       [](const Line& l) { return l.figures.fragmented_gpus; });
  each("partition_largest_gang_gpus", "GPUs of the largest gang of whole nodes that could start now.",
       [](const Line& l) { return double(l.figures.largest_gang); });
}

void add_preemptions(Text& t, const Metrics& m) {
  t.metric("preemptions_total", "counter", "Preempted runs, by the QOS that they were at.");
  for (const auto& [qos, p] : m.preemptions) t.value(p.count, fmt::format("qos=\"{}\"", label(qos)));
  t.metric("qos_lost_gpu_seconds_total", "counter",
           "Seconds of whole GPUs whose work was lost because its run was preempted.");
  for (const auto& [qos, p] : m.preemptions)
    t.value(static_cast<double>(p.lost_gpu_ms) / 1e3, fmt::format("qos=\"{}\"", label(qos)));
}

/// By the states of jobs that have ended, each from the start.
void add_ends(Text& t, const Metrics& m) {
  t.single("jobs_submitted_total", "counter", "Jobs that were submitted, each task of an array.", m.totals.submitted);
  t.single("jobs_started_total", "counter", "Runs that were placed.", m.totals.started);
  t.metric("jobs_ended_total", "counter", "Jobs that ended, by state.");
  for (size_t i = 0; i < model::kJobStateCount; ++i)
    if (const auto state = static_cast<model::JobState>(i); model::is_end(state))
      t.value(m.totals.ended[i], fmt::format("state=\"{}\"", base::to_lower(model::long_name(state))));
}

void add_quotas(Text& t, const Metrics& m) {
  const auto each = [&](std::string_view name, std::string_view help, auto get) {
    t.metric(name, "gauge", help);
    for (const QosFigures& one : m.quotas) t.value(get(one), fmt::format("qos=\"{}\"", label(one.qos)));
  };
  each("qos_jobs_running", "Jobs of a QOS and those below it that run.", [](const QosFigures& q) { return q.running; });
  each("qos_jobs_waiting", "Jobs of a QOS and those below it that wait for the scheduler.",
       [](const QosFigures& q) { return q.waiting; });
  each("qos_gpus_guaranteed", "GPUs that a QOS is guaranteed.", [](const QosFigures& q) { return q.guaranteed; });
  each("qos_gpus_held", "GPUs that jobs of a QOS and those below it hold.", [](const QosFigures& q) { return q.held; });
  each("qos_gpus_borrowed", "GPUs beyond what the QOS is guaranteed.", [](const QosFigures& q) { return q.borrowed; });
  each("qos_gpus_lent", "Guaranteed GPUs that others use.", [](const QosFigures& q) { return q.lent; });
}

/// Every cause has its series from the start.
void add_waits(Text& t, const Metrics& m) {
  t.metric("jobs_waiting", "gauge", "Jobs that wait, by what they wait for now.");
  for (size_t i = 0; i < model::kWaitCauses; ++i)
    t.value(m.waiting[i], fmt::format("cause=\"{}\"", model::name(static_cast<model::WaitCause>(i))));
  t.metric("job_wait_seconds", "histogram",
           "How long jobs that started had waited for each cause, of those that waited for it at all.");
  for (size_t i = 0; i < model::kWaitCauses; ++i) {
    const WaitFigures::Histogram& h = m.waits.by_cause()[i];
    const std::string cause = fmt::format("cause=\"{}\"", model::name(static_cast<model::WaitCause>(i)));
    uint64_t count = 0;
    for (size_t b = 0; b < WaitFigures::kBounds.size(); ++b)
      t.part("bucket", count += h.counts[b], fmt::format("{},le=\"{}\"", cause, WaitFigures::kBounds[b]));
    t.part("bucket", count += h.counts.back(), cause + ",le=\"+Inf\"");
    t.part("sum", static_cast<double>(h.sum.us) / 1e6, cause);
    t.part("count", count, cause);
  }
  t.metric("job_waited_seconds_total", "counter",
           "Seconds that jobs had waited before they started, by cause, and by the partition and QOS where they did.");
  for (const auto& [pool, waited] : m.waits.by_pool())
    for (const auto& [cause, time] : waited.parts())
      t.value(static_cast<double>(time.us) / 1e6,
              fmt::format("partition=\"{}\",qos=\"{}\",cause=\"{}\"", label(pool.first), label(pool.second),
                          model::name(cause)));
}

}  // namespace

std::string metrics_text(const Metrics& m) {
  Text t;
  t.metric("info", "gauge", "Always 1; says which version serves which cluster.");
  t.value(1, fmt::format("version=\"{}\",cluster=\"{}\"", label(m.version), label(m.cluster)));
  t.metric("jobs", "gauge", "Jobs by state; ended ones until jobs.min_job_age.");
  for (size_t i = 0; i < m.jobs.size(); ++i)
    t.value(m.jobs[i], fmt::format("state=\"{}\"", base::to_lower(model::long_name(static_cast<model::JobState>(i)))));
  t.single("queue_length", "gauge", "Jobs that wait for resources: not held, not in the future.", m.queue_length);
  t.metric("nodes", "gauge", "Nodes by state; a star says that the node does not answer.");
  for (const auto& [state, count] : m.nodes) t.value(count, fmt::format("state=\"{}\"", label(state)));
  t.single("gpus", "gauge", "GPUs of all nodes that have registered.", m.gpus);
  t.single("gpus_used", "gauge", "GPUs that jobs hold; shared ones by their parts.", m.gpus_used);
  t.single("gpus_offline", "gauge", "GPUs that were taken offline, and those of nodes that take no jobs.",
           m.gpus_offline);
  t.single("gpus_missing", "gauge", "GPUs that nodes should have by the configuration and that were not found.",
           m.gpus_missing);
  add_fragmentation(t, m);
  add_preemptions(t, m);
  add_quotas(t, m);
  add_waits(t, m);
  add_ends(t, m);
  t.single("scheduler_passes_total", "counter", "Passes of the scheduler.", m.passes);
  t.single("scheduler_steps_total", "counter", "Requests that the scheduler held against the nodes.", m.steps);
  t.single("scheduler_cut_searches_total", "counter",
           "Searches for victims that ended before every place and every set of candidates had been looked at.",
           m.cut_searches);
  t.single("scheduler_last_pass_seconds", "gauge", "How long the last pass took.",
           static_cast<double>(m.last_pass.us) / 1e6);
  t.single("store_commits_total", "counter", "Durable commits.", m.commits);
  t.single("loop_busy_seconds_total", "counter", "Time that the controller's event loop has worked, not waited.",
           static_cast<double>(m.loop_busy.us) / 1e6);
  t.single("loop_cpu_seconds_total", "counter", "Processor time of the controller's event loop.",
           static_cast<double>(m.loop_cpu.us) / 1e6);
  t.single("loop_longest_turn_seconds", "gauge",
           "Longest time that the event loop worked without looking at its sockets, in the last minute or two.",
           static_cast<double>(m.loop_longest.us) / 1e6);
  t.single("scrape_seconds", "gauge", "How long making the answer before this one took.",
           static_cast<double>(m.scrape.us) / 1e6);
  t.single("store_writable", "gauge", "1 if the state can be written.", m.is_store_writable ? 1 : 0);
  t.single("held_aside_rows", "gauge", "Stored rows that cannot be read; 0 if all is well.", m.held_aside_rows);
  t.single("unexpected_job_events_total", "counter",
           "Events that the state of their job does not allow; 0 if all is well.", m.unexpected_events);
  t.single("misfits_total", "counter", "The older name of unexpected_job_events_total.", m.unexpected_events);
  return t.take();
}

}  // namespace gw::ctld
