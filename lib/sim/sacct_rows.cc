// See sacct_rows.h. Source of the fields: the page sacct(1) of Slurm 23.11, and for AllocGRES and ReqMem those of older
// versions.
#include "sim/sacct_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "model/request.h"

namespace gw::sim {
namespace {

using base::Result;
using Fields = std::vector<std::string_view>;
using Text = std::string_view;

constexpr Text kMade[] = {"submit_s", "duration_s", "gpus",      "nodes",       "cpus",
                          "mem_mb",   "gpu_type",   "gpu_milli", "time_limit_s"};

/// What a replay can use.
constexpr Text kFields =
    "JobID,User,QOS,Account,Partition,Submit,Eligible,Start,End,Elapsed,Timelimit,NNodes,AllocCPUS,ReqMem,AllocTRES";

bool is_unknown(Text text) {
  return text.empty() || base::iequals(text, "Unknown") || base::iequals(text, "None") || base::iequals(text, "N/A");
}

std::optional<double> number_of(Text text) {
  double number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole_text = error == std::errc() && at == text.data() + text.size();
  return is_whole_text && std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

/// What a job had, by the words of AllocTRES, ReqTRES, AllocGRES and ReqGRES.
struct Resources {
  std::optional<double> gpus;
  std::string gpu_type;
  std::optional<std::string> cpus, nodes, mem;
};

/// "gres/gpu:a100=4", "gpu:a100:4", "gpu:4" -> behind "gpu".
void take_gpus(Text behind, char before_count, Resources& to) {
  const size_t at = behind.rfind(before_count);
  const auto count = number_of(at == Text::npos ? Text() : behind.substr(at + 1));
  if (!count) return;
  const Text type = behind.substr(0, at);
  if (type.starts_with(':') && type.size() > 1) to.gpu_type = base::to_lower(type.substr(1));
  to.gpus = std::max(to.gpus.value_or(0), *count);
}

void take_resources(Text text, Resources& to) {
  constexpr Text kGpu = "gres/gpu", kOldGpu = "gpu";
  for (const std::string& word : base::split(text, ',')) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals),
                      amount = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "cpu") to.cpus = amount;
    if (name == "node") to.nodes = amount;
    if (name == "mem") to.mem = amount;
    if (name == kGpu || name.starts_with("gres/gpu:")) take_gpus(Text(word).substr(kGpu.size()), '=', to);
    if (equals == std::string::npos && word.starts_with("gpu:")) take_gpus(Text(word).substr(kOldGpu.size()), ':', to);
  }
}

Result<uint64_t> mem_mb(const Resources& had, Text asked, uint64_t nodes, uint64_t cpus) {
  const auto mib = [](Text text) -> Result<uint64_t> {
    // "1.50T": fractions are told in the next smaller unit.
    constexpr Text kUnits = "KMGTP";
    const size_t unit = text.empty() ? Text::npos : kUnits.find(text.back());
    const auto number = number_of(unit == Text::npos ? text : text.substr(0, text.size() - 1));
    if (!number) return base::invalid("\"" + base::printable(text, 40) + "\" is no amount of memory");
    const double in_mib = *number * std::pow(1024.0, unit == Text::npos ? 0 : static_cast<double>(unit) - 1);
    return static_cast<uint64_t>(std::min(std::ceil(in_mib), 4e9));
  };
  if (had.mem) return mib(*had.mem);
  if (is_unknown(asked)) return uint64_t{0};
  const bool is_of_node = asked.ends_with('n'), is_of_cpu = asked.ends_with('c');
  GW_TRY(amount, mib(is_of_node || is_of_cpu ? asked.substr(0, asked.size() - 1) : asked));
  return std::min(amount * (is_of_node ? nodes : is_of_cpu ? cpus : 1), uint64_t{4'000'000'000});
}

Result<uint64_t> whole_of(Text text, Text name) {
  if (is_unknown(text)) return uint64_t{0};
  const auto number = number_of(text);
  if (!number || *number > 1e9)
    return base::invalid(fmt::format("{}: \"{}\" is not a number", name, base::printable(text, 40)));
  return static_cast<uint64_t>(*number);
}

/// Seconds; empty where there is no limit.
Result<std::string> limit_of(Text text, Text minutes) {
  if (!is_unknown(minutes) && number_of(minutes)) return fmt::format("{}", *number_of(minutes) * 60);
  if (is_unknown(text) || base::iequals(text, "UNLIMITED") || base::iequals(text, "Partition_Limit"))
    return std::string();
  GW_TRY(limit, base::parse_duration(text));
  return std::to_string(limit.us / 1'000'000);
}

}  // namespace

Result<SacctRows> SacctRows::open(const Fields& header) {
  SacctRows rows;
  for (const Text name : header) rows.names_.push_back(base::to_lower(name));
  std::vector<std::string> missing;
  const auto need = [&](bool is_there, const char* name) {
    if (!is_there) missing.emplace_back(name);
  };
  need(rows.has("JobID"), "JobID");
  need(rows.has("Submit"), "Submit");
  need(rows.has("Start"), "Start");
  need(rows.has("End"), "End");
  need(rows.has("AllocTRES") || rows.has("ReqTRES") || rows.has("AllocGRES") || rows.has("ReqGRES"), "AllocTRES");
  if (missing.empty()) return rows;
  return base::invalid("no field " + base::join(missing, ", "), "sacct -aXP -o " + std::string(kFields));
}

Fields SacctRows::columns(const Fields& header) {
  Fields all = header;
  all.insert(all.end(), std::begin(kMade), std::end(kMade));
  return all;
}

bool SacctRows::has(Text name) const {
  return std::find(names_.begin(), names_.end(), base::to_lower(name)) != names_.end();
}

Text SacctRows::value(const Fields& fields, Text name) const {
  const auto found = std::find(names_.begin(), names_.end(), base::to_lower(name));
  return found == names_.end() ? Text() : fields[static_cast<size_t>(found - names_.begin())];
}

/// When it could have started: a replay knows nothing of what it depended on.
Result<std::string> SacctRows::submit(const Fields& fields) const {
  const Text eligible = value(fields, "Eligible"), submitted = value(fields, "Submit");
  if (is_unknown(submitted)) return base::invalid("Submit is empty");
  return std::string(is_unknown(eligible) ? submitted : eligible);
}

/// Empty: Start and End say it.
Result<std::string> SacctRows::duration(const Fields& fields) const {
  if (const Text raw = value(fields, "ElapsedRaw"); number_of(raw)) return std::string(raw);
  const Text elapsed = value(fields, "Elapsed");
  if (is_unknown(elapsed)) return std::string();
  GW_TRY(length, base::parse_duration(elapsed));
  return fmt::format("{}", length.us / 1'000'000);
}

Result<bool> SacctRows::make(const Fields& fields, std::vector<std::string>& made) {
  if (value(fields, "JobID").find('.') != Text::npos) return false;
  if (is_unknown(value(fields, "Start")) || is_unknown(value(fields, "End"))) {
    ++without_run_;
    return false;
  }
  if (value(fields, "AllocTRES").find("gres/shard=") != Text::npos) ++with_shards_;
  Resources had;
  for (const Text name : {"ReqGRES", "AllocGRES"}) take_resources(value(fields, name), had);
  if (const Text allocated = value(fields, "AllocTRES"); !is_unknown(allocated)) {
    had = {};
    take_resources(allocated, had);
  } else {
    take_resources(value(fields, "ReqTRES"), had);
  }
  const auto known = [&](Text first, Text second) { return has(first) ? value(fields, first) : value(fields, second); };
  GW_TRY(cpus, whole_of(had.cpus ? Text(*had.cpus) : known("AllocCPUS", "NCPUS"), "AllocCPUS"));
  GW_TRY(nodes, whole_of(had.nodes ? Text(*had.nodes) : known("NNodes", "AllocNodes"), "NNodes"));
  GW_TRY(mem, mem_mb(had, value(fields, "ReqMem"), nodes, cpus));
  GW_TRY(submitted, submit(fields));
  GW_TRY(length, duration(fields));
  GW_TRY(limit, limit_of(value(fields, "Timelimit"), value(fields, "TimelimitRaw")));
  const double gpus = had.gpus.value_or(0);
  const bool is_part = gpus > 0 && gpus < 1;
  made = {submitted,
          length,
          is_part ? "1" : fmt::format("{}", std::ceil(gpus)),
          nodes == 0 ? "" : std::to_string(nodes),
          cpus == 0 ? "" : std::to_string(cpus),
          mem == 0 ? "" : std::to_string(mem),
          had.gpu_type,
          is_part ? fmt::format("{}", std::ceil(gpus * model::kWholeGpu)) : "",
          limit};
  return true;
}

void split_bars(Text line, Fields& fields) {
  fields.clear();
  for (size_t at = 0;;) {
    const size_t end = std::min(line.find('|', at), line.size());
    fields.push_back(base::trim(line.substr(at, end - at)));
    if (end == line.size()) return;
    at = end + 1;
  }
}

}  // namespace gw::sim
