// See record_parts.h.
#include "client/json/record_parts.h"

namespace gw::client {

using slurm::Json;

Json tres_json(const RecordSize& size) {
  Json list = Json::array();
  const auto add = [&list](const char* type, const char* name, int id, uint64_t count) {
    if (count != 0) list.push_back({{"type", type}, {"name", name}, {"id", id}, {"count", count}});
  };
  add("cpu", "", 1, size.cpus);
  add("mem", "", 2, size.mem_mb);
  add("node", "", 4, size.nodes);
  add("billing", "", 5, size.cpus);
  add("gres", "gpu", 1001, size.gpus);
  return list;
}

Json seconds_and_micros(uint64_t us) { return {{"seconds", us / 1'000'000}, {"microseconds", us % 1'000'000}}; }

}  // namespace gw::client
