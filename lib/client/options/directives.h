// Options inside a batch script: #GBATCH, #SBATCH and #PBS.
// Invariants: directives stop at the first line that is neither empty nor a comment; each error begins with FILE:LINE.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/options/option_table.h"

namespace gw::client {

/// One directive line as option words.
struct Directive {
  size_t line = 0;   ///< From 1.
  std::string kind;  ///< "#SBATCH"
  std::vector<std::string> words;
};

/// Collects the directives of `script`; `path` is for messages. #PBS lines come translated to the words that gbatch
/// understands, and are left out if `ignore_pbs`. Errors: an unclosed quote; what
/// translate_pbs() refuses.
base::Result<std::vector<Directive>> read_directives(std::string_view script, std::string_view path,
                                                     bool ignore_pbs = false);

/// Runs the handlers of `table` for them. Errors: "FILE:LINE: #SBATCH: ...".
base::Status apply_directives(const std::vector<Option>& table, std::span<const Directive> directives,
                              std::string_view path);

}  // namespace gw::client
