// Slurm host lists: `n[001-004,007],x1`, several brackets `r[1-2]n[1-4]`, widths kept.
// Invariant: parsing never takes memory beyond `max_hosts` names, whatever the text says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::base {

constexpr size_t kMaxHosts = 200'000;

/// Expands in the order written, duplicates kept. Errors name the place: unclosed bracket, empty range, backward range,
/// more than `max_hosts`, forbidden characters (only letters, digits, `.`, `_`, `-` outside brackets).
Result<std::vector<std::string>> expand_hostlist(std::string_view text, size_t max_hosts = kMaxHosts);
/// The same in Slurm's order: of three brackets the second turns slowest, then the first. For what programs compare
/// with Slurm's; the order of nodes that a configuration names is as it reads.
Result<std::vector<std::string>> expand_hostlist_as_slurm(std::string_view text, size_t max_hosts = kMaxHosts);
/// Compresses in the given order as Slurm does (consecutive numbers of equal width become ranges; names of one prefix
/// share a bracket). `expand(compress(x)) == x` for names sorted or not.
std::string compress_hostlist(const std::vector<std::string>& names);
/// Sorts names by prefix, then number, and drops duplicates: n2 before n10.
void sort_hostlist(std::vector<std::string>& names);
/// Natural order of two host names: n2 < n10.
bool host_less(std::string_view a, std::string_view b);
/// `4(x2),3`: repeat counts as Slurm's TASKS_PER_NODE and JOB_CPUS_PER_NODE.
std::string compress_counts(const std::vector<uint32_t>& counts);

}  // namespace gw::base
