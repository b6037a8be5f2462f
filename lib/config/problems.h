// Gathers all mistakes of one file, so that an administrator mends them in one go.
// Invariant: lines come out in the order of the file, each one FILE:LINE:COLUMN: what (remedy); what this host lacks
// comes after what is wrong with the file itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/yaml_tree.h"

namespace gw::config {

class Problems {
 public:
  explicit Problems(std::string path) : path_(std::move(path)) {}

  void error(const Value& at, const std::string& what, const std::string& hint = {}) { add(errors_, at, what, hint); }
  void error(const Value& at, const base::Error& error) { add(errors_, at, error.what, error.hint); }
  /// The file may be right, but does not fit this host.
  void host_error(const Value& at, const std::string& what, const std::string& hint) {
    add(host_errors_, at, what, hint);
  }
  void warn(const Value& at, const std::string& what, const std::string& hint = {}) { add(warnings_, at, what, hint); }

  bool has_errors() const { return !errors_.empty() || !host_errors_.empty(); }
  /// Grows with each error (up to a bound): tells whether a part of the file was read without one.
  size_t errors() const { return errors_.size(); }
  /// Searches for what may be meant cost time: they are worth it for the first errors only.
  bool wants_hints() const { return errors_.size() < 100; }
  /// All errors as one, a line each, the first 100.
  base::Error to_error() const;
  std::vector<std::string> warnings() const;

 private:
  struct Line {
    uint32_t line, column;
    std::string text;
  };
  void add(std::vector<Line>& to, const Value& at, const std::string& what, const std::string& hint) const;

  std::string path_;
  std::vector<Line> errors_, host_errors_, warnings_;
};

}  // namespace gw::config
