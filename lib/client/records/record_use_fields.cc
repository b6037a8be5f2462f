// Fields of what scripts and steps used. See record_fields.h.
#include <fmt/format.h>

#include <algorithm>

#include "client/records/record_fields.h"

namespace gw::client {
namespace {

using model::RunUse;
using model::UseKind;
using model::UseSpread;
using Row = RecordRow;
using Style = RecordStyle;

std::string time_text(uint64_t us, char) {
  return base::format_duration(base::Duration{static_cast<int64_t>(us / 1'000'000 * 1'000'000)});
}
std::string count_text(uint64_t count, char) { return std::to_string(count); }

using ToText = std::string (*)(uint64_t, char);

/// The part of a line's use that is of its tasks; null: there is none.
const UseSpread* spread_of(const Row& r, UseKind kind) {
  return r.use == nullptr || r.use->tasks == 0 ? nullptr : &r.use->of(kind);
}
uint64_t average(const Row& r, UseKind kind) { return r.use->of(kind).sum / r.use->tasks; }
/// The node of an extreme; a run on one node names it nowhere.
std::string node_of(const Row& r, const std::string& named) { return named.empty() ? r.nodes : named; }

void add_average(std::vector<RecordField>& f, const char* name, int width, UseKind kind, ToText text) {
  f.push_back({name, width, [=](const Row& r, const Style& s) {
                 return spread_of(r, kind) == nullptr ? std::string() : text(average(r, kind), s.unit);
               }});
}

/// Three fields: how much, on which node, of which task.
void add_most(std::vector<RecordField>& f, const std::string& name, int width, int wide, UseKind kind, ToText text) {
  f.push_back({name, width, [=](const Row& r, const Style& s) {
                 const UseSpread* use = spread_of(r, kind);
                 return use == nullptr ? std::string() : text(use->most, s.unit);
               }});
  f.push_back({name + "Node", wide, [=](const Row& r, const Style&) {
                 const UseSpread* use = spread_of(r, kind);
                 return use == nullptr ? std::string() : node_of(r, *use->most_node);
               }});
  f.push_back({name + "Task", wide, [=](const Row& r, const Style&) {
                 const UseSpread* use = spread_of(r, kind);
                 return use == nullptr ? std::string() : std::to_string(use->most_task);
               }});
}

/// Null: nothing looked at its GPUs, or it has none.
const model::GpuUse* gpus_of(const Row& r) { return r.use == nullptr || r.use->gpu.gpus == 0 ? nullptr : &r.use->gpu; }

/// A node says any numbers.
uint64_t percent_busy(const model::GpuUse& use) {
  if (use.seen_us == 0) return use.most_busy;
  const double share = static_cast<double>(use.busy_us) / static_cast<double>(use.seen_us);
  return static_cast<uint64_t>(100 * std::min(share, 1.0));
}

/// One part of TRESUsageIn...: "cpu=00:00:01,fs/disk=4096,mem=1M,pages=0,vmem=2M".
template <typename Pick>
std::string tres_usage(const Row& r, const Style& s, bool is_in, bool is_amount, const Pick& pick) {
  if (spread_of(r, UseKind::kCpu) == nullptr) return {};
  struct Part {
    const char* name;
    UseKind kind;
    ToText text;
  };
  static constexpr Part kIn[] = {{"cpu", UseKind::kCpu, time_text},
                                 {"fs/disk", UseKind::kRead, count_text},
                                 {"mem", UseKind::kRss, memory_text},
                                 {"pages", UseKind::kPages, count_text},
                                 {"vmem", UseKind::kVm, memory_text}};
  static constexpr Part kOut[] = {{"fs/disk", UseKind::kWritten, count_text}};
  std::string out;
  for (const Part& part : is_in ? std::span<const Part>(kIn) : std::span<const Part>(kOut)) {
    const auto value = pick(r, part.kind);
    if (!out.empty()) out += ',';
    out += part.name;
    out += '=';
    if constexpr (std::is_same_v<decltype(value), const std::string>)
      out += value;
    else
      out += is_amount ? part.text(value, s.unit) : std::to_string(value);
  }
  return out;
}

void add_gpus(std::vector<RecordField>& f) {
  const auto add = [&f](const char* name, int width, auto text) {
    f.push_back({name, width, [text](const Row& r, const Style& s) {
                   const model::GpuUse* use = gpus_of(r);
                   return use == nullptr ? std::string() : text(*use, s);
                 }});
  };
  add("GPUUtil", 7, [](const model::GpuUse& use, const Style&) { return std::to_string(percent_busy(use)); });
  add("MaxGPUUtil", 10, [](const model::GpuUse& use, const Style&) { return std::to_string(use.most_busy); });
  add("MaxGPUMem", 10, [](const model::GpuUse& use, const Style& s) { return memory_text(use.most_mem, s.unit); });
  add("TotalGPUMem", 11, [](const model::GpuUse& use, const Style& s) { return memory_text(use.sum_mem, s.unit); });
  add("GPUIdle", 10, [](const model::GpuUse& use, const Style& s) { return time_text(use.idle_us, s.unit); });
  add("GPUSeen", 10, [](const model::GpuUse& use, const Style& s) { return time_text(use.seen_us, s.unit); });
}

void add_tres(std::vector<RecordField>& f) {
  for (const bool is_in : {true, false}) {
    const std::string name = is_in ? "TRESUsageIn" : "TRESUsageOut";
    const auto add = [&](const char* suffix, int width, bool is_amount, auto pick) {
      f.push_back({name + suffix, width + (is_in ? 0 : 1),
                   [=](const Row& r, const Style& s) { return tres_usage(r, s, is_in, is_amount, pick); }});
    };
    const auto part = [](const Row& r, UseKind kind) -> const UseSpread& { return r.use->of(kind); };
    // As Slurm has it where gres/gpumem and gres/gpuutil are tracked; the mean of the step, not of its tasks.
    const auto add_with_gpus = [&](const char* suffix, bool is_mean, auto pick) {
      f.push_back({name + suffix, is_in ? 14 : 15, [=](const Row& r, const Style& s) {
                     const std::string of_tasks = tres_usage(r, s, is_in, true, pick);
                     const model::GpuUse* use = gpus_of(r);
                     if (!is_in || of_tasks.empty() || use == nullptr) return of_tasks;
                     return fmt::format("{},gres/gpumem={},gres/gpuutil={}", of_tasks,
                                        memory_text(is_mean ? use->sum_mem / use->gpus : use->most_mem, s.unit),
                                        is_mean ? percent_busy(*use) : use->most_busy);
                   }});
    };
    add_with_gpus("Ave", true, average);
    add_with_gpus("Max", false, [=](const Row& r, UseKind k) { return part(r, k).most; });
    add("MaxNode", 18, false, [=](const Row& r, UseKind k) { return node_of(r, *part(r, k).most_node); });
    add("MaxTask", 18, false, [=](const Row& r, UseKind k) { return uint64_t{part(r, k).most_task}; });
    add("Min", 14, true, [=](const Row& r, UseKind k) { return part(r, k).least; });
    add("MinNode", 18, false, [=](const Row& r, UseKind k) { return node_of(r, *part(r, k).least_node); });
    add("MinTask", 18, false, [=](const Row& r, UseKind k) { return uint64_t{part(r, k).least_task}; });
    add("Tot", 14, true, [=](const Row& r, UseKind k) { return part(r, k).sum; });
  }
}

}  // namespace

void add_use_fields(std::vector<RecordField>& f) {
  add_average(f, "AveCPU", 10, UseKind::kCpu, time_text);
  add_average(f, "AveRSS", 10, UseKind::kRss, memory_text);
  add_average(f, "AveVMSize", 10, UseKind::kVm, memory_text);
  add_average(f, "AvePages", 10, UseKind::kPages, count_text);
  add_average(f, "AveDiskRead", 14, UseKind::kRead, memory_text);
  add_average(f, "AveDiskWrite", 14, UseKind::kWritten, memory_text);
  add_most(f, "MaxRSS", 10, 10, UseKind::kRss, memory_text);
  add_most(f, "MaxVMSize", 10, 14, UseKind::kVm, memory_text);
  add_most(f, "MaxPages", 8, 14, UseKind::kPages, count_text);
  add_most(f, "MaxDiskRead", 12, 15, UseKind::kRead, memory_text);
  add_most(f, "MaxDiskWrite", 12, 16, UseKind::kWritten, memory_text);
  f.push_back({"MinCPU", 10, [](const Row& r, const Style& s) {
                 const UseSpread* use = spread_of(r, UseKind::kCpu);
                 return use == nullptr ? std::string() : time_text(use->least, s.unit);
               }});
  f.push_back({"MinCPUNode", 10, [](const Row& r, const Style&) {
                 const UseSpread* use = spread_of(r, UseKind::kCpu);
                 return use == nullptr ? std::string() : node_of(r, *use->least_node);
               }});
  f.push_back({"MinCPUTask", 10, [](const Row& r, const Style&) {
                 const UseSpread* use = spread_of(r, UseKind::kCpu);
                 return use == nullptr ? std::string() : std::to_string(use->least_task);
               }});
  const auto add_time = [&f](const char* name, uint64_t (*of)(const RunUse&)) {
    f.push_back(
        {name, 10, [of](const Row& r, const Style&) { return cpu_time_text(r.use == nullptr ? 0 : of(*r.use)); }});
  };
  add_time("UserCPU", [](const RunUse& u) { return u.user_us; });
  add_time("SystemCPU", [](const RunUse& u) { return u.system_us; });
  add_time("TotalCPU", [](const RunUse& u) { return u.user_us + u.system_us; });
  add_tres(f);
  add_gpus(f);
  // Nothing measures frequencies and energy.
  for (const auto& [name, width] : {std::pair{"AveCPUFreq", 10},
                                    {"ReqCPUFreq", 10},
                                    {"ReqCPUFreqMin", 13},
                                    {"ReqCPUFreqMax", 13},
                                    {"ReqCPUFreqGov", 13},
                                    {"ConsumedEnergy", 14},
                                    {"ConsumedEnergyRaw", 17}})
    f.push_back({name, width, [](const Row&, const Style&) { return std::string(); }});
}

}  // namespace gw::client
