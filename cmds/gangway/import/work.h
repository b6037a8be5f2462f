// An import under way: what was made so far, and what was said of the lines.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmds/gangway/import/draft.h"
#include "cmds/gangway/import/slurm_import.h"
#include "cmds/gangway/import/slurm_keys.h"

namespace gw::cmds::import {

struct Work {
  Draft draft;
  Keys weights;  ///< Of scheduler.order_weights.
  std::vector<Note> notes;
  std::vector<std::string> problems;                     ///< All are told together.
  std::map<std::string, std::vector<std::string>> sets;  ///< NodeSet= -> names of nodes.
  std::map<std::string, std::vector<std::string>> by_feature;
  std::vector<std::pair<std::string, std::string>> node_defaults, partition_defaults;  ///< Of the DEFAULT lines.
  std::vector<std::string> nodes_with_shards;

  void note(const Line& line, Verdict verdict, std::string text);
  void take(const Line& line, std::string_view key, const std::string& value, const std::string& path,
            std::string yaml);
  /// The same, with what is not as it was.
  void change(const Line& line, std::string_view key, const std::string& value, const std::string& path,
              std::string yaml, std::string_view why);
  void ignore(const Line& line, std::string_view key, const std::string& value, const std::string& why);
  void unknown(const Line& line, const std::string& key, std::span<const SlurmKey> known);
  static bool is_yes(const std::string& value);
};

}  // namespace gw::cmds::import
