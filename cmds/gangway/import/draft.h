// A configuration that is being written: sections of keys, nodes, switches, partitions.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gw::cmds::import {

/// Keys with their values as YAML, in the order in which they were said; a later one replaces an earlier.
class Keys {
 public:
  void set(const std::string& key, std::string yaml);
  bool has(const std::string& key) const;
  /// Empty: it was not said.
  std::string get(const std::string& key) const;
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

/// Text as YAML has it, in quotes wherever it could be anything else.
std::string yaml_text(const std::string& text);
/// ["a", "b"]
std::string yaml_list(const std::vector<std::string>& texts);

struct Draft {
  Keys top;
  std::map<std::string, Keys> sections;  ///< "jobs" -> kill_wait, ...
  std::vector<Keys> nodes, network, partitions;

  /// "jobs.kill_wait", "cluster"
  void set(const std::string& path, std::string yaml);
  std::string yaml() const;
};

}  // namespace gw::cmds::import
