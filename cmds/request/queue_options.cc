// See queue_options.h.
#include "cmds/request/queue_options.h"

#include "base/text.h"
#include "cmds/request/batch_script.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::Option;
using Text = std::string_view;

constexpr uint8_t kFlags = client::kDirective | client::kHidden | client::kRaw;

Option flag(Text name, bool& value) {
  return {name, 0, Arg::kNone, {}, {}, {}, kFlags, [&value](Text) {
            value = true;
            return Status{};
          }};
}

Option text(Text name, std::string& value) {
  return {name, 0, Arg::kRequired, "TEXT", {}, {}, kFlags, [&value](Text v) {
            value = v;
            return Status{};
          }};
}

Status add_variables(QueueForms& q, Text value) {
  if (value.empty()) return {};  // as programs write it that have none
  GW_TRY(entries, split_variables(value, "-v"));
  for (std::string& entry : entries) {
    if (entry.empty() || entry.front() == '=')
      return base::invalid("-v: \"" + base::printable(entry, 60) + "\" is no variable name");
    q.variables.push_back(std::move(entry));
  }
  return {};
}

Status set_at_once(QueueForms& q, Text value) {
  GW_TRY(count, base::parse_int(value, 0, 1'000'000, "-tc"));
  q.at_once = static_cast<uint32_t>(count);
  return {};
}

Status set_slots(QueueForms& q, Text value) {
  GW_TRY(count, base::parse_int(value, 1, 1'000'000, "-pe"));
  q.slots = static_cast<uint32_t>(count);
  return {};
}

Status set_memory(QueueForms& q, Text value) {
  GW_TRY(bytes, base::parse_int(value, 0, INT64_MAX, "mem"));
  q.memory_bytes = static_cast<uint64_t>(bytes);
  return {};
}

Status set_priority(QueueForms& q, Text value) {
  GW_TRY(priority, base::parse_int(value, -1024, 1024, "-p"));
  q.priority = static_cast<int>(priority);
  return {};
}

Status add_held_for(QueueForms& q, Text value) {
  for (const std::string& job : base::split(value, ','))
    if (!job.empty()) q.hold_for.push_back(job);
  return {};
}

}  // namespace

void add_queue_options(std::vector<Option>& t, BatchOptions& o) {
  QueueForms& q = o.queue;
  t.push_back(flag("queue-environment", q.has_environment));
  t.push_back(flag("queue-terse", q.is_terse));
  t.push_back(text("queue-join", q.join));
  t.push_back(text("queue-output", q.output));
  t.push_back(text("queue-error", q.error));
  t.push_back(text("queue-shell", q.shell));
  t.push_back(text("queue-arguments", q.arguments));
  t.push_back(text("queue-pe", q.environment));
  t.push_back(text("queue-hold-jid-ad", q.hold_for_array));
  // What was said of sizes before counts no more.
  t.push_back({"queue-new-size", 0, Arg::kNone, {}, {}, {}, kFlags, [&o](Text) {
                 model::Request fresh;
                 const model::Request& r = o.spec.request;
                 fresh.exclude = r.exclude;
                 fresh.gres = r.gres;
                 fresh.tmp_mb = r.tmp_mb;
                 fresh.exclusive = r.exclusive;
                 o.spec.request = fresh;
                 o.gpus = {};
                 o.queue.memory_bytes = 0;
                 return Status{};
               }});
  const auto read = [&t, &q](Text name, Status (*take)(QueueForms&, Text)) {
    t.push_back({name, 0, Arg::kRequired, "VALUE", {}, {}, kFlags, [&q, take](Text v) { return take(q, v); }});
  };
  read("queue-variables", add_variables);
  read("queue-at-once", set_at_once);
  read("queue-slots", set_slots);
  read("queue-mem", set_memory);
  read("queue-priority", set_priority);
  read("queue-hold-jid", add_held_for);
  read("queue-command", [](QueueForms& forms, Text v) {
    forms.is_command = v == "yes";
    return Status{};
  });
}

}  // namespace gw::cmds
