// What jobs take a number of by its name. Licences: what the whole cluster has a number of, whatever the node (Slurm's
// --licenses). Generic resources: what a node has a number of beside CPUs, memory and GPUs (Slurm's GRES): fast disk,
// FPGAs, shares of a link. Pure.
// Invariant: no name stands twice, and what is asked for is at least one.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Generic resources of a node or of a job's part on one. What has a type counts twice, under "fpga:xilinx" and under
/// "fpga": so whoever asks for any type takes of all of them, and there is always a node's share that fits everybody.
class Gres {
 public:
  bool empty() const { return items_.empty(); }
  /// How many names there are, those of kinds beside those of types.
  size_t size() const { return items_.size(); }
  /// 0: none.
  uint64_t count(std::string_view name) const;
  /// Of this name alone.
  void add(std::string_view name, uint64_t count);
  void add(const Gres& more);
  /// As far as there is something.
  void take(const Gres& some);
  bool covers(const Gres& some) const;
  /// Of each name no more than there.
  void keep_at_most(const Gres& bound);
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool operator==(const Gres&) const = default;
  auto operator<=>(const Gres&) const = default;

 private:
  std::vector<std::pair<std::string, uint64_t>> items_;  // by name; none has a count of zero
};

/// Kinds and types of one node or job, at most.
constexpr size_t kMostGres = 32;
constexpr uint64_t kMostOfAGres = uint64_t{1} << 50;
/// What Slurm says of generic resources that there are none of.
constexpr const char* kGresSentence = "Invalid generic resource (gres) specification";

/// May a kind, or a kind with its type, be called so? GPUs and parts of them are no generic resources here.
bool is_gres_name(std::string_view name);
/// Reads "nvme:2,lscratch:800G,fpga:xilinx:1"; no number: one; K, M, G, T: times 1024 and so on; `gres/` before a name
/// and `=` for `:` are taken; none of one is none. Errors, with that sentence: no such name, a number out of range, too
/// many.
base::Result<Gres> parse_gres(std::string_view text);
/// Are there as many of each kind as of its types together, and not too many of any?
bool is_consistent(const Gres& gres);
/// "fpga:xilinx:1,lscratch:800G"; empty for none. Whole multiples of 1024 have a unit.
std::string format_gres(const Gres& gres);

}  // namespace gw::model
