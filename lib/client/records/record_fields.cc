// Fields of jobs and steps. See record_fields.h; of what they used: record_use_fields.cc.
#include "client/records/record_fields.h"

#include <fmt/format.h>
#include <grp.h>

#include <algorithm>

#include "base/text.h"
#include "client/show/display.h"
#include "client/show/format.h"
#include "client/show/job_view.h"

namespace gw::client {
namespace {

using base::Duration;
using base::Time;
using Row = RecordRow;
using Style = RecordStyle;
using Text = std::string_view;

bool is_job(const Row& r) { return r.kind == RecordKind::kJob; }

std::string name_of(const Row& r) {
  switch (r.kind) {
    case RecordKind::kBatch:
      return "batch";
    case RecordKind::kExtern:
      return "extern";
    case RecordKind::kStep:
      return r.run->of_step().request().name();
    case RecordKind::kJob:
      break;
  }
  return r.job->spec().name();
}

Time started_of(const Row& r, const Style& s) { return r.started && s.from ? std::max(r.started, s.from) : r.started; }
Time ended_of(const Row& r, const Style& s) { return r.ended && s.to ? std::min(r.ended, s.to) : r.ended; }

Duration elapsed_of(const Row& r, const Style& s) {
  if (!s.from && !s.to) return r.elapsed;
  const Time end = r.ended ? ended_of(r, s) : (s.to ? s.to : r.started + r.elapsed);
  return r.started ? std::clamp(end - started_of(r, s), Duration{}, r.elapsed) : Duration{};
}

/// Processors times seconds.
Duration cpu_time_of(const Row& r, const Style& s) {
  return r.has_size ? Duration{elapsed_of(r, s).us / 1'000'000 * 1'000'000 * r.size.cpus} : Duration{};
}

/// From when it could have run until it did, or until it was given up.
Duration planned_of(const Row& r) {
  if (!is_job(r) || !r.eligible) return {};
  const Time until = r.started ? r.started : r.ended;
  return until ? std::max(until - r.eligible, Duration{}) : Duration{};
}

/// Slurm's words for a start that has not been, and for one that will not be.
std::string start_text(const Row& r, const Style& s) {
  if (!r.started) return r.ended ? "None" : "Unknown";
  return show_time(started_of(r, s), "Unknown");
}

std::string tres(const Row& r, const RecordSize& size, bool with_billing) {
  std::string out = with_billing ? fmt::format("billing={0},cpu={0}", size.cpus) : fmt::format("cpu={}", size.cpus);
  const wire::Request& asked = r.job->spec().request();
  if (size.gpus != 0 && asked.has_gpu_milli())
    out += fmt::format(",gres/shard={}", asked.gpu_milli());
  else if (size.gpus != 0)
    out += fmt::format(",gres/gpu={}", size.gpus);
  if (size.gpus != 0 && !asked.has_gpu_milli() && !asked.gpu_type().empty())
    out += fmt::format(",gres/gpu:{}={}", asked.gpu_type(), size.gpus);
  out += gres_tres(asked, size.nodes);
  if (size.mem_mb != 0) out += ",mem=" + tres_memory(size.mem_mb);
  return out + fmt::format(",node={}", size.nodes);
}

RecordSize asked_size(const Row& r) {
  return {node_count(*r.job), task_count(*r.job), cpu_count(*r.job), gpu_count(*r.job), memory_mb(*r.job)};
}

std::string limit_text(const Row& r) {
  if (!is_job(r)) return {};
  const Duration limit = time_limit(*r.job);
  return limit == base::kUnlimited ? "UNLIMITED" : base::format_duration(limit);
}

std::string group_text(const Row& r) {
  if (!is_job(r)) return {};
  const group* entry = ::getgrgid(r.job->spec().gid());
  return entry == nullptr ? std::to_string(r.job->spec().gid()) : entry->gr_name;
}

/// Why it waits, or ended; of an earlier run what ended it.
std::string reason_text(const Row& r) {
  if (!is_job(r)) return {};
  return r.run != nullptr ? r.outcome->detail() : reason_word(*r.job);
}

/// A field of jobs, empty on other lines.
void add_of_job(std::vector<RecordField>& f, std::string name, int width, std::string (*text)(const wire::Job&)) {
  f.push_back({std::move(name), width,
               [text](const Row& r, const Style&) { return is_job(r) ? text(*r.job) : std::string(); }});
}

void add_who(std::vector<RecordField>& f) {
  f.push_back({"Account", 10, [](const Row& r, const Style&) { return r.job->spec().account(); }});
  f.push_back({"AssocID", 7, [](const Row&, const Style&) { return std::string("0"); }});
  f.push_back({"Cluster", 10, [](const Row&, const Style& s) { return s.cluster; }});
  f.push_back({"Group", 9, [](const Row& r, const Style&) { return group_text(r); }});
  add_of_job(f, "GID", 6, [](const wire::Job& j) { return std::to_string(j.spec().gid()); });
  add_of_job(f, "UID", 6, [](const wire::Job& j) { return std::to_string(j.spec().uid()); });
  add_of_job(f, "User", 9, [](const wire::Job& j) { return j.spec().user(); });
  add_of_job(f, "QOS", 10, [](const wire::Job& j) { return j.spec().qos(); });
  add_of_job(f, "QOSRAW", 10, [](const wire::Job& j) { return j.spec().qos(); });
  add_of_job(f, "WCKey", 10, [](const wire::Job& j) { return j.spec().wckey(); });
  add_of_job(f, "Licenses", 10, [](const wire::Job& j) { return j.spec().licenses(); });
  add_of_job(f, "WorkDir", 20, [](const wire::Job& j) { return j.spec().launch().work_dir(); });
  add_of_job(f, "SubmitLine", 20, [](const wire::Job& j) { return j.spec().submit_line(); });
  add_of_job(f, "Comment", 14, [](const wire::Job& j) { return j.spec().comment(); });
  add_of_job(f, "AdminComment", 19, [](const wire::Job& j) { return j.spec().admin_comment(); });
  add_of_job(f, "SystemComment", 19, [](const wire::Job& j) { return j.spec().system_comment(); });
  add_of_job(f, "Extra", 20, [](const wire::Job& j) { return j.spec().extra(); });
  add_of_job(f, "Reservation", 20, [](const wire::Job& j) { return j.spec().reservation(); });
  add_of_job(f, "Constraints", 19, [](const wire::Job& j) { return features_of(j); });
  add_of_job(f, "Priority", 10, [](const wire::Job& j) { return std::to_string(priority_of(j)); });
}

void add_identity(std::vector<RecordField>& f) {
  f.push_back({"JobID", -12, [](const Row& r, const Style&) { return r.id; }});
  f.push_back({"JobIDRaw", -12, [](const Row& r, const Style&) { return r.raw_id; }});
  f.push_back({"JobName", 10, [](const Row& r, const Style&) { return name_of(r); }});
  f.push_back({"Partition", 10, [](const Row& r, const Style&) { return is_job(r) ? r.partition : std::string(); }});
  f.push_back({"NodeList", 15, [](const Row& r, const Style&) { return r.nodes.empty() ? "None assigned" : r.nodes; }});
  f.push_back({"State", 10, [](const Row& r, const Style&) { return r.state; }});
  f.push_back({"ExitCode", 8, [](const Row& r, const Style&) { return r.exit.text(); }});
  f.push_back({"DerivedExitCode", 15,
               [](const Row& r, const Style&) { return is_job(r) ? r.derived_exit.text() : std::string(); }});
  f.push_back({"Reason", 22, [](const Row& r, const Style&) { return reason_text(r); }});
  f.push_back({"FailedNode", 15, [](const Row&, const Style&) { return std::string(); }});
  f.push_back({"Flags", 20,
               [](const Row& r, const Style&) { return std::string(is_job(r) && r.started ? "SchedBackfill" : ""); }});
  // What Gangway has none of: empty, as sacct leaves it where there is none.
  for (const auto& [name, width] : {std::pair{"Container", 20},
                                    {"McsLabel", 9},
                                    {"Layout", 9},
                                    {"DBIndex", 10},
                                    {"BlockID", 16},
                                    {"ReservationId", 15},
                                    {"WCKeyID", 10}})
    f.push_back({name, width, [](const Row&, const Style&) { return std::string(); }});
}

void add_times(std::vector<RecordField>& f) {
  f.push_back({"Submit", 19, [](const Row& r, const Style&) {
                 return show_time(is_job(r) ? Time{r.job->status().submitted_us()} : r.started, "Unknown");
               }});
  f.push_back({"Eligible", 19, [](const Row& r, const Style&) {
                 return is_job(r) ? show_time(r.eligible, "Unknown") : std::string();
               }});
  f.push_back({"Start", 19, start_text});
  f.push_back({"End", 19, [](const Row& r, const Style& s) { return show_time(ended_of(r, s), "Unknown"); }});
  f.push_back({"Elapsed", 10, [](const Row& r, const Style& s) { return base::format_duration(elapsed_of(r, s)); }});
  f.push_back(
      {"ElapsedRaw", 10, [](const Row& r, const Style& s) { return std::to_string(elapsed_of(r, s).us / 1'000'000); }});
  f.push_back({"Suspended", 10, [](const Row& r, const Style&) { return base::format_duration(r.suspended); }});
  f.push_back({"CPUTime", 10, [](const Row& r, const Style& s) { return base::format_duration(cpu_time_of(r, s)); }});
  f.push_back({"CPUTimeRAW", 10,
               [](const Row& r, const Style& s) { return std::to_string(cpu_time_of(r, s).us / 1'000'000); }});
  f.push_back({"Timelimit", 10, [](const Row& r, const Style&) { return limit_text(r); }});
  f.push_back({"TimelimitRaw", 12, [](const Row& r, const Style&) {
                 const std::string text = limit_text(r);
                 return text.empty() || text == "UNLIMITED" ? text : std::to_string(time_limit(*r.job).us / 60'000'000);
               }});
  for (const char* name : {"Planned", "Reserved"})
    f.push_back({name, 10, [](const Row& r, const Style&) {
                   return is_job(r) ? base::format_duration(planned_of(r)) : std::string();
                 }});
  f.push_back({"WaitedFor", 40, [](const Row& r, const Style&) {
                 return is_job(r) && r.run == nullptr ? waited_text(*r.job) : std::string();
               }});
  f.push_back({"PlannedCPU", 10, [](const Row& r, const Style&) {
                 const Duration all{planned_of(r).us * cpu_count(*r.job)};
                 return is_job(r) ? base::format_duration(all) : std::string();
               }});
  f.push_back({"PlannedCPURAW", 13, [](const Row& r, const Style&) {
                 return is_job(r) ? std::to_string(planned_of(r).us / 1'000'000 * cpu_count(*r.job)) : std::string();
               }});
}

void add_sizes(std::vector<RecordField>& f) {
  const auto number = [&f](const char* name, int width, uint32_t RecordSize::*part, bool is_held_alone) {
    f.push_back({name, width, [=](const Row& r, const Style&) {
                   return std::to_string(is_held_alone && !r.has_size ? 0 : r.size.*part);
                 }});
  };
  number("AllocCPUS", 10, &RecordSize::cpus, true);
  number("NCPUS", 10, &RecordSize::cpus, false);
  number("AllocNodes", 10, &RecordSize::nodes, true);
  number("NNodes", 8, &RecordSize::nodes, false);
  f.push_back({"NTasks", 8,
               [](const Row& r, const Style&) { return is_job(r) ? std::string() : std::to_string(r.size.tasks); }});
  f.push_back({"ReqCPUS", 8, [](const Row& r, const Style&) {
                 return std::to_string(is_job(r) ? asked_size(r).cpus : r.size.cpus);
               }});
  f.push_back({"ReqNodes", 8, [](const Row& r, const Style&) {
                 return std::to_string(is_job(r) ? asked_size(r).nodes : r.size.nodes);
               }});
  f.push_back({"ReqMem", 10, [](const Row& r, const Style& s) {
                 const uint64_t mb = is_job(r) ? asked_size(r).mem_mb : 0;
                 return mb == 0 ? std::string(is_job(r) ? "0" : "") : memory_text(mb << 20, s.unit);
               }});
  f.push_back({"AllocTRES", 10,
               [](const Row& r, const Style&) { return r.has_size ? tres(r, r.size, is_job(r)) : std::string(); }});
  f.push_back({"ReqTRES", 10,
               [](const Row& r, const Style&) { return is_job(r) ? tres(r, asked_size(r), true) : std::string(); }});
}

std::vector<RecordField> make_fields() {
  std::vector<RecordField> f;
  add_identity(f);
  add_who(f);
  add_times(f);
  add_sizes(f);
  add_use_fields(f);
  std::sort(f.begin(), f.end(),
            [](const RecordField& a, const RecordField& b) { return base::to_lower(a.name) < base::to_lower(b.name); });
  return f;
}

/// As sacct cuts: the last character becomes a plus, but in headers.
std::string cell(std::string text, int width, bool is_header) {
  const size_t wide = static_cast<size_t>(std::abs(width)), shown = display_width(text);
  if (shown > wide) {
    Column column;
    column.width = static_cast<uint32_t>(is_header ? wide : wide - 1);
    std::string cut;
    append_cell(cut, column, text);
    return is_header ? cut : cut + "+";
  }
  const std::string gap(wide - shown, ' ');
  return width < 0 ? text + gap : gap + text;
}

}  // namespace

const std::vector<RecordField>& record_fields() {
  static const std::vector<RecordField> all = make_fields();
  return all;
}

base::Result<std::vector<ChosenRecordField>> parse_record_format(Text text) {
  constexpr int64_t kWidest = 9999;
  const auto& fields = record_fields();
  std::vector<ChosenRecordField> chosen;
  for (const std::string& part : base::split(text, ',')) {
    const size_t percent = part.find('%');
    const std::string name(base::trim(Text(part).substr(0, percent)));
    if (name.empty() && percent == std::string::npos) continue;
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const RecordField& f) { return base::iequals(f.name, name); });
    if (found == fields.end()) {
      std::vector<std::string> names;
      for (const RecordField& f : fields) names.push_back(f.name);
      return base::invalid("Invalid field requested: \"" + base::printable(name, 60) + "\"",
                           base::did_you_mean(name, names));
    }
    ChosenRecordField field{static_cast<size_t>(found - fields.begin()), found->width};
    if (percent != std::string::npos) {
      GW_TRY(width, base::parse_int(Text(part).substr(percent + 1), -kWidest, kWidest, "a field's width"));
      if (width != 0) field.width = static_cast<int>(width);
    }
    chosen.push_back(field);
  }
  if (chosen.empty()) return base::invalid("no field is requested", "--helpformat lists them");
  return chosen;
}

std::string record_field_names() {
  std::string text;
  const auto& fields = record_fields();
  for (size_t i = 0; i < fields.size(); ++i)
    text += fmt::format("{:<19}{}", fields[i].name, i % 4 == 3 || i + 1 == fields.size() ? "\n" : " ");
  return text;
}

std::string record_text(const std::vector<RecordRow>& rows, const std::vector<ChosenRecordField>& chosen,
                        const RecordTable& table, const RecordStyle& style) {
  const bool is_table = table.delimiter.empty();
  std::string out;
  const auto line = [&](bool is_header, const auto& text_of) {
    for (size_t i = 0; i < chosen.size(); ++i) {
      const std::string text = text_of(record_fields()[chosen[i].field], chosen[i].width);
      out += is_table ? cell(text, chosen[i].width, is_header) + " " : (i > 0 ? table.delimiter : "") + text;
    }
    if (table.ends_with_it) out += table.delimiter;
    out += '\n';
  };
  if (!table.no_header) line(true, [](const RecordField& f, int) { return f.name; });
  if (!table.no_header && is_table)
    line(true, [](const RecordField&, int width) { return std::string(static_cast<size_t>(std::abs(width)), '-'); });
  for (const RecordRow& row : rows)
    line(false, [&](const RecordField& f, int) { return base::printable(f.text(row, style), SIZE_MAX); });
  return out;
}

std::string memory_text(uint64_t bytes, char unit) {
  constexpr Text kUnits = "BKMGTPE";
  if (unit == 'B') return std::to_string(bytes);
  if (unit != 0) {
    double value = static_cast<double>(bytes);
    for (size_t i = kUnits.find(unit); i > 0; --i) value /= 1024;
    const std::string text = fmt::format("{:.2f}", value);
    return (text.ends_with(".00") ? text.substr(0, text.size() - 3) : text) + unit;
  }
  size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power + 1 < kUnits.size()) bytes /= 1024, ++power;
  return power == 0 ? std::to_string(bytes) : std::to_string(bytes) + kUnits[power];
}

std::string cpu_time_text(uint64_t us) {
  const uint64_t s = us / 1'000'000;
  if (s < 3600) return fmt::format("{:02}:{:02}.{:03}", s / 60, s % 60, us / 1000 % 1000);
  return base::format_duration(base::Duration{static_cast<int64_t>(s * 1'000'000)});
}

}  // namespace gw::client
