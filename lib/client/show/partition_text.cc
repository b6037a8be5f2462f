// Partitions key by key. See the header.
#include "client/show/partition_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/show/show_json.h"
#include "config/keys.h"
#include "model/partition_keys.h"
#include "wire/convert.h"

namespace gw::client {
namespace {

using Json = nlohmann::ordered_json;
using model::OriginKind;
using Origins = std::map<std::string, wire::KeyOrigin>;

struct Shown {
  config::PartitionEntry entry;
  Origins origins;
};

base::Result<Shown> read(const wire::Partition& p) {
  GW_TRY(partition, wire::from_wire(p));
  Shown out{config::entry_of(partition), {}};
  for (const wire::KeyOrigin& origin : p.origins()) out.origins[origin.key()] = origin;
  return out;
}

OriginKind kind_of(const wire::KeyOrigin& origin) {
  return static_cast<OriginKind>(std::min(origin.kind(), static_cast<uint32_t>(OriginKind::kCommand)));
}

/// The configuration's key of which the value is the cluster's default; empty: there is none.
std::string cluster_key(std::string_view key) {
  const model::PartitionKey* known = model::partition_key(key);
  return known == nullptr ? std::string() : std::string(known->cluster_key);
}

std::string origin_text(const std::string& key, const Origins& origins) {
  const auto found = origins.find(key);
  if (found == origins.end()) return "unknown: the controller is older than this program";
  const wire::KeyOrigin& origin = found->second;
  const std::string place = base::printable(origin.place(), SIZE_MAX);
  switch (kind_of(origin)) {
    case OriginKind::kBuiltIn:
      return "built-in";
    case OriginKind::kCluster:
      return fmt::format("cluster default: {}, {}", cluster_key(key), place);
    case OriginKind::kFile:
      return place;
    case OriginKind::kCommand:
      break;
  }
  if (origin.by().empty()) return "gcontrol";
  return fmt::format("gcontrol by {}, {}", base::printable(origin.by(), SIZE_MAX), base::format_time({origin.at_us()}));
}

Json origin_json(const std::string& key, const Origins& origins) {
  const auto found = origins.find(key);
  if (found == origins.end()) return nullptr;
  const wire::KeyOrigin& origin = found->second;
  Json out = {{"kind", model::name(kind_of(origin))}};
  if (kind_of(origin) == OriginKind::kCluster) out["key"] = cluster_key(key);
  if (!origin.place().empty()) out["place"] = origin.place();
  if (kind_of(origin) != OriginKind::kCommand || origin.by().empty()) return out;
  out["user"] = origin.by();
  out["uid"] = origin.by_uid();
  out["time"] = origin.at_us() / 1'000'000;
  return out;
}

Json duration_json(base::Duration d) { return d == base::kUnlimited ? Json(nullptr) : Json(d.us / 1'000'000); }

/// Numbers as numbers, time in seconds (null: without a limit), memory in MiB, words as the configuration has them.
Json value_json(const config::Key<config::PartitionEntry>& key, config::PartitionEntry& entry) {
  const config::Ref ref = key.at(entry);
  return std::visit(
      [&](auto* place) -> Json {
        using Place = std::remove_pointer_t<decltype(place)>;
        if constexpr (std::is_same_v<Place, base::Duration>)
          return duration_json(*place);
        else if constexpr (std::is_same_v<Place, std::optional<base::Duration>>)
          return *place ? duration_json(**place) : Json(nullptr);
        else if constexpr (std::is_arithmetic_v<Place> || std::is_same_v<Place, std::vector<std::string>>)
          return Json(*place);
        else
          return config::show_value(key.info, ref);
      },
      ref);
}

}  // namespace

base::Result<std::string> effective_text(const wire::ListPartitionsReply& reply) {
  std::string out;
  for (const wire::Partition& p : reply.partitions()) {
    GW_TRY(shown, read(p));
    size_t key_width = std::string_view("KEY").size(), value_width = std::string_view("VALUE").size();
    std::vector<std::pair<std::string, std::string>> lines = {{"KEY", "VALUE"}};
    for (const auto& key : config::partition_keys()) {
      if (model::partition_key(key.info.name) == nullptr) continue;  // short for others
      std::string value = base::printable(config::show(key, shown.entry), SIZE_MAX);
      if (value.empty()) value = "-";
      key_width = std::max(key_width, key.info.name.size());
      constexpr size_t kWidest = 40;
      value_width = std::max(value_width, std::min(value.size(), kWidest));
      lines.emplace_back(key.info.name, std::move(value));
    }
    out += fmt::format("{}PartitionName={}\n", out.empty() ? "" : "\n", base::printable(p.name(), SIZE_MAX));
    for (const auto& [key, value] : lines)
      out += fmt::format("   {:<{}}  {:<{}}  {}\n", key, key_width, value, value_width,
                         key == "KEY" ? "ORIGIN" : origin_text(key, shown.origins));
  }
  return out;
}

base::Result<std::string> effective_json(const wire::ListPartitionsReply& reply) {
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["partitions"] = Json::array();
  for (const wire::Partition& p : reply.partitions()) {
    GW_TRY(shown, read(p));
    Json keys = Json::object();
    for (const auto& key : config::partition_keys()) {
      const std::string name(key.info.name);
      if (model::partition_key(name) != nullptr)
        keys[name] = {{"value", value_json(key, shown.entry)}, {"origin", origin_json(name, shown.origins)}};
    }
    j["partitions"].push_back({{"name", p.name()}, {"keys", std::move(keys)}});
  }
  j["last_update"] = reply.now_us() / 1'000'000;
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
