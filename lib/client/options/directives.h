// Options inside a batch script: #GBATCH, #SBATCH and #PBS, or those of another command.
// Invariants: directives stop at the first line that is neither empty nor a comment, except those that a command says
// it reads everywhere; each error begins with FILE:LINE.
#pragma once

#include <functional>
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

/// What another command's directives are.
struct OwnDirectives {
  std::string prefix;  ///< "#PBS", "#$"
  /// Words of such a line as words of gbatch.
  std::function<base::Result<std::vector<std::string>>(const std::vector<std::string>& words)> translate;
  bool is_everywhere = false;  ///< Also behind the first command; what does not go on with an option is a comment.
};
/// The same of such a command, whose directives alone count.
base::Result<std::vector<Directive>> read_own_directives(std::string_view script, std::string_view path,
                                                         const OwnDirectives& own);
/// Of "#SBATCH", "#PBS" and "#$" the first that a line of the head of the script begins with, but not `own`; empty:
/// none does.
std::string_view other_directives(std::string_view script, std::string_view own);

/// Runs the handlers of `table` for them. Errors: "FILE:LINE: #SBATCH: ...".
base::Status apply_directives(const std::vector<Option>& table, std::span<const Directive> directives,
                              std::string_view path);

}  // namespace gw::client
