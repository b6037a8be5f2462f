// Names of the enums of cluster.h.
#include "model/cluster.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace gw::model {

std::string_view name(PartitionState s) {
  switch (s) {
    case PartitionState::kUp:
      return "UP";
    case PartitionState::kDown:
      return "DOWN";
    case PartitionState::kDrain:
      return "DRAIN";
    case PartitionState::kInactive:
      return "INACTIVE";
  }
  GW_CHECK(!"a partition state outside its enum");
}

std::string_view name(Consolidate c) {
  switch (c) {
    case Consolidate::kDefault:
      return "default";
    case Consolidate::kOn:
      return "on";
    case Consolidate::kOff:
      return "off";
    case Consolidate::kDryRun:
      return "dry_run";
  }
  GW_CHECK(!"a way to consolidate outside its enum");
}

base::Result<Consolidate> parse_consolidate(std::string_view text) {
  if (base::iequals(text, "true")) return Consolidate::kOn;
  if (base::iequals(text, "false")) return Consolidate::kOff;
  for (const Consolidate c : {Consolidate::kDefault, Consolidate::kOn, Consolidate::kOff, Consolidate::kDryRun})
    if (base::iequals(text, name(c))) return c;
  return base::invalid(fmt::format("\"{}\" is none of off, dry_run, on", base::printable(text, 60)));
}

}  // namespace gw::model
