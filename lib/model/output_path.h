// File name patterns of batch jobs (-o, -e, -i): %j %J %A %a %b %x %u %N %n %s %t %%, `%4t` zero-padded.
// Invariant: a value put in for a pattern never adds a path component: no slash, and it is never "." or "..".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/array.h"

namespace gw::model {

/// What the patterns stand for.
struct PatternValues {
  uint32_t job_id = 0;
  std::string job_name;
  std::string user;
  std::string node;  ///< Name of the first node; its part before the first dot is used.
  uint32_t node_index = 0;
  uint32_t task = 0;
  std::optional<ArrayPlace> array = {};
  std::string step = "batch";
};

/// Expands the patterns of `path`; unknown ones stay as they are. As in Slurm a path with a backslash is taken without
/// expansion (its backslashes are dropped), and a width (at most 10) pads numbers with zeros.
std::string expand_patterns(std::string_view path, const PatternValues& values);

/// The file that a batch job's -o, -e or -i means: expanded, relative to `work_dir`. Empty text gives empty text.
std::string resolve_job_path(std::string_view path, std::string_view work_dir, const PatternValues& values);

/// "gangway-%j.out", or "slurm-%j.out" for a job that was submitted with Slurm's names; of an array
/// "gangway-%A_%a.out".
std::string_view default_output(bool slurm_names, bool is_in_array);

}  // namespace gw::model
