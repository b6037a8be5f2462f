// The table of task cores, line by line: what was wanted in it, and what there would be today.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "base/text.h"
#include "tests/unit/task_cores/shape.h"

namespace gw::task_cores {
namespace {

std::vector<std::string> table() {
  std::ifstream file(GW_TABLE);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Everything but what is indented, which is the answer to what stands above it.
class Answers {
 public:
  std::vector<std::string> of(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      if (line.starts_with("  ")) continue;
      if (line.empty() || line.front() == '#')
        answer();
      else
        ask(line);
      out_.push_back(line);
    }
    answer();
    return out_;
  }
  int shapes() const { return shapes_; }

 private:
  std::vector<std::string> out_;
  std::optional<Shape> shape_;
  int shapes_ = 0;

  /// "dgx-h100 x2: gbatch -N2", then "+ grun -n1".
  void ask(const std::string& line) {
    if (line.starts_with("+ ")) {
      ASSERT_TRUE(shape_) << line;
      return shape_->events.push_back(line.substr(2));
    }
    answer();
    const size_t cross = line.find(" x"), colon = line.find(": ");
    ASSERT_TRUE(cross < colon && colon != std::string::npos) << line;
    const auto nodes = base::parse_int(line.substr(cross + 2, colon - cross - 2), 1, 100, "nodes");
    ASSERT_TRUE(nodes) << line;
    shape_ = Shape{line.substr(0, cross), static_cast<uint32_t>(*nodes), line.substr(colon + 2), {}};
  }

  void answer() {
    if (!shape_) return;
    ++shapes_;
    const auto lines = lines_of(*shape_);
    if (lines)
      out_.insert(out_.end(), lines->begin(), lines->end());
    else
      out_.push_back("  refused: " + lines.error().text());
    shape_.reset();
  }
};

TEST(TaskCores, AreThoseOfTheTable) {
  const std::vector<std::string> wanted = table();
  Answers answers;
  const std::vector<std::string> found = answers.of(wanted);
  EXPECT_GE(answers.shapes(), 30);
  for (size_t i = 0; i < std::max(wanted.size(), found.size()); ++i)
    ASSERT_EQ(i < found.size() ? found[i] : "(no line)", i < wanted.size() ? wanted[i] : "(no line)")
        << "at line " << i + 1 << " of " << GW_TABLE << "; all that is found:\n"
        << base::join(found, "\n");
}

}  // namespace
}  // namespace gw::task_cores
