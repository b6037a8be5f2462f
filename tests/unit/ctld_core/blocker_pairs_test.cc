// All that can keep a job waiting, one by one and two at a time: what is told of it, that it is told whole, and that
// the job starts once all of it is away, in either order. What is told stands in blocker_pairs.txt, which says how to
// read it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/blocker.h"
#include "tests/unit/ctld_core/obstacles.h"
#include "tests/unit/ctld_core/obstructed.h"

namespace gw::ctld::testing::obstacles {
namespace {

/// Kinds that no obstacle brings about.
const std::map<BlockerKind, std::string>& kinds_without_obstacle() {
  static const std::map<BlockerKind, std::string> all = {
      {BlockerKind::kUnknown, "only messages and records of a later version have it"},
      {BlockerKind::kReservationEnded, "a reservation that ends is deleted at once, and then it is gone"},
  };
  return all;
}

/// An obstacle, and the node that it may be about.
using Placed = std::pair<const Obstacle*, std::string>;

void each_of(const std::vector<Placed>& there, Obstructed& w, Put Obstacle::*what) {
  for (const auto& [o, node] : there)
    if (o->*what) (o->*what)(w, node);
}

std::unique_ptr<Obstructed> obstructed_by(const std::vector<Placed>& there) {
  ::setenv("TZ", "UTC", 1);
  Harbour harbour;
  for (const auto& [o, node] : there)
    if (o->build) o->build(harbour, node);
  auto w = std::make_unique<Obstructed>(std::move(harbour));
  const bool has_begun =
      std::any_of(there.begin(), there.end(), [](const Placed& o) { return static_cast<bool>(o.first->begin); });
  if (!has_begun) each_of(there, *w, &Obstacle::put);
  each_of(there, *w, &Obstacle::ask);
  w->submit_the_job();
  each_of(there, *w, &Obstacle::begin);
  if (has_begun) each_of(there, *w, &Obstacle::put);
  each_of(there, *w, &Obstacle::then);
  w->settle();
  return w;
}

/// What is told at one place, for people and to be compared.
struct Line {
  std::string text = "nothing";
  std::set<std::string> causes;  ///< Scope, where and kind of each.
  std::set<BlockerKind> kinds;
  bool has(const Line& other) const {
    return std::includes(causes.begin(), causes.end(), other.causes.begin(), other.causes.end());
  }
};

Line line_of(const Obstructed& w, const model::Blockers& blockers) {
  Line out;
  if (blockers.empty()) return out;
  out.text.clear();
  std::string_view scope;
  for (const model::Blocker& b : blockers) {
    out.causes.insert(fmt::format("{} {} {}", name(b.scope), w.name_of(b.where), name(b.kind)));
    out.kinds.insert(b.kind);
    if (name(b.scope) != scope) out.text += fmt::format("{}{}:", scope.empty() ? "" : " ", name(b.scope));
    scope = name(b.scope);
    out.text += fmt::format(" {}", name(b.kind));
  }
  out.text += " | " + w.words(blockers);
  return out;
}

/// A job that something keeps waiting.
struct Wait {
  Line told;
  Line found;  ///< By the scheduler, when `gangway why` asks it.
};

Wait wait_of(Obstructed& w) {
  if (!w.waits()) throw std::logic_error("the job does not wait");
  const Obstructed::Told told = w.told();
  return {line_of(w, told.blockers), line_of(w, told.found)};
}

void expect_start(Obstructed& w) {
  w.settle();
  if (w.waits()) ADD_FAILURE() << "nothing is in its way any more, and it waits: " << wait_of(w).told.text;
}

using Singles = std::map<std::string, Wait>;
using Pair = std::pair<const Obstacle*, const Obstacle*>;

bool has_need(const std::vector<std::string_view>& needs, std::string_view need) {
  return std::find(needs.begin(), needs.end(), need) != needs.end();
}

bool excludes(const Obstacle& a, const Obstacle& b) {
  return std::any_of(a.needs_alone.begin(), a.needs_alone.end(),
                     [&b](std::string_view need) { return has_need(b.needs_alone, need) || has_need(b.needs, need); });
}

/// The rule of obstacles.h.
void expect_rule(const Pair& pair, const Wait& both, const Singles& singles) {
  const bool is_first_nearer = pair.first->gate <= pair.second->gate;
  const auto& [nearer, later] = is_first_nearer ? pair : Pair(pair.second, pair.first);
  const Line& of_nearer = singles.at(nearer->name).told;
  const Line& of_later = singles.at(later->name).told;
  EXPECT_TRUE(both.told.has(of_nearer)) << "not all is told of " << nearer->name << ": " << both.told.text;
  if (nearer->gate == later->gate) EXPECT_TRUE(both.told.has(of_later)) << both.told.text;
  Line of_each = of_nearer;
  of_each.causes.insert(of_later.causes.begin(), of_later.causes.end());
  EXPECT_TRUE((nearer->gate <= Gate::kUnseen ? of_nearer : of_each).has(both.told)) << both.told.text;
  if (nearer->gate > Gate::kUnseen)
    EXPECT_EQ(both.found.text, both.told.text);
  else if (nearer->gate < Gate::kUnseen && later->gate > Gate::kUnseen)
    EXPECT_EQ(both.found.causes, of_later.causes) << both.found.text;
}

std::string brief(const Line& line, const Pair& pair, const Singles& singles) {
  for (const Obstacle* o : {pair.first, pair.second})
    if (singles.at(o->name).told.text == line.text) return "as " + o->name;
  return line.text;
}

/// What is told of a job whose place is not looked for again, since too little has become free for it, may be older
/// than what has changed meanwhile. So it may name what is away by now.
bool is_older(const Line& told, const Line& now, const Line& before) { return told.has(now) && before.has(told); }

/// Takes away the first, then the second. Says what is told in the end, and whether that is older.
std::string take_away(const Pair& pair, const Pair& as_listed, const Singles& singles, bool& is_old) {
  const std::string of_first = pair == as_listed ? "n0" : "n1", of_second = pair == as_listed ? "n1" : "n0";
  const auto w = obstructed_by({{as_listed.first, "n0"}, {as_listed.second, "n1"}});
  const Wait both = wait_of(*w);
  if (pair == as_listed) expect_rule(pair, both, singles);
  pair.first->lift(*w, of_first);
  w->settle();
  const Wait left = wait_of(*w);
  const Wait& alone = singles.at(pair.second->name);
  EXPECT_EQ(left.found.causes, alone.found.causes) << "without " << pair.first->name << ": " << left.found.text;
  is_old = left.told.causes != alone.told.causes;
  EXPECT_TRUE(!is_old || (pair.first->gate >= Gate::kNodes && is_older(left.told, alone.told, both.told)))
      << "without " << pair.first->name << ": " << left.told.text;
  pair.second->lift(*w, of_second);
  expect_start(*w);
  std::string out = brief(both.told, as_listed, singles);
  return both.found.text == both.told.text ? out : out + " || " + brief(both.found, as_listed, singles);
}

std::string pair_line(const Pair& pair, const Singles& singles) {
  bool is_old = false, is_old_reversed = false;
  const std::string told = take_away(pair, pair, singles, is_old);
  EXPECT_EQ(take_away({pair.second, pair.first}, pair, singles, is_old_reversed), told);
  const auto& [a, b] = pair;
  return fmt::format("{} + {} = {}{}{}", a->name, b->name, told, is_old ? " (old without " + a->name + ")" : "",
                     is_old_reversed ? " (old without " + b->name + ")" : "");
}

/// Tells what does not go as meant.
template <typename Fn>
void attempt(const std::string& what, const Fn& fn) {
  SCOPED_TRACE(what);
  try {
    fn();
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

Singles singles_of(const Obstacles& all) {
  Singles out;
  for (const Obstacle& o : all)
    attempt(o.name, [&] {
      const auto w = obstructed_by({{&o, "n0"}});
      out[o.name] = wait_of(*w);
      EXPECT_TRUE(out[o.name].told.kinds.contains(o.kind)) << out[o.name].told.text;
      o.lift(*w, "n0");
      expect_start(*w);
    });
  return out;
}

const Singles& all_singles() {
  static const Singles all = singles_of(all_obstacles());
  return all;
}

/// Lines of blocker_pairs.txt of some obstacles, with those of what they are paired with.
std::vector<std::string> golden_lines(const std::set<std::string>& of) {
  std::ifstream in(GW_SOURCE_DIR "/tests/unit/ctld_core/blocker_pairs.txt");
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (of.contains(line.substr(0, line.find(' ')))) out.push_back(line);
  return out;
}

void expect_golden(const std::vector<std::string>& lines, const std::set<std::string>& of) {
  const std::vector<std::string> golden = golden_lines(of);
  const std::set<std::string> there(golden.begin(), golden.end()), now(lines.begin(), lines.end());
  for (const std::string& line : golden)
    if (!now.contains(line)) ADD_FAILURE() << "no longer so:\n" << line;
  for (const std::string& line : lines)
    if (!there.contains(line)) ADD_FAILURE() << "blocker_pairs.txt would have to say:\n" << line;
  EXPECT_TRUE(lines == golden || there != now) << "the lines are not in the order of the table";
}

TEST(BlockerPairs, EachLineIsOfAnObstacle) {
  std::set<std::string> names = {"#"};
  for (const Obstacle& o : all_obstacles()) names.insert(o.name);
  std::ifstream in(GW_SOURCE_DIR "/tests/unit/ctld_core/blocker_pairs.txt");
  for (std::string line; std::getline(in, line);) EXPECT_TRUE(names.contains(line.substr(0, line.find(' ')))) << line;
}

TEST(BlockerPairs, EachKindIsBroughtAboutOrSaysWhyNot) {
  std::set<BlockerKind> told;
  for (const auto& [name, wait] : all_singles()) told.insert(wait.told.kinds.begin(), wait.told.kinds.end());
  for (size_t i = 0; i <= static_cast<size_t>(model::kLastBlockerKind); ++i) {
    const auto kind = static_cast<BlockerKind>(i);
    EXPECT_NE(told.contains(kind), kinds_without_obstacle().contains(kind))
        << name(kind) << ": it needs an obstacle, or a reason why there is none";
  }
}

/// Some of the obstacles, each with all that stand behind it in the table.
class BlockerPairsOf : public ::testing::TestWithParam<size_t> {};
constexpr size_t kShares = 4;

TEST_P(BlockerPairsOf, EachIsToldAndTheJobStartsWithoutThem) {
  const Obstacles all = all_obstacles();
  const Singles& singles = all_singles();
  ASSERT_EQ(singles.size(), all.size()) << "each has a name of its own, and keeps the job waiting";
  std::vector<std::string> lines;
  std::set<std::string> mine;
  for (size_t i = GetParam(); i < all.size(); i += kShares) {
    const Obstacle& a = all[i];
    mine.insert(a.name);
    const Wait& alone = singles.at(a.name);
    lines.push_back(a.name + " = " + alone.told.text +
                    (alone.found.text == alone.told.text ? "" : " || " + alone.found.text));
    for (size_t k = i + 1; k < all.size(); ++k) {
      const Obstacle& b = all[k];
      if (excludes(a, b) || excludes(b, a)) continue;
      attempt(a.name + " + " + b.name, [&] { lines.push_back(pair_line({&a, &b}, singles)); });
    }
  }
  expect_golden(lines, mine);
}

INSTANTIATE_TEST_SUITE_P(Shares, BlockerPairsOf, ::testing::Range(size_t{0}, kShares));

}  // namespace
}  // namespace gw::ctld::testing::obstacles
