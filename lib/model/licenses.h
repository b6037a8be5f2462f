// Licences: what the whole cluster has a number of, whatever the node, and jobs take some of: Slurm's --licenses. Pure.
// Invariant: no name stands twice, and a job that asks for one asks for at least one of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::model {

/// How many of each, by name. Names may hold `@`, as in "matlab@flex".
using Licenses = std::map<std::string, uint32_t>;

/// Different ones of one job or of the cluster, at most.
constexpr size_t kMostLicenses = 64;
constexpr uint32_t kMostOfALicense = 1'000'000;
/// Bytes of a list as text.
constexpr size_t kLicensesBytes = 4096;

/// What Slurm says of licences that cannot be had.
constexpr const char* kLicensesSentence = "Invalid license specification";

/// Reads "matlab:2,ansys"; no number: one; what is named twice is added up; none of one is none. Also with `=` for `:`
/// and with `;` for `,`. Errors, with that sentence: a name that is none, a number out of range, too many. `|`, one of
/// several, is not there.
base::Result<Licenses> parse_licenses(std::string_view text);
/// "ansys:1,matlab:2"; empty for none.
std::string format_licenses(const Licenses& licenses);

}  // namespace gw::model
