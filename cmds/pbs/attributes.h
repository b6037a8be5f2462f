// Records of PBS: a name, and attributes in an order, some of them parts of a list ("Resource_List.ncpus"). Written as
// lines, as XML and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gw::cmds::pbs {

struct Record {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;

  void put(std::string key, std::string value) { attributes.emplace_back(std::move(key), std::move(value)); }
  void put_if(bool is_there, std::string key, std::string value) {
    if (is_there) put(std::move(key), std::move(value));
  }
};

/// How `KEY = VALUE` lines are written.
struct LineStyle {
  std::string_view title;  ///< In front of the name: "Job Id: ".
  int indent = 4;
  bool is_wide = false;  ///< A value is never folded.
};
/// A blank line ends each.
std::string as_lines(const Record& record, const LineStyle& style);
/// Torque's: <Data><Job><Job_Id>...; `element` "Job", `id` "Job_Id".
std::string as_xml(const std::vector<Record>& records, std::string_view element, std::string_view id);
/// PBS Pro's: {"timestamp": ..., "pbs_server": ..., KIND: {NAME: {...}}}.
std::string as_json(const std::vector<Record>& records, std::string_view kind, const std::string& server,
                    int64_t timestamp);

/// What versions of PBS this is like, with its own name.
std::string version_text(bool is_torque);

}  // namespace gw::cmds::pbs
