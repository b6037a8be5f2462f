// The table of bounds against the descriptors and against docs/limits.md: a new field without a row fails here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "tests/schema/schema.h"
#include "wire/bounds.h"

namespace gw::wire {
namespace {

FieldType type_of(schema::Type type) {
  switch (type) {
    case schema::Type::kDouble:
      return FieldType::kDouble;
    case schema::Type::kInt64:
      return FieldType::kInt64;
    case schema::Type::kUint64:
      return FieldType::kUint64;
    case schema::Type::kInt32:
      return FieldType::kInt32;
    case schema::Type::kUint32:
      return FieldType::kUint32;
    case schema::Type::kBool:
      return FieldType::kBool;
    case schema::Type::kEnum:
      return FieldType::kEnum;
    case schema::Type::kMessage:
      return FieldType::kMessage;
    default:
      return FieldType::kText;
  }
}

/// Every row below a root against the message that it stands for.
void compare(const schema::Messages& all, const std::string& message, const MessageBounds& bounds,
             std::set<const MessageBounds*>& seen) {
  if (!seen.insert(&bounds).second) return;
  ASSERT_TRUE(all.contains(message)) << message;
  const std::vector<schema::Field>& fields = all.at(message);
  std::set<uint32_t> rows;
  for (const FieldBound& row : bounds.fields) rows.insert(row.number);
  EXPECT_EQ(rows.size(), bounds.fields.size()) << message;
  for (const schema::Field& f : fields)
    EXPECT_TRUE(rows.contains(f.number))
        << "field " << f.name << " = " << f.number << " of message " << message
        << " has no row in lib/wire/bounds_*.cc: say there how much of it is taken, and in docs/limits.md";
  uint32_t last = 0;
  for (const FieldBound& row : bounds.fields) {
    EXPECT_GT(row.number, last) << message << "." << row.name << ": rows ascend by number";
    last = row.number;
    const auto f = std::find_if(fields.begin(), fields.end(), [&](const auto& g) { return g.number == row.number; });
    if (f == fields.end()) {
      ADD_FAILURE() << message << " has no field " << row.name << " = " << row.number;
      continue;
    }
    EXPECT_EQ(row.name, f->name) << message;
    EXPECT_EQ(row.type, type_of(f->type)) << message << "." << row.name;
    EXPECT_EQ(row.is_list, f->is_list) << message << "." << row.name;
    if (!row.is_list) {
      EXPECT_EQ(row.count, 1U) << message << "." << row.name;
    }
    ASSERT_EQ(row.inside != nullptr, f->type == schema::Type::kMessage) << message << "." << row.name;
    if (row.inside != nullptr) compare(all, f->message, *row.inside, seen);
  }
}

TEST(BoundsTable, HasARowForEveryFieldThatCanBeSent) {
  const schema::Messages all = schema::messages();
  std::set<const MessageBounds*> seen;
  compare(all, "ApiRequest", kApiRequestBounds, seen);
  compare(all, "NodeToController", kNodeToControllerBounds, seen);
  EXPECT_TRUE(seen.contains(&kJobSpecBounds));
  EXPECT_TRUE(seen.contains(&kReservationBounds));
  EXPECT_TRUE(seen.contains(&kPartitionBounds));
  EXPECT_GT(seen.size(), 60U);
}

std::string thousands(uint64_t n) {
  std::string digits = fmt::to_string(n);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string bytes_text(uint64_t n) {
  if (n >= 1 << 20 && n % (1 << 20) == 0) return fmt::format("{} MiB", n >> 20);
  if (n >= 4096 && n % 1024 == 0) return fmt::format("{} KiB", n >> 10);
  return fmt::format("{} bytes", thousands(n));
}

std::string one_text(const FieldBound& f) {
  if (f.type == FieldType::kMessage) return f.most == 0 ? "" : bytes_text(f.most) + (f.is_list ? " each" : "");
  if (f.type == FieldType::kText) return bytes_text(f.most) + (f.is_list ? " each" : "");
  if (!f.hint.empty()) return std::string(f.hint);
  if (f.is_list || f.most >= UINT32_MAX)
    return f.type == FieldType::kInt64 ? fmt::format("{} to {}", f.least, f.most) : "";
  return f.least == 0 ? "up to " + thousands(f.most) : fmt::format("{} to {}", f.least, f.most);
}

using Seen = std::set<const MessageBounds*>;

void add_section(const MessageBounds& bounds, Seen& seen, std::string& out);

/// A line for each row that users write; messages that have no heading of their own stand with what holds them.
void add_lines(const MessageBounds& bounds, Seen& seen, std::string& lines, std::string& below) {
  for (const FieldBound& f : bounds.fields) {
    std::string text = f.is_list ? thousands(f.count) : "";
    if (const std::string one = one_text(f); !one.empty()) text += (text.empty() ? "" : ", ") + one;
    const std::string line = fmt::format("| {} | {} |\n", f.label, text);
    if (!f.label.empty() && !text.empty() && lines.find(line) == std::string::npos) lines += line;
    if (f.inside == nullptr) continue;
    if (!f.inside->title.empty())
      add_section(*f.inside, seen, below);
    else if (seen.insert(f.inside).second)
      add_lines(*f.inside, seen, lines, below);
  }
}

void add_section(const MessageBounds& bounds, Seen& seen, std::string& out) {
  if (!seen.insert(&bounds).second) return;
  std::string lines, below;
  add_lines(bounds, seen, lines, below);
  out += fmt::format("\n### {}\n\n| what | at most |\n| --- | --- |\n{}{}", bounds.title, lines, below);
}

TEST(BoundsTable, IsWhatThePageOfLimitsShows) {
  std::ifstream file(GW_SOURCE_DIR "/docs/limits.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  Seen seen;
  std::string expected;
  add_section(kApiRequestBounds, seen, expected);
  add_section(kNodeToControllerBounds, seen, expected);
  EXPECT_NE(page.find(expected), std::string::npos) << "docs/limits.md must hold:\n" << expected;
}

}  // namespace
}  // namespace gw::wire
