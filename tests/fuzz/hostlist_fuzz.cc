// Host lists and index lists: what expands stays within its bound and comes back from its compressed form.
#include <algorithm>

#include "base/bitset.h"
#include "base/hostlist.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

constexpr size_t kMaxHosts = 500;

void check_indices(std::string_view text) {
  const auto set = base::IndexSet::parse(text);
  if (!set) return check_error(set.error());
  FUZZ_CHECK(base::IndexSet::parse(set->text()) == *set);
  FUZZ_CHECK(set->size() == set->to_vector().size());
}

void check_order(std::vector<std::string> names) {
  for (size_t i = 1; i < names.size(); ++i)
    FUZZ_CHECK(!(base::host_less(names[i], names[i - 1]) && base::host_less(names[i - 1], names[i])));
  base::sort_hostlist(names);
  FUZZ_CHECK(std::is_sorted(names.begin(), names.end(), base::host_less));
  FUZZ_CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  const auto again = base::expand_hostlist(base::compress_hostlist(names));
  FUZZ_CHECK(again && *again == names);
}

bool run(std::string_view input) {
  check_indices(input);
  const auto names = base::expand_hostlist(input, kMaxHosts);
  if (!names) {
    check_error(names.error());
    return false;
  }
  FUZZ_CHECK(names->size() <= kMaxHosts);
  for (const std::string& name : *names) FUZZ_CHECK(!name.empty());
  const auto again = base::expand_hostlist(base::compress_hostlist(*names));
  FUZZ_CHECK(again && *again == *names);
  check_order(*names);
  return true;
}

GW_FUZZ_TARGET("hostlist", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
