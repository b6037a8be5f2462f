// See attributes.h.
#include "cmds/pbs/attributes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "cmds/queue/text.h"

namespace gw::cmds::pbs {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLineWidth = 78;

/// Long values go on behind a tab, where a comma was.
void fold(std::string& out, const std::string& key, const std::string& value, const LineStyle& style) {
  std::string line = std::string(static_cast<size_t>(style.indent), ' ') + key + " = ";
  bool is_first = true;
  for (const std::string& part : base::split(value, ',')) {
    const std::string text = (is_first ? "" : ",") + part;
    if (!is_first && !style.is_wide && line.size() + text.size() > kLineWidth) {
      out += line + ",\n";
      line = "\t" + part;
    } else {
      line += text;
    }
    is_first = false;
  }
  out += line + "\n";
}

std::string element(std::string_view name, std::string_view value) {
  return fmt::format("<{0}>{1}</{0}>", name, queue::xml_text(value));
}

/// "Resource_List", "ncpus"; of a name without a dot the second is empty.
std::pair<std::string, std::string> list_and_part(const std::string& key) {
  const size_t dot = key.find('.');
  return {key.substr(0, dot), dot == std::string::npos ? std::string() : key.substr(dot + 1)};
}

/// Counts as numbers; names and ids stay text.
Json value_of(const std::string& list, const std::string& key, const std::string& text) {
  const bool is_count = list == "Resource_List" || list == "resources_used" || list.starts_with("resources_") ||
                        key == "Priority" || key == "Exit_status" || key == "pcpus";
  if (is_count)
    if (const auto number = base::parse_int(text, INT64_MIN, INT64_MAX, "")) return *number;
  return text;
}

/// "A=1,B=2" as an object.
Json variables(const std::string& text) {
  Json object = Json::object();
  for (const std::string& part : base::split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals != std::string::npos) object[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return object;
}

Json as_object(const Record& record) {
  Json one = Json::object();
  for (const auto& [key, value] : record.attributes) {
    const auto [list, part] = list_and_part(key);
    if (key == "Variable_List")
      one[key] = variables(value);
    else
      (part.empty() ? one[list] : one[list][part]) = value_of(part.empty() ? "" : list, key, value);
  }
  return one;
}

}  // namespace

std::string as_lines(const Record& record, const LineStyle& style) {
  std::string out = std::string(style.title) + record.name + "\n";
  for (const auto& [key, value] : record.attributes) fold(out, key, base::printable(value, 100'000), style);
  return out + "\n";
}

std::string as_xml(const std::vector<Record>& records, std::string_view kind, std::string_view id) {
  std::string out = "<Data>";
  for (const Record& record : records) {
    out += fmt::format("<{}>{}", kind, element(id, record.name));
    std::string open;
    for (const auto& [key, value] : record.attributes) {
      const auto [list, part] = list_and_part(key);
      if (!open.empty() && (part.empty() || list != open)) out += "</" + std::exchange(open, "") + ">";
      if (!part.empty() && open.empty()) out += "<" + (open = list) + ">";
      out += element(part.empty() ? list : part, base::printable(value, 100'000));
    }
    if (!open.empty()) out += "</" + open + ">";
    out += fmt::format("</{}>", kind);
  }
  return out + "</Data>\n";
}

std::string as_json(const std::vector<Record>& records, std::string_view kind, const std::string& server,
                    int64_t timestamp) {
  Json j;
  j["timestamp"] = timestamp;
  j["pbs_version"] = version_text(false);
  j["pbs_server"] = server;
  // Names are different ones: no need to look for each among those before.
  Json& all = j[std::string(kind)] = Json::object();
  for (const Record& record : records) all.get_ref<Json::object_t&>().emplace_back(record.name, as_object(record));
  return j.dump(4, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string version_text(bool is_torque) {
  // Programs tell the two apart by the word PBSPro.
  return (is_torque ? std::string("6.1.2 (gangway ") : std::string("22.05.11 (PBSPro, gangway ")) + GANGWAY_VERSION +
         ")";
}

}  // namespace gw::cmds::pbs
