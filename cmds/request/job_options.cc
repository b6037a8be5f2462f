// Options that say what a job is: one of each attribute (wire/job_attributes.h), read by its row or by hand.
#include "cmds/request/job_options.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "cmds/request/job_values.h"
#include "cmds/request/locality_options.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/request/slurm_options.h"
#include "cmds/shared/commands.h"
#include "model/mail.h"
#include "model/named_counts.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using client::Arg;
using client::kDirective;
using client::kRaw;
using client::Option;
using wire::attribute;
using wire::JobAttribute;
using Text = std::string_view;

constexpr int64_t kMaxPriority = UINT32_MAX, kMaxTasks = 100'000'000, kMaxCpus = 65'536;

/// How an option is read that has a value of its own form, or that feeds several fields; `option` is for errors.
struct Reader {
  const JobAttribute* attribute;
  Status (*read)(BatchOptions& o, Text option, Text value);
};

constexpr Reader kSizeReaders[] = {
    {&attribute("nodes"), [](BatchOptions& o, Text, Text v) { return set_nodes(o.spec.request, v); }},
    {&attribute("ntasks"),
     [](BatchOptions& o, Text option, Text v) -> Status {
       GW_TRY_STATUS(number(o.spec.request.tasks, option, 1, kMaxTasks)(v));
       o.spec.request.tasks_given = true;
       return {};
     }},
    {&attribute("ntasks-per-node"),
     [](BatchOptions& o, Text option, Text v) {
       return number(o.spec.request.tasks_per_node, option, 1, kMaxTasks)(v);
     }},
    {&attribute("cpus-per-task"),
     [](BatchOptions& o, Text option, Text v) {
       o.given.cpus_per_task = true;
       return number(o.spec.request.cpus_per_task, option, 1, kMaxCpus)(v);
     }},
    {&attribute("cpus-per-gpu"),
     [](BatchOptions& o, Text option, Text v) {
       o.given.cpus_per_gpu = true;
       return number(o.spec.request.cpus_per_gpu, option, 1, kMaxCpus)(v);
     }},
    {&attribute("mincpus"),
     [](BatchOptions& o, Text option, Text v) { return number(o.spec.request.min_cpus, option, 1, kMaxCpus)(v); }},
    {&attribute("tmp"),
     [](BatchOptions& o, Text option, Text v) -> Status {
       const auto size = base::parse_memory_mb(v);
       if (!size)
         return base::fail(size.error().code, std::string(option) + ": " + size.error().what, size.error().hint);
       o.spec.request.tmp_mb = *size;
       return {};
     }},
    {&attribute("contiguous"),
     [](BatchOptions& o, Text, Text) {
       o.spec.request.contiguous = true;
       return Status{};
     }},
    {&attribute("sockets-per-node"), set_sockets},
    {&attribute("cores-per-socket"),
     [](BatchOptions& o, Text option, Text v) { return number(o.spec.request.socket_cores, option, 1, kMaxCpus)(v); }},
    {&attribute("threads-per-core"), set_threads_per_core},
    {&attribute("hint"), [](BatchOptions& o, Text, Text v) { return set_hint(o, v); }},
    {&attribute("mem"), [](BatchOptions& o, Text, Text v) { return set_memory(o.spec.request, v, MemoryOf::kNode); }},
    {&attribute("mem-per-cpu"),
     [](BatchOptions& o, Text, Text v) { return set_memory(o.spec.request, v, MemoryOf::kCpu); }},
    {&attribute("mem-per-gpu"),
     [](BatchOptions& o, Text, Text v) { return set_memory(o.spec.request, v, MemoryOf::kGpu); }},
    {&attribute("gpus"), [](BatchOptions& o, Text option, Text v) { return gpus(o.gpus.total, option)(v); }},
    {&attribute("gpus-per-node"),
     [](BatchOptions& o, Text option, Text v) { return gpus(o.gpus.per_node, option)(v); }},
    {&attribute("gpus-per-task"),
     [](BatchOptions& o, Text option, Text v) { return gpus(o.gpus.per_task, option)(v); }},
    {&attribute("gres"),
     [](BatchOptions& o, Text, Text v) -> Status {
       GW_TRY(asked, parse_gres_option(v));
       if (asked.gpus || o.gpus.per_node.by_gres) o.gpus.per_node = asked.gpus.value_or(GpuSpec());
       o.spec.request.gres = std::move(asked.others);
       return {};
     }},
    {&attribute("elastic"),
     [](BatchOptions& o, Text, Text) {
       o.spec.request.elastic = true;
       return Status{};
     }},
    {&attribute("min-tasks"),
     [](BatchOptions& o, Text option, Text v) { return number(o.spec.request.min_tasks, option, 1, 1'000'000)(v); }},
};

constexpr Reader kPlaceReaders[] = {
    {&attribute("partition"),
     [](BatchOptions& o, Text option, Text v) {
       o.spec.partitions.clear();
       return lists(o.spec.partitions, option)(v);
     }},
    {&attribute("locality"), [](BatchOptions& o, Text, Text v) { return set_locality(o.spec.request, v); }},
    {&attribute("switches"), [](BatchOptions& o, Text, Text v) { return set_switches(o.spec.request, v); }},
    {&attribute("segment"),
     [](BatchOptions& o, Text option, Text v) { return number(o.spec.request.segment, option, 1, 1'000'000)(v); }},
    {&attribute("fit"), [](BatchOptions& o, Text, Text v) { return set_fit(o.spec.request, v); }},
    {&attribute("gpu-bind"),
     [](BatchOptions& o, Text, Text v) -> Status {
       GW_TRY(bind, parse_gpu_bind(v));
       o.spec.gpu_bind = bind;
       return {};
     }},
    {&attribute("gres-flags"),
     [](BatchOptions& o, Text, Text v) -> Status {
       GW_TRY(flags, parse_gres_flags(v));
       o.spec.gres_flags = flags;
       return {};
     }},
    {&attribute("licenses"),
     [](BatchOptions& o, Text, Text v) -> Status {
       if (base::trim(v).empty()) return base::invalid("--licenses: the value is empty");
       GW_TRY(licenses, model::parse_licenses(v));
       o.spec.licenses = model::format_licenses(licenses);
       return {};
     }},
    {&attribute("constraint"), [](BatchOptions& o, Text, Text v) { return set_features(o.spec, v); }},
    {&attribute("nodelist"),
     [](BatchOptions& o, Text option, Text v) { return host_list(o.spec.request.nodelist, option)(v); }},
    {&attribute("exclude"),
     [](BatchOptions& o, Text option, Text v) { return host_list(o.spec.request.exclude, option)(v); }},
    {&attribute("exclusive"), [](BatchOptions& o, Text, Text v) { return set_exclusive(o.spec, o.left_out, v); }},
};

constexpr Reader kTimeReaders[] = {
    {&attribute("time"), [](BatchOptions& o, Text, Text v) { return set_time(o.spec, v); }},
    {&attribute("time-min"), [](BatchOptions& o, Text, Text v) { return set_time_min(o.spec, v); }},
    {&attribute("deadline"), [](BatchOptions& o, Text, Text v) { return set_deadline(o.spec, v, o.now); }},
    {&attribute("begin"), [](BatchOptions& o, Text, Text v) { return set_begin(o.spec, v, o.now); }},
    {&attribute("signal"),
     [](BatchOptions& o, Text, Text v) -> Status {
       GW_TRY(warn, parse_warn_signal(v));
       o.spec.warn = warn;
       return {};
     }},
    {&attribute("dependency"), [](BatchOptions& o, Text, Text v) { return set_dependency(o.spec, v); }},
    {&attribute("kill-on-invalid-dep"),
     [](BatchOptions& o, Text option, Text v) -> Status {
       GW_TRY(kills, parse_yes_or_no(option, v));
       o.spec.kill_on_invalid_dependency = kills;
       return {};
     }},
    {&attribute("reservation"), [](BatchOptions& o, Text, Text v) { return set_reservation(o.spec, v); }},
    {&attribute("nice"), [](BatchOptions& o, Text, Text v) { return set_nice(o.spec, v); }},
    {&attribute("priority"),
     [](BatchOptions& o, Text option, Text v) -> Status {
       GW_TRY(priority, base::parse_int(v, 0, kMaxPriority, option));
       o.spec.priority = priority;
       return {};
     }},
    {&attribute("no-requeue"),
     [](BatchOptions& o, Text, Text) {
       o.spec.requeue = false;
       return Status{};
     }},
    {&attribute("on-preempt"), [](BatchOptions& o, Text, Text v) { return set_on_preempt(o.spec, v); }},
    {&attribute("preempt-signal"),
     [](BatchOptions& o, Text option, Text v) -> Status {
       GW_TRY(signo, parse_signal(v, option));
       o.spec.preempt_signo = signo;
       return {};
     }},
    {&attribute("resize-signal"),
     [](BatchOptions& o, Text option, Text v) -> Status {
       GW_TRY(signo, parse_signal(v, option));
       o.spec.resize_signo = signo;
       return {};
     }},
};

constexpr Reader kMailReaders[] = {
    {&attribute("mail-type"),
     [](BatchOptions& o, Text, Text v) -> Status {
       GW_TRY(events, model::parse_mail_events(v));
       o.spec.mail_type = events == 0 ? std::string() : model::format_mail_events(events);
       return {};
     }},
    {&attribute("mail-user"),
     [](BatchOptions& o, Text, Text v) -> Status {
       if (base::trim(v).empty()) return base::invalid("--mail-user: the value is empty");
       const auto users = model::parse_mail_users(v);
       o.spec.mail_user = users ? base::join(*users, ",") : std::string();
       o.left_out.remove("mail-user");
       // Headers are published with "<you>@example.edu" in them: no reason not to run the script.
       if (!users) o.left_out.add("mail-user", "up to 10 users or addresses of letters, digits and ._%+=@- are mailed");
       return {};
     }},
};

constexpr Reader kFileReaders[] = {
    {&attribute("output"),
     [](BatchOptions& o, Text option, Text v) { return text_of_job(o.spec.launch.std_out, option)(v); }},
    {&attribute("error"),
     [](BatchOptions& o, Text option, Text v) { return text_of_job(o.spec.launch.std_err, option)(v); }},
    {&attribute("input"),
     [](BatchOptions& o, Text option, Text v) { return text_of_job(o.spec.launch.std_in, option)(v); }},
    {&attribute("open-mode"), [](BatchOptions& o, Text, Text v) { return set_open_mode(o.spec, v); }},
    {&attribute("chdir"), [](BatchOptions& o, Text option, Text v) { return text_of_job(o.chdir, option)(v); }},
    {&attribute("export"), [](BatchOptions& o, Text option, Text v) { return text_of_job(o.export_form, option)(v); }},
};

/// Null: it is read as its row says.
const Reader* reader_by_hand(const JobAttribute& a) {
  for (std::span<const Reader> readers : {std::span<const Reader>(kSizeReaders), std::span<const Reader>(kPlaceReaders),
                                          std::span<const Reader>(kTimeReaders), std::span<const Reader>(kMailReaders),
                                          std::span<const Reader>(kFileReaders)})
    for (const Reader& r : readers)
      if (r.attribute == &a) return &r;
  return nullptr;
}

Status read_by_row(const JobAttribute& a, BatchOptions& o, Text value) {
  switch (a.kept.form) {
    case wire::Form::kText:
      if (value.empty() && !a.may_be_empty) return invalid(std::string(a.option) + ": the value is empty");
      a.kept.set(o.spec, std::string(value));
      return {};
    case wire::Form::kFlag:
      a.kept.set(o.spec, true);
      return {};
    case wire::Form::kNumber: {
      GW_TRY(number, base::parse_int(value, a.least, static_cast<int64_t>(a.most), a.option));
      a.kept.set(o.spec, number);
      return {};
    }
    case wire::Form::kLength:
    case wire::Form::kMoment:
      break;
  }
  GW_CHECK(!"times are read by hand: what zero and UNLIMITED mean differs");
}

std::string node_and_task_note(const model::Request& r) {
  return fmt::format("can't run {} processes on {} nodes, setting nnodes to {}", r.tasks, r.min_nodes, r.tasks);
}

}  // namespace

Option attribute_option(const JobAttribute& a, BatchOptions& o) {
  const Arg arg = a.value_is_optional ? Arg::kOptional : a.value.empty() ? Arg::kNone : Arg::kRequired;
  const auto flags = static_cast<uint8_t>(a.is_raw ? kDirective | kRaw : kDirective);
  Option option = {wire::option_name(a), wire::option_letter(a), arg, a.value, a.help, a.variable, flags, {}};
  if (const Reader* reader = reader_by_hand(a)) {
    option.handler = [reader, &a, &o](Text v) { return reader->read(o, a.option, v); };
  } else {
    GW_CHECK(a.kept.set != nullptr);
    option.handler = [&a, &o](Text v) { return read_by_row(a, o, v); };
  }
  return option;
}

void add_attributes(std::vector<Option>& t, BatchOptions& o, wire::Commands commands) {
  for (const JobAttribute& a : wire::kJobAttributes)
    if (a.commands == commands) t.push_back(attribute_option(a, o));
}

void add_allocation_options(std::vector<Option>& t, BatchOptions& o, base::Time now) {
  o.now = now;
  add_attributes(t, o, wire::Commands::kAsking);
}

Status end_of_source(BatchOptions& o) {
  const BatchOptions::Given given = std::exchange(o.given, {});
  if (given.cpus_per_task && given.cpus_per_gpu)
    return invalid("-c/--cpus-per-task and --cpus-per-gpu are mutually exclusive", "leave one of them out");
  o.says_cpus = o.says_cpus || given.cpus_per_task || given.cpus_per_gpu;
  if (given.cpus_per_task) o.spec.request.cpus_per_gpu = 0;
  if (given.cpus_per_gpu) o.spec.request.cpus_per_task = 1;
  return {};
}

Status complete(BatchOptions& o, std::vector<std::string>& notes) {
  model::Request& r = o.spec.request;
  GW_TRY_STATUS(end_of_source(o));
  GW_TRY_STATUS(apply_slurm_forms(o));
  r.cpus_by_gpus = !o.says_cpus;
  GW_TRY_STATUS(apply_gpus(o.gpus, r));
  if (r.nodes_given && r.tasks_given && r.tasks < r.min_nodes) {
    notes.push_back(node_and_task_note(r));
    r.min_nodes = r.max_nodes = r.tasks;
  }
  GW_TRY_STATUS(model::normalise(r));
  if (std::string text = o.left_out.text(); !text.empty()) notes.push_back(std::move(text));
  return model::check_times(o.spec, o.now);
}

}  // namespace gw::cmds
