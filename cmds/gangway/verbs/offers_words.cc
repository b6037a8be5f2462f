// See offers_words.h.
#include "cmds/gangway/verbs/offers_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/time.h"
#include "client/show/show_json.h"

namespace gw::cmds {
namespace {

using Json = nlohmann::ordered_json;

std::string gpus_text(uint64_t milli) { return fmt::format("{:.6g}", static_cast<double>(milli) / 1e3); }

std::string headroom_text(const wire::ListOffersReply& told) {
  if (!told.has_guaranteed_milli() && !told.has_most_milli()) return "";
  std::string out = fmt::format("QOS {} can have", base::printable(told.qos()));
  if (told.has_guaranteed_milli())
    out += fmt::format(" {} GPUs within its guarantees", gpus_text(told.guaranteed_milli()));
  if (told.has_most_milli())
    out += fmt::format("{} {} GPUs within its limits", told.has_guaranteed_milli() ? "," : "",
                       gpus_text(told.most_milli()));
  return out + "\n";
}

}  // namespace

std::string offers_text(const wire::ListOffersReply& told) {
  size_t partitions = 9, types = 4;
  for (const wire::NodeOffer& offer : told.offers()) {
    partitions = std::max(partitions, base::printable(offer.partition()).size());
    types = std::max(types, base::printable(offer.gpu_type()).size());
  }
  std::string out =
      fmt::format("{:<16}  {:<{}}  {:>5}  {:>4}  {:<{}}  {:>5}  {:>7}  {:<19}  {:>11}  {}\n", "ID", "PARTITION",
                  partitions, "NODES", "GPUS", "TYPE", types, "CPUS", "MEM_GB", "UNTIL", "MAX_TIME", "NODELIST");
  for (const wire::NodeOffer& o : told.offers())
    out += fmt::format(
        "{:<16}  {:<{}}  {:>5}  {:>4}  {:<{}}  {:>5}  {:>7}  {:<19}  {:>11}  {}\n", base::printable(o.id()),
        base::printable(o.partition()), partitions, o.node_count(), o.gpus(), base::printable(o.gpu_type()), types,
        o.cpus(), o.mem_mb() / 1024, o.until_us() == 0 ? "-" : base::format_time({o.until_us()}),
        o.longest_us() == 0 ? "-" : base::format_duration({o.longest_us()}), base::printable(o.nodes(), 4000));
  if (told.left_out() > 0) out += fmt::format("and {} more\n", told.left_out());
  return out + headroom_text(told);
}

std::string offers_json(const wire::ListOffersReply& told) {
  const auto gpus = [](bool is_told, uint64_t milli) {
    return is_told ? Json(static_cast<double>(milli) / 1e3) : Json();
  };
  Json j = {{"schema_version", client::kSchemaVersion},
            {"qos", told.qos()},
            {"gpus_guaranteed", gpus(told.has_guaranteed_milli(), told.guaranteed_milli())},
            {"gpus_most", gpus(told.has_most_milli(), told.most_milli())},
            {"left_out", told.left_out()},
            {"offers", Json::array()}};
  for (const wire::NodeOffer& o : told.offers())
    j["offers"].push_back({{"id", o.id()},
                           {"partition", o.partition()},
                           {"nodes", o.nodes()},
                           {"node_count", o.node_count()},
                           {"gpus", o.gpus()},
                           {"gpu_type", o.gpu_type()},
                           {"cpus", o.cpus()},
                           {"memory_mb", o.mem_mb()},
                           {"until", base::Time{o.until_us()}.seconds()},
                           {"max_time", o.longest_us() / 1'000'000}});
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::cmds
