// From yaml-cpp's events to a tree. yaml-cpp's exceptions end here. See yaml_tree.h.
#include "config/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "base/utf8.h"

namespace gw::config {
namespace {

// yaml-cpp keeps a token for each open bracket until it knows whether a key begins there: about 240 bytes each.
constexpr size_t kMaxBrackets = 500'000;

// Thrown through yaml-cpp when all wanted keys have been read.
struct AllSeen {};

// Thrown through yaml-cpp for what is YAML, but not ours.
struct Refused {
  YAML::Mark mark;
  std::string what;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::span<const std::string_view> only, bool takes_several = false)
      : only_(only), takes_several_(takes_several) {}
  Value take() { return std::move(root_); }
  std::vector<Value> take_all() { return std::move(documents_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_++ > 0 && !takes_several_) throw Refused{mark, "a second document: write one, without `---`"};
  }
  void OnDocumentEnd() override {
    if (takes_several_) documents_.push_back(std::move(root_));
    if (takes_several_) root_ = Value();
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(make(mark, Value::Kind::kNull)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{mark, "aliases (*name) are not supported: write the value itself"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& text) override {
    refuse_tag(mark, tag);
    // yaml-cpp takes \_ and \N for one byte each.
    if (!base::is_utf8(text)) throw Refused{mark, "an escape that is no character: write \\u00a0 or \\u0085"};
    Value value = make(mark, Value::Kind::kScalar);
    value.is_quoted = tag == "!";
    value.text = text;
    add(std::move(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, Value::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, tag, Value::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  static Value make(const YAML::Mark& mark, Value::Kind kind) {
    Value value;
    value.kind = kind;
    value.line = static_cast<uint32_t>(mark.line + 1);
    value.column = static_cast<uint32_t>(mark.column + 1);
    return value;
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") throw Refused{mark, "tags (!name) are not supported"};
  }

  void open(const YAML::Mark& mark, const std::string& tag, Value::Kind kind) {
    refuse_tag(mark, tag);
    if (stack_.size() >= kMaxDepth) throw Refused{mark, fmt::format("nested deeper than {} levels", kMaxDepth)};
    stack_.push_back(make(mark, kind));
  }

  void close() {
    Value done = std::move(stack_.back());
    stack_.pop_back();
    add(std::move(done));
  }

  void add(Value value) {
    if (++values_ > kMaxValues) {
      YAML::Mark mark;
      mark.line = static_cast<int>(value.line) - 1;
      mark.column = static_cast<int>(value.column) - 1;
      throw Refused{mark, fmt::format("more than {} values in one file", kMaxValues)};
    }
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Value& parent = stack_.back();
    bool is_top_value =
        !only_.empty() && stack_.size() == 1 && parent.kind == Value::Kind::kMap && parent.items.size() % 2 == 1;
    bool is_missing = value.kind == Value::Kind::kNull && parent.kind == Value::Kind::kMap && !parent.items.empty();
    if (is_missing) {  // yaml-cpp places it at the next token, which may be lines below
      value.line = parent.items.back().line;
      value.column = parent.items.back().column;
    }
    parent.items.push_back(std::move(value));
    if (is_top_value) keep_if_wanted(parent);
  }

  // The last key and value of the document's map: dropped if nobody asked for them.
  void keep_if_wanted(Value& top) {
    const std::string& key = top.items[top.items.size() - 2].text;
    if (std::find(only_.begin(), only_.end(), key) == only_.end()) {
      top.items.resize(top.items.size() - 2);
      return;
    }
    if (++seen_ < only_.size()) return;
    root_ = std::move(top);
    throw AllSeen{};
  }

  std::span<const std::string_view> only_;
  bool takes_several_;
  Value root_;
  std::vector<Value> documents_;
  std::vector<Value> stack_;
  size_t started_ = 0, values_ = 0, seen_ = 0;
};

bool is_forbidden(unsigned char c) { return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F; }

base::Status check_size(std::string_view text, const std::string& path) {
  if (text.size() > kMaxBytes)
    return base::invalid(fmt::format("{}: larger than {} MiB", path, kMaxBytes >> 20), "this is no configuration file");
  auto brackets = std::count(text.begin(), text.end(), '[') + std::count(text.begin(), text.end(), '{');
  if (static_cast<size_t>(brackets) > kMaxBrackets)
    return base::invalid(fmt::format("{}: more than {} brackets", path, kMaxBrackets), "this is no configuration file");
  return {};
}

// yaml-cpp takes some control bytes for the end of the text: they are found before it sees them.
base::Status check_text(std::string_view text, const std::string& path) {
  size_t line = 1, line_start = 0;
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    size_t length = base::utf8_length(text.substr(i));
    if (length == 0 || is_forbidden(c))
      return base::invalid(fmt::format("{}:{}:{}: byte 0x{:02x} is not text", path, line, i - line_start + 1, c),
                           "write the file as plain UTF-8 text");
    i += length;
    if (c != '\n') continue;
    ++line;
    line_start = i;
  }
  return {};
}

// yaml-cpp's messages do not say so when tabs are the matter.
std::string syntax_hint(std::string_view text, int line) {
  size_t start = 0;
  for (int i = 0; i < line && start != std::string_view::npos; ++i) {
    size_t end = text.find('\n', start);
    start = end == std::string_view::npos ? end : end + 1;
  }
  std::string_view rest = start == std::string_view::npos ? std::string_view() : text.substr(start);
  bool has_tab = rest.substr(0, rest.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
  return has_tab ? "indent with blanks, not tabs" : "check the indentation, colons and quotes around that place";
}

base::Status feed(std::string_view text, const std::string& path, TreeBuilder& builder) {
  GW_TRY_STATUS(check_size(text, path));
  GW_TRY_STATUS(check_text(text, path));
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const AllSeen&) {
  } catch (const Refused& e) {
    return base::invalid(fmt::format("{}:{}:{}: {}", path, e.mark.line + 1, e.mark.column + 1, e.what));
  } catch (const YAML::Exception& e) {
    return base::invalid(fmt::format("{}:{}:{}: {}", path, e.mark.line + 1, e.mark.column + 1, base::printable(e.msg)),
                         syntax_hint(text, e.mark.line));
  } catch (const std::exception& e) {
    return base::invalid(fmt::format("{}: not readable as YAML: {}", path, base::printable(e.what())));
  }
  return {};
}

base::Status check_map(const Value& root, const std::string& path, const char* hint) {
  if (root.kind == Value::Kind::kMap) return {};
  return base::invalid(fmt::format("{}:{}:{}: not a map of keys and values", path, root.line, root.column), hint);
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  if (kind != Kind::kMap) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].kind == Kind::kScalar && items[i].text == key) return &items[i + 1];
  return nullptr;
}

base::Result<Value> read_yaml(std::string_view text, const std::string& path, std::span<const std::string_view> only) {
  TreeBuilder builder(only);
  GW_TRY_STATUS(feed(text, path, builder));
  Value root = builder.take();
  if (root.kind == Value::Kind::kNull) root.kind = Value::Kind::kMap;
  GW_TRY_STATUS(check_map(root, path, "write lines such as `cluster: NAME`"));
  return root;
}

base::Result<std::vector<Value>> read_yaml_documents(std::string_view text, const std::string& path) {
  TreeBuilder builder({}, /*takes_several=*/true);
  GW_TRY_STATUS(feed(text, path, builder));
  std::vector<Value> documents = builder.take_all();
  std::erase_if(documents, [](const Value& root) { return root.kind == Value::Kind::kNull; });
  for (const Value& root : documents) GW_TRY_STATUS(check_map(root, path, "write lines such as `nodes: [...]`"));
  return documents;
}

std::string quoted_yaml(std::string_view text) {
  YAML::Emitter out;
  out << YAML::DoubleQuoted << std::string(text);
  return out.c_str();
}

}  // namespace gw::config
