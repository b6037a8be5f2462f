// Names that somebody wrote and that are not there: one wording, with the name that may have been meant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace gw::ctld {

template <typename Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> out;
  for (const auto& [key, value] : map) out.push_back(key);
  return out;
}

/// "did you mean X?"; where none is near, all names if they are few; may be empty.
std::string name_hint(const std::string& name, const std::vector<std::string>& known);

/// What a name is of.
enum class NameOf : uint8_t { kPartition, kNode, kAccount, kQos };

/// Slurm's sentence for a name of that kind that is not there, the name, and name_hint(): programs look for these
/// words.
base::Error invalid_name(base::ErrorCode code, NameOf kind, const std::string& name,
                         const std::vector<std::string>& known);

base::Error no_such_job(base::JobId id);

}  // namespace gw::ctld
