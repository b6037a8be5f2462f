// The table and the JSON of `ginfo --fragmentation`.
#include "client/show/fragmentation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/show/show_json.h"

namespace gw::client {
namespace {

/// Parts of GPUs only where there are some: "12", "12.25".
std::string gpus(double n) {
  std::string out = fmt::format("{:.3f}", n);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

/// Of the free GPUs; 0 where none is free.
double percent(const wire::Fragmentation& f) { return f.free_gpus() > 0 ? 100 * f.unusable_gpus() / f.free_gpus() : 0; }

}  // namespace

std::string fragmentation_table(const wire::ListPartitionsReply& list, bool with_heading) {
  size_t width = std::string_view("PARTITION").size(), type_width = std::string_view("GPU_TYPE").size();
  for (const wire::Partition& p : list.partitions()) {
    width = std::max(width, p.name().size());
    for (const wire::Fragmentation& f : p.fragmentation()) type_width = std::max(type_width, f.gpu_type().size());
  }
  std::string out;
  const auto line = [&](const std::string& name, const std::string& type, const std::string& all,
                        const std::string& free, const std::string& unusable, const std::string& part,
                        const std::string& gang) {
    out += fmt::format("{:<{}} {:<{}} {:>8} {:>10} {:>10} {:>9} {:>12}\n", base::printable(name, SIZE_MAX), width,
                       base::printable(type, SIZE_MAX), type_width, all, free, unusable, part, gang);
  };
  if (with_heading) line("PARTITION", "GPU_TYPE", "GPUS", "FREE", "UNUSABLE", "UNUSABLE%", "LARGEST_GANG");
  for (const wire::Partition& p : list.partitions()) {
    for (const wire::Fragmentation& f : p.fragmentation()) {
      if (f.gpus() == 0) continue;
      const bool is_known = f.workload() > 0;
      line(p.name(), f.gpu_type().empty() ? "all" : f.gpu_type(), std::to_string(f.gpus()), gpus(f.free_gpus()),
           is_known ? fmt::format("{:.2f}", f.unusable_gpus()) : "N/A",
           is_known ? fmt::format("{:.1f}", percent(f)) : "N/A", std::to_string(f.largest_gang()));
    }
  }
  return out;
}

std::string fragmentation_json(const wire::ListPartitionsReply& list) {
  using Json = nlohmann::ordered_json;
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["fragmentation"] = Json::array();
  for (const wire::Partition& p : list.partitions())
    for (const wire::Fragmentation& f : p.fragmentation()) {
      const bool is_known = f.workload() > 0;
      j["fragmentation"].push_back({{"partition", p.name()},
                                    {"gpu_type", f.gpu_type().empty() ? Json(nullptr) : Json(f.gpu_type())},
                                    {"gpus", f.gpus()},
                                    {"free_gpus", f.free_gpus()},
                                    {"unusable_gpus", is_known ? Json(f.unusable_gpus()) : Json(nullptr)},
                                    {"unusable_percent", is_known ? Json(percent(f)) : Json(nullptr)},
                                    {"largest_gang_gpus", f.largest_gang()},
                                    {"workload_tasks", f.workload()}});
    }
  j["last_update"] = list.now_us() / 1'000'000;
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
