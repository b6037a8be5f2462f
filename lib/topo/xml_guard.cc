// One pass over the tags of an XML text; see xml_guard.h.
#include "topo/xml_guard.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "topo/reader.h"

namespace gw::topo {
namespace {

using base::invalid;
using base::Status;

constexpr int kMaxDepth = 128;
constexpr size_t kMaxAttributes = 64;
constexpr int64_t kMaxDistanceObjects = 4096;
constexpr int64_t kMaxOsIndex = 65'535;

struct Tag {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> attributes;
  bool closed = false;  // <name ... />

  std::string_view get(std::string_view key) const {
    for (const auto& [k, v] : attributes) {
      if (k == key) return v;
    }
    return {};
  }
  bool has(std::string_view key) const { return get(key).data() != nullptr; }
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == ':' || c == '.';
}

// hwloc's bitmap text: 32-bit hex words, most significant first; words of zero may be left empty, the first may not.
bool is_bitmap(std::string_view text) {
  constexpr size_t kLongestWord = 10;  // 0x and eight digits
  if (text.empty() || text.front() == ',') return false;
  for (const auto& word : base::split(text, ',')) {
    if (word.empty()) continue;
    const auto digits = word.starts_with("0x") ? std::string_view(word).substr(2) : std::string_view(word);
    if (digits.empty() || word.size() > kLongestWord) return false;
    if (digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) return false;
  }
  return true;
}

class Guard {
 public:
  Guard(std::string_view xml, const std::string& origin) : xml_(xml), origin_(origin) {}

  Status run() {
    if (auto ok = check_whole(); !ok) return ok;
    while ((pos_ = xml_.find('<', pos_)) != std::string_view::npos) {
      if (auto ok = step(); !ok) return ok;
    }
    if (!seen_topology_) return not_hwloc();
    if (depth_ != 0) return bad("it ends in the middle of an element", "the file was cut off: export it again");
    return {};
  }

 private:
  std::string_view xml_;
  const std::string& origin_;
  size_t pos_ = 0;
  int depth_ = 0;
  bool seen_topology_ = false;
  bool is_version_2_ = false;

  tl::unexpected<base::Error> bad(const std::string& why,
                                  std::string hint = "export it again with: lstopo FILE.xml") const {
    return invalid(origin_ + " is not a usable hwloc topology: " + why, std::move(hint));
  }
  tl::unexpected<base::Error> not_hwloc() const {
    return invalid(origin_ + " is not an hwloc topology: it has no <topology> element",
                   "make one with: lstopo FILE.xml");
  }

  Status check_whole() const {
    if (xml_.size() > kMaxXmlBytes) {
      return invalid(origin_ + " is too large for a topology: over " + std::to_string(kMaxXmlBytes >> 20) + " MiB");
    }
    const auto start = xml_.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return invalid(origin_ + " is empty", "make one with: lstopo FILE.xml");
    if (xml_[start] != '<') return invalid(origin_ + " is not XML", "make one with: lstopo FILE.xml");
    if (xml_.find('\0') != std::string_view::npos) return bad("it holds a zero byte");
    return {};
  }

  bool at(std::string_view text) const { return xml_.substr(pos_, text.size()) == text; }

  Status skip_past(std::string_view end) {
    const auto found = xml_.find(end, pos_);
    if (found == std::string_view::npos)
      return bad("it ends in the middle of a tag", "the file was cut off: export it again");
    pos_ = found + end.size();
    return {};
  }

  Status step() {
    if (at("<?")) return skip_past("?>");
    if (at("<!--")) return skip_past("-->");
    if (at("<!")) return declaration();
    if (at("</")) {
      if (--depth_ < 0) return bad("an element is closed that was never opened");
      return skip_past(">");
    }
    return element();
  }

  // A document type with a body could define entities that grow without bound; hwloc writes none.
  Status declaration() {
    const auto start = pos_;
    if (auto ok = skip_past(">"); !ok) return ok;
    const auto text = xml_.substr(start, pos_ - start);
    if (!text.starts_with("<!DOCTYPE") || text.find('[') != std::string_view::npos) {
      return bad("it holds XML declarations that hwloc never writes");
    }
    return {};
  }

  Status element() {
    Tag tag;
    if (auto ok = parse(tag); !ok) return ok;
    if (!tag.closed && ++depth_ > kMaxDepth) {
      return bad("elements are nested more than " + std::to_string(kMaxDepth) + " deep");
    }
    return check(tag);
  }

  std::string_view name() {
    const auto start = pos_;
    while (pos_ < xml_.size() && is_name_char(xml_[pos_])) ++pos_;
    return xml_.substr(start, pos_ - start);
  }
  void skip_spaces() {
    while (pos_ < xml_.size() && is_space(xml_[pos_])) ++pos_;
  }

  Status parse(Tag& tag) {
    ++pos_;
    tag.name = name();
    if (tag.name.empty()) return bad("it is not well-formed XML");
    for (;;) {
      skip_spaces();
      if (at("/>")) {
        tag.closed = true;
        pos_ += 2;
        return {};
      }
      if (at(">")) {
        ++pos_;
        return {};
      }
      if (auto ok = attribute(tag); !ok) return ok;
    }
  }

  Status attribute(Tag& tag) {
    const auto key = name();
    skip_spaces();
    if (key.empty() || !at("=")) return bad("it is not well-formed XML");
    ++pos_;
    skip_spaces();
    if (!at("\"") && !at("'")) return bad("it is not well-formed XML");
    const auto end = xml_.find(xml_[pos_], pos_ + 1);
    if (end == std::string_view::npos)
      return bad("it ends in the middle of a tag", "the file was cut off: export it again");
    if (tag.attributes.size() >= kMaxAttributes) return bad("an element has too many attributes");
    tag.attributes.emplace_back(key, xml_.substr(pos_ + 1, end - pos_ - 1));
    pos_ = end + 1;
    return {};
  }

  Status check(const Tag& tag) {
    if (!seen_topology_) return check_root(tag);
    if (tag.name.starts_with("distances")) return number(tag, "nbobjs", kMaxDistanceObjects);
    if (tag.name == "object") return check_object(tag);
    return {};
  }

  Status check_root(const Tag& tag) {
    if (tag.name != "topology") return not_hwloc();
    seen_topology_ = true;
    const auto version = tag.get("version");
    is_version_2_ = version.starts_with("2.");
    if (version.empty() || version.starts_with("1.") || version.starts_with("2.")) return {};
    return bad("it has format version " + base::printable(version, 16) + ", and this program reads versions 1 and 2",
               "export it again with: lstopo --export-xml-flags v2 FILE.xml");
  }

  Status check_object(const Tag& tag) const {
    for (const auto& [key, value] : tag.attributes) {
      const bool is_set = key.ends_with("cpuset") || key.ends_with("nodeset");
      if (!is_set) continue;
      if (value.find("...") != std::string_view::npos) return bad(std::string(key) + " is infinite");
      if (!is_bitmap(value)) return bad(std::string(key) + "=\"" + base::printable(value, 24) + "\" is not a bitmap");
    }
    // hwloc writes a set and the complete set together, and takes the second for granted when it reads version 2.
    for (const std::string set : {"cpuset", "nodeset"}) {
      if (is_version_2_ && tag.has(set) != tag.has("complete_" + set)) {
        return bad("an object has only one of " + set + " and complete_" + set);
      }
    }
    const auto type = tag.get("type");
    if (type == "PU" || type == "NUMANode") return number(tag, "os_index", kMaxOsIndex);
    return {};
  }

  Status number(const Tag& tag, std::string_view key, int64_t max) const {
    const auto value = tag.get(key);
    if (value.empty()) return {};
    if (base::parse_int(value, 0, max, key)) return {};
    return bad(std::string(key) + "=\"" + base::printable(value, 24) + "\" of <" + base::printable(tag.name, 24) +
               "> is not a number from 0 to " + std::to_string(max));
  }
};

}  // namespace

Status check_xml(std::string_view xml, const std::string& origin) { return Guard(xml, origin).run(); }

}  // namespace gw::topo
