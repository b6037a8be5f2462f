// qselect of PBS Pro and Torque: ids of jobs that pass all filters.
#include <algorithm>

#include "base/text.h"
#include "cmds/pbs/commands.h"
#include "cmds/pbs/job_record.h"
#include "cmds/pbs/words.h"

namespace gw::cmds::pbs {
namespace {

using queue::Caller;
using queue::Row;

constexpr std::string_view kSelectUsage =
    "qselect [-u USER,...] [-q QUEUE] [-s STATES] [-N NAME] [-A ACCOUNT] [-P PROJECT] [-h HOLDS] [-l RESOURCE.OP.VALUE,"
    "...] [-t] [-x]";

/// ".gt." and the like between two numbers.
using Compare = bool (*)(int64_t, int64_t);
constexpr std::pair<std::string_view, Compare> kOperators[] = {
    {"eq", [](int64_t a, int64_t b) { return a == b; }}, {"ne", [](int64_t a, int64_t b) { return a != b; }},
    {"gt", [](int64_t a, int64_t b) { return a > b; }},  {"ge", [](int64_t a, int64_t b) { return a >= b; }},
    {"lt", [](int64_t a, int64_t b) { return a < b; }},  {"le", [](int64_t a, int64_t b) { return a <= b; }}};

struct Condition {
  int64_t (*value_of)(const wire::Job&) = nullptr;
  Compare compare = nullptr;
  int64_t bound = 0;
};

struct SelectOptions {
  queue::Asked asked;
  std::string states, holds, project;
  std::vector<Condition> conditions;
};

base::Result<int64_t> bound_of(const std::string& resource, const std::string& text) {
  if (resource == "walltime") {
    GW_TRY(length, base::parse_duration(text.find(':') == std::string::npos ? text + "s" : text));
    return length.seconds();
  }
  if (resource != "mem") return base::parse_int(text, 0, INT64_MAX, "-l " + resource);
  std::string size = base::to_lower(text);
  if (size.ends_with('b')) size.pop_back();
  GW_TRY(mb, base::parse_memory_mb(size));
  return static_cast<int64_t>(mb);
}

/// RESOURCE.OP.VALUE, or RESOURCE=VALUE
base::Result<Condition> read_condition(const std::string& text) {
  std::vector<std::string> parts = base::split(text, '.');
  if (parts.size() == 1 && text.find('=') != std::string::npos)
    parts = {text.substr(0, text.find('=')), "eq", text.substr(text.find('=') + 1)};
  Condition c;
  for (const auto& [name, compare] : kOperators)
    if (parts.size() == 3 && parts[1] == name) c.compare = compare;
  if (c.compare == nullptr)
    return base::invalid("-l: \"" + base::printable(text, 60) + "\" is not RESOURCE.OP.VALUE",
                         "OP is one of eq, ne, gt, ge, lt, le");
  if (parts[0] == "walltime") c.value_of = [](const wire::Job& j) { return client::time_limit(j).seconds(); };
  if (parts[0] == "ncpus") c.value_of = [](const wire::Job& j) -> int64_t { return client::cpu_count(j); };
  if (parts[0] == "ngpus") c.value_of = [](const wire::Job& j) -> int64_t { return client::gpu_count(j); };
  if (parts[0] == "nodect" || parts[0] == "nodes")
    c.value_of = [](const wire::Job& j) -> int64_t { return client::node_count(j); };
  if (parts[0] == "mem") c.value_of = [](const wire::Job& j) { return static_cast<int64_t>(client::memory_mb(j)); };
  if (c.value_of == nullptr)
    return base::invalid("-l: resource \"" + base::printable(parts[0], 40) + "\" is not known",
                         "walltime, ncpus, ngpus, nodect and mem are");
  GW_TRY(bound, bound_of(parts[0], parts[2]));
  c.bound = bound;
  return c;
}

void add_users(std::vector<std::string>& users, const std::string& value) {
  for (const std::string& user : base::split(value, ',')) users.push_back(user.substr(0, user.find('@')));
}

base::Status take_select(SelectOptions& o, char letter, const std::string& value) {
  switch (letter) {
    case 'u':
      add_users(o.asked.users, value);
      return {};
    case 'q':
      if (const std::string name = value.substr(0, value.find('@')); !name.empty()) o.asked.queues.push_back(name);
      return {};
    case 'N':
      o.asked.names.push_back(value);
      return {};
    case 'A':
      o.asked.accounts.push_back(value);
      return {};
    case 'P':
      o.project = value;
      return {};
    case 's':
      o.states = value;
      if (value.find_first_not_of("BCEFHMQRSTUWX") == std::string::npos) return {};
      return base::invalid("illegal -s value \"" + base::printable(value, 20) + "\"", "letters of BCEFHQRSTUWX");
    case 'h':
      o.holds = value;
      return {};
    case 't':
    case 'T':
      o.asked.arrays = queue::ArrayRows::kEach;
      return {};
    case 'x':
    case 'H':
      o.asked.with_ended = true;
      return {};
    case 'l':
      for (const std::string& part : base::split(value, ',')) {
        GW_TRY(condition, read_condition(part));
        o.conditions.push_back(condition);
      }
      return {};
    default:
      return {};
  }
}

bool is_selected(const Caller& caller, const SelectOptions& o, const Row& row) {
  const wire::Job& job = *row.row.job;
  const char letter = state_letter(row, caller.system);
  const bool has_ended = row.doing == queue::Doing::kHasEnded;
  const bool names_ended = o.states.find_first_of("FXC") != std::string::npos;
  if (has_ended && !o.asked.with_ended && !(caller.is_torque() && names_ended)) return false;
  if (!o.states.empty() && o.states.find(letter) == std::string::npos) return false;
  if (!o.project.empty() && job.spec().wckey() != o.project) return false;
  const std::string holds = queue::holds_of(job);
  if (!o.holds.empty() && holds.find_first_of(o.holds) == std::string::npos) return false;
  return std::all_of(o.conditions.begin(), o.conditions.end(),
                     [&](const Condition& c) { return c.compare(c.value_of(job), c.bound); });
}

}  // namespace

int run_qselect(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kSelectUsage)) return *code;
  SelectOptions o;
  auto words = read_letters(args, "u:q:N:A:P:s:h:tTxHl:a:c:r:p:J",
                            [&](char letter, const std::string& value) { return take_select(o, letter, value); });
  if (!words) return refuse_usage(caller, words.error(), kSelectUsage);
  if (!words->empty())
    return refuse_usage(caller, base::invalid("unexpected word " + base::printable(words->front(), 60)).value(),
                        kSelectUsage);
  o.asked.only_living = !o.asked.with_ended && (!caller.is_torque() || o.states.empty());
  auto jobs = queue::Jobs::find(caller.program, o.asked);
  if (!jobs) return refuse(caller, jobs.error());
  std::string out;
  for (const Row& row : jobs->rows())
    if (is_selected(caller, o, row)) out += jobs->id_of(row) + "\n";
  return printed(out);
}

}  // namespace gw::cmds::pbs
