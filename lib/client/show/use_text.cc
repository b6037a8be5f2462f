// Fields of what steps use.
#include "client/show/use_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/display.h"
#include "client/show/show_json.h"

namespace gw::client {
namespace {

using Part = UseRow::Part;
using Value = uint64_t (*)(const Part&);
using Json = nlohmann::ordered_json;

uint64_t cpu(const Part& p) { return static_cast<uint64_t>(std::max<int64_t>(p.cpu_us, 0)); }
uint64_t rss(const Part& p) { return p.rss; }
uint64_t peak_rss(const Part& p) { return p.peak_rss; }
uint64_t vm(const Part& p) { return p.vm; }
uint64_t peak_vm(const Part& p) { return p.peak_vm; }
uint64_t read_bytes(const Part& p) { return p.read; }
uint64_t written_bytes(const Part& p) { return p.written; }
uint64_t pages(const Part& p) { return p.pages; }

std::string size_text(uint64_t bytes) { return fmt::format("{}K", bytes / 1024); }

std::string count_text(uint64_t n) { return std::to_string(n); }

std::string time_text(uint64_t us) {
  const uint64_t s = us / 1'000'000, days = s / 86400;
  return fmt::format("{}{:02}:{:02}:{:02}", days > 0 ? fmt::format("{}-", days) : "", s / 3600 % 24, s / 60 % 60,
                     s % 60);
}

const Part* most(const UseRow& row, Value value) {
  const auto found = std::max_element(row.parts.begin(), row.parts.end(),
                                      [=](const Part& a, const Part& b) { return value(a) < value(b); });
  return found == row.parts.end() ? nullptr : &*found;
}
const Part* least(const UseRow& row, Value value) {
  const auto found = std::min_element(row.parts.begin(), row.parts.end(),
                                      [=](const Part& a, const Part& b) { return value(a) < value(b); });
  return found == row.parts.end() ? nullptr : &*found;
}
uint64_t total(const UseRow& row, Value value) {
  uint64_t sum = 0;
  for (const Part& part : row.parts) sum += value(part);
  return sum;
}
uint64_t average(const UseRow& row, Value value) {
  return row.parts.empty() ? 0 : total(row, value) / row.parts.size();
}

std::vector<const wire::GpuUsage*> gpus_of(const UseRow& row) {
  std::vector<const wire::GpuUsage*> gpus;
  for (const wire::NodeUsage& node : row.step->nodes())
    for (const wire::GpuUsage& gpu : node.gpus()) gpus.push_back(&gpu);
  return gpus;
}

std::string gpu_util(const UseRow& row) {
  const auto gpus = gpus_of(row);
  uint64_t sum = 0;
  for (const wire::GpuUsage* gpu : gpus) sum += gpu->busy_percent();
  return gpus.empty() ? "" : fmt::format("{}%", sum / gpus.size());
}

std::string gpu_mem(const UseRow& row) {
  const auto gpus = gpus_of(row);
  uint64_t sum = 0;
  for (const wire::GpuUsage* gpu : gpus) sum += gpu->mem();
  return gpus.empty() ? "" : fmt::format("{}M", sum >> 20);
}

struct UseField {
  std::string name;
  std::function<std::string(const UseRow&)> text;
};

/// The value, and where it is.
void add_extreme(std::vector<UseField>& fields, const std::string& name, Value value, std::string (*text)(uint64_t),
                 const Part* (*pick)(const UseRow&, Value)) {
  const auto of = [=](auto show) {
    return [=](const UseRow& row) {
      const Part* part = pick(row, value);
      return part == nullptr ? std::string() : show(*part);
    };
  };
  fields.push_back({name, of([=](const Part& p) { return text(value(p)); })});
  fields.push_back({name + "Node", of([](const Part& p) { return p.node; })});
  fields.push_back({name + "Task", of([](const Part& p) { return std::to_string(p.rank); })});
}

void add_average(std::vector<UseField>& fields, const std::string& name, Value value, std::string (*text)(uint64_t)) {
  fields.push_back(
      {name, [=](const UseRow& row) { return row.parts.empty() ? std::string() : text(average(row, value)); }});
}

/// Of what TRESUsageIn... and TRESUsageOut... are made.
struct Tres {
  const char* name;
  Value value, most;  // now, and at the highest
  std::string (*text)(uint64_t);
};
constexpr Tres kIn[] = {{"cpu", cpu, cpu, time_text},
                        {"fs/disk", read_bytes, read_bytes, count_text},
                        {"mem", rss, peak_rss, size_text},
                        {"pages", pages, pages, count_text},
                        {"vmem", vm, peak_vm, size_text}};
constexpr Tres kOut[] = {{"fs/disk", written_bytes, written_bytes, count_text}};

/// "cpu=00:00:01,fs/disk=4096,mem=1024K,pages=0,vmem=2048K"
template <typename Show>
std::string tres_text(const UseRow& row, bool is_in, const Show& show) {
  std::string out;
  if (row.parts.empty()) return out;
  for (const Tres& tres : is_in ? std::span<const Tres>(kIn) : std::span<const Tres>(kOut))
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", tres.name, show(tres));
  return out;
}

void add_tres(std::vector<UseField>& f) {
  for (const bool is_in : {true, false}) {
    const auto add = [&](const char* suffix, auto show) {
      f.push_back({(is_in ? "TRESUsageIn" : "TRESUsageOut") + std::string(suffix), [=](const UseRow& row) {
                     return tres_text(row, is_in, [&](const Tres& tres) { return show(row, tres); });
                   }});
    };
    const auto rank = [](const Part* part) { return std::to_string(part->rank); };
    add("Ave", [](const UseRow& row, const Tres& t) { return t.text(average(row, t.value)); });
    add("Max", [](const UseRow& row, const Tres& t) { return t.text(t.most(*most(row, t.most))); });
    add("MaxNode", [](const UseRow& row, const Tres& t) { return most(row, t.most)->node; });
    add("MaxTask", [=](const UseRow& row, const Tres& t) { return rank(most(row, t.most)); });
    add("Min", [](const UseRow& row, const Tres& t) { return t.text(t.value(*least(row, t.value))); });
    add("MinNode", [](const UseRow& row, const Tres& t) { return least(row, t.value)->node; });
    add("MinTask", [=](const UseRow& row, const Tres& t) { return rank(least(row, t.value)); });
    add("Tot", [](const UseRow& row, const Tres& t) { return t.text(total(row, t.value)); });
  }
}

std::vector<UseField> make_fields() {
  std::vector<UseField> f;
  f.push_back({"JobID", [](const UseRow& row) { return row.id; }});
  f.push_back({"NTasks", [](const UseRow& row) { return std::to_string(row.parts.size()); }});
  f.push_back({"Nodelist", [](const UseRow& row) { return base::compress_hostlist(row.nodes); }});
  add_average(f, "AveCPU", cpu, time_text);
  add_extreme(f, "MinCPU", cpu, time_text, least);
  add_average(f, "AveRSS", rss, size_text);
  add_extreme(f, "MaxRSS", peak_rss, size_text, most);
  add_average(f, "AveVMSize", vm, size_text);
  add_extreme(f, "MaxVMSize", peak_vm, size_text, most);
  add_average(f, "AveDiskRead", read_bytes, size_text);
  add_extreme(f, "MaxDiskRead", read_bytes, size_text, most);
  add_average(f, "AveDiskWrite", written_bytes, size_text);
  add_extreme(f, "MaxDiskWrite", written_bytes, size_text, most);
  add_average(f, "AvePages", pages, count_text);
  add_extreme(f, "MaxPages", pages, count_text, most);
  f.push_back({"TotalCPU", [](const UseRow& row) { return time_text(total(row, cpu)); }});
  f.push_back({"TotalRSS", [](const UseRow& row) { return size_text(total(row, rss)); }});
  f.push_back({"GPUUtil", gpu_util});
  f.push_back({"GPUMem", gpu_mem});
  add_tres(f);
  // Nothing measures frequencies and energy.
  for (const char* name : {"AveCPUFreq", "ReqCPUFreq", "ReqCPUFreqMin", "ReqCPUFreqMax", "ReqCPUFreqGov",
                           "ConsumedEnergy", "ConsumedEnergyRaw"})
    f.push_back({name, [](const UseRow&) { return std::string(); }});
  return f;
}

const std::vector<UseField>& fields() {
  static const std::vector<UseField> all = make_fields();
  return all;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::vector<Part> parts_of(const std::string& node, const wire::NodeUsage& usage) {
  std::vector<Part> parts;
  for (const wire::TaskUsage& t : usage.tasks())
    parts.push_back(
        {node, t.rank(), t.cpu_us(), t.rss(), t.peak_rss(), t.vm(), t.peak_vm(), t.read(), t.written(), t.pages()});
  if (parts.empty() && usage.problem().empty())
    parts.push_back({node, 0, usage.cpu_us(), usage.mem(), usage.peak_mem(), 0, 0, 0, 0, 0});
  return parts;
}

void append(std::string& line, const std::string& text, int width) {
  const size_t wide = static_cast<size_t>(std::abs(width)), shown = display_width(text);
  const std::string gap(wide - std::min(wide, shown), ' ');
  line += width < 0 ? text + gap : gap + text;
}

Json task_object(const wire::TaskUsage& t) {
  return {{"task", t.rank()},       {"pid", t.pid()},           {"processes", t.processes()},
          {"cpu_us", t.cpu_us()},   {"rss", t.rss()},           {"peak_rss", t.peak_rss()},
          {"vm", t.vm()},           {"peak_vm", t.peak_vm()},   {"read", t.read()},
          {"written", t.written()}, {"major_faults", t.pages()}};
}

Json node_object(const wire::NodeUsage& n) {
  Json j{{"node", n.node()}, {"cpu_us", n.cpu_us()}, {"rss", n.mem()}, {"peak", n.peak_mem()}};
  j["tasks"] = Json::array();
  for (const wire::TaskUsage& t : n.tasks()) j["tasks"].push_back(task_object(t));
  j["gpus"] = Json::array();
  for (const wire::GpuUsage& g : n.gpus())
    j["gpus"].push_back({{"index", g.index()}, {"busy_percent", g.busy_percent()}, {"memory", g.mem()}});
  if (!n.problem().empty()) j["problem"] = n.problem();
  return j;
}

}  // namespace

std::vector<UseRow> use_rows(uint32_t job, const wire::StepUsageReply& reply) {
  std::vector<UseRow> rows;
  for (const wire::StepUsage& step : reply.steps()) {
    UseRow& row = rows.emplace_back();
    const std::string own = step.has_script() ? "batch" : "extern";
    row.id = fmt::format("{}.{}", job, step.step() == 0 ? own : std::to_string(step.step() - 1));
    row.step = &step;
    for (const wire::NodeUsage& node : step.nodes()) {
      row.nodes.push_back(node.node());
      for (Part& part : parts_of(node.node(), node)) row.parts.push_back(std::move(part));
    }
    row.nodes.insert(row.nodes.end(), step.silent().begin(), step.silent().end());
    base::sort_hostlist(row.nodes);  // they come as they answer
  }
  return rows;
}

base::Result<std::vector<ChosenField>> parse_use_format(std::string_view text) {
  constexpr int64_t kWidest = 9999;
  std::vector<ChosenField> chosen;
  for (const std::string& part : base::split(text, ',')) {
    const size_t percent = part.find('%');
    const std::string name = lower(part.substr(0, percent));
    const auto found =
        std::find_if(fields().begin(), fields().end(), [&](const UseField& f) { return lower(f.name) == name; });
    if (found == fields().end()) {
      std::vector<std::string> names;
      for (const UseField& f : fields()) names.push_back(f.name);
      return base::invalid("Invalid field requested: \"" + base::printable(part, 60) + "\"",
                           base::did_you_mean(part.substr(0, percent), names));
    }
    ChosenField field{static_cast<size_t>(found - fields().begin()), 0};
    if (percent != std::string::npos) {
      GW_TRY(width, base::parse_int(std::string_view(part).substr(percent + 1), -kWidest, kWidest, "a field's width"));
      field.width = static_cast<int>(width);
    }
    chosen.push_back(field);
  }
  return chosen;
}

std::string use_field_names() {
  std::string text;
  for (size_t i = 0; i < fields().size(); ++i)
    text += fmt::format("{:<16}{}", fields()[i].name, i % 4 == 3 || i + 1 == fields().size() ? "\n" : "");
  return text;
}

std::string use_text(const std::vector<UseRow>& rows, const std::vector<ChosenField>& chosen, const UseStyle& style) {
  std::vector<std::vector<std::string>> lines;
  if (!style.no_header)
    for (auto* line = &lines.emplace_back(); const ChosenField& c : chosen) line->push_back(fields()[c.field].name);
  for (const UseRow& row : rows)
    for (auto* line = &lines.emplace_back(); const ChosenField& c : chosen)
      line->push_back(base::printable(fields()[c.field].text(row), SIZE_MAX));
  std::vector<int> widths;
  for (size_t i = 0; i < chosen.size(); ++i) {
    size_t widest = 0;
    for (const auto& line : lines) widest = std::max(widest, display_width(line[i]));
    widths.push_back(chosen[i].width != 0 ? chosen[i].width : static_cast<int>(widest));
  }
  std::string out;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (i > 0) out += style.bars ? "|" : " ";
      style.bars ? void(out += line[i]) : append(out, line[i], i == 0 && chosen[i].width == 0 ? -widths[i] : widths[i]);
    }
    out += style.bar_last ? "|\n" : "\n";
  }
  return out;
}

std::string use_json(const std::vector<UseRow>& rows, int64_t now_us) {
  Json j{{"schema_version", kSchemaVersion}, {"steps", Json::array()}};
  for (const UseRow& row : rows) {
    Json step{{"step_id", row.id}, {"nodes", Json::array()}, {"silent", Json::array()}};
    for (const wire::NodeUsage& node : row.step->nodes()) step["nodes"].push_back(node_object(node));
    for (const std::string& node : row.step->silent()) step["silent"].push_back(node);
    j["steps"].push_back(std::move(step));
  }
  j["last_update"] = now_us / 1'000'000;
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
