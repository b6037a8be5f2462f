// The quick way to the few keys that a command needs: for files written in the plain form that nearly all of them have.
// Invariant: whatever this gives, read_yaml() gives too, unless it refuses the file for what stands under other keys.
// Of anything that is not plainly readable it gives nothing, and read_yaml() has the word.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "config/yaml_tree.h"

namespace gw::config {

/// The top-level keys `only` of a text, as by read_yaml(text, path, only), if these are scalars or block maps of
/// scalars, each on one line, and no value in brackets or quotes continues in the next line.
std::optional<Value> read_plain_yaml(std::string_view text, std::span<const std::string_view> only);

}  // namespace gw::config
