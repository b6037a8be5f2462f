// Properties of lib/base: round trips, IndexSet against std::set, and parsers that survive any text.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/bitset.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "base/time.h"

namespace gw::base {
namespace {

using Indices = std::set<uint32_t>;

IndexSet to_index_set(const Indices& indices) {
  IndexSet set;
  for (const uint32_t i : indices) set.insert(i);
  return set;
}

Indices indices() { return *rc::gen::container<Indices>(rc::gen::inRange<uint32_t>(0, 200)); }

std::vector<uint32_t> listed(const Indices& indices) { return {indices.begin(), indices.end()}; }

/// Texts near a grammar: made of its own characters, so that parsers get past the first one.
std::string text_of(const std::string& alphabet) {
  return *rc::gen::container<std::string>(rc::gen::elementOf(alphabet));
}

std::string host_name() {
  const auto prefix = *rc::gen::element<std::string>("n", "node-", "r1n", "gpu", "x.y", "a_");
  const auto number = *rc::gen::inRange<uint32_t>(0, 120);
  const auto width = *rc::gen::inRange<size_t>(0, 5);
  if (width == 0) return prefix;
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return prefix + digits + *rc::gen::element<std::string>("", "", "", "-ib");
}

RC_GTEST_PROP(HostlistProp, ExpandUndoesCompress, ()) {
  auto names = *rc::gen::container<std::vector<std::string>>(rc::gen::exec(host_name));
  RC_ASSERT(expand_hostlist(compress_hostlist(names)).value() == names);
  sort_hostlist(names);
  RC_ASSERT(expand_hostlist(compress_hostlist(names)).value() == names);
}

RC_GTEST_PROP(HostlistProp, SurvivesAnyText, ()) {
  const std::string text =
      *rc::gen::arbitrary<bool>() ? text_of("n[]-,0123456789") : *rc::gen::arbitrary<std::string>();
  const auto names = expand_hostlist(text, 1000);
  if (!names) {
    RC_ASSERT(!names.error().what.empty());
    return;
  }
  RC_ASSERT(names->size() <= 1000u);
  RC_ASSERT(expand_hostlist(compress_hostlist(*names)).value() == *names);
}

RC_GTEST_PROP(HostlistProp, OrderIsStrictAndTotal, ()) {
  const auto names = *rc::gen::container<std::vector<std::string>>(3, rc::gen::exec(host_name));
  const std::string &a = names[0], &b = names[1], &c = names[2];
  RC_ASSERT(!(host_less(a, b) && host_less(b, a)));
  RC_ASSERT((a == b || host_less(a, b) || host_less(b, a)));
  RC_ASSERT((!(host_less(a, b) && host_less(b, c)) || host_less(a, c)));
}

RC_GTEST_PROP(IndexSetProp, BehavesLikeASet, ()) {
  const Indices a = indices(), b = indices();
  const IndexSet x = to_index_set(a), y = to_index_set(b);
  Indices both, either, rest;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::inserter(either, either.end()));
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(rest, rest.end()));
  IndexSet x_and = x, x_or = x, x_minus = x;
  RC_ASSERT((x_and &= y).to_vector() == listed(both));
  RC_ASSERT((x_or |= y).to_vector() == listed(either));
  RC_ASSERT((x_minus -= y).to_vector() == listed(rest));
  RC_ASSERT(x_and == to_index_set(both));
  RC_ASSERT(x_minus == to_index_set(rest));
  RC_ASSERT(x.size() == a.size());
  RC_ASSERT(x.intersects(y) == !both.empty());
  RC_ASSERT(x.common(y) == both.size());
  RC_ASSERT(x.is_subset_of(y) == rest.empty());
  RC_ASSERT((x == y) == (a == b));
}

RC_GTEST_PROP(IndexSetProp, ErasesLikeASet, ()) {
  Indices a = indices();
  IndexSet x = to_index_set(a);
  for (const uint32_t i : indices()) {
    a.erase(i);
    x.erase(i);
    RC_ASSERT(x == to_index_set(a));
  }
}

RC_GTEST_PROP(IndexSetProp, ParseUndoesText, ()) {
  const IndexSet set = to_index_set(indices());
  RC_ASSERT(IndexSet::parse(set.text()).value() == set);
}

RC_GTEST_PROP(IndexSetProp, ParseSurvivesAnyText, ()) {
  const auto set = IndexSet::parse(text_of("0123456789,,-- x"));
  RC_ASSERT((!set || IndexSet::parse(set->text()).value() == *set));
}

RC_GTEST_PROP(TimeProp, ParsersSurviveAnyText, ()) {
  const std::string text =
      *rc::gen::arbitrary<bool>() ? text_of("0123456789:-dhms/+nowtapT ") : *rc::gen::arbitrary<std::string>();
  const auto duration = parse_duration(text);
  RC_ASSERT((duration ? duration->us >= 0 : !duration.error().what.empty()));
  const Time now{1'779'283'800'000'000};
  const auto time = parse_time(text, now);
  RC_ASSERT((time ? time->us >= 0 : !time.error().what.empty()));
  const auto offset = parse_time("now" + text, now);
  RC_ASSERT((offset ? offset->us >= 0 : !offset.error().what.empty()));
}

RC_GTEST_PROP(TimeProp, ParseUndoesFormat, ()) {
  const Duration d = seconds(*rc::gen::inRange<int64_t>(0, 10'000'000));
  RC_ASSERT(parse_duration(format_duration(d)).value() == d);
}

RC_GTEST_PROP(TextProp, MemorySurvivesAnyText, ()) {
  const std::string text =
      *rc::gen::arbitrary<bool>() ? text_of("0123456789.KMGTiB-") : *rc::gen::arbitrary<std::string>();
  const auto mb = parse_memory_mb(text);
  RC_ASSERT((mb ? *mb <= uint64_t{1} << 41 : !mb.error().what.empty()));
}

RC_GTEST_PROP(TextProp, SplitUndoesJoin, ()) {
  const auto parts = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::string>>(rc::gen::map(rc::gen::arbitrary<std::string>(), [](std::string s) {
        std::erase(s, ',');
        return s;
      })));
  const std::string joined = join(parts, ",");
  RC_ASSERT((joined.empty() || split(joined, ',') == parts));
}

RC_GTEST_PROP(TextProp, ShellWordsUndoQuoting, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::arbitrary<std::string>());
  std::string line;
  for (const std::string& word : words) line += shell_quote(word) + " ";
  RC_ASSERT(split_shell_words(line).value() == words);
}

RC_GTEST_PROP(TextProp, PrintableIsShortAndClean, (const std::string& text)) {
  const std::string shown = printable(text, 40);
  RC_ASSERT(shown.size() <= 40u);
  RC_ASSERT(std::none_of(shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }));
}

}  // namespace
}  // namespace gw::base
