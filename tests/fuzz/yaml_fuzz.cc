// The quick reader of plain YAML against the full one: whatever it gives, the full one gives too.
#include "config/plain_yaml.h"
#include "config/yaml_tree.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

constexpr std::string_view kKeys[] = {"cluster", "controller", "auth"};

bool is_same(const config::Value& a, const config::Value& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size()) return false;
  if (a.kind == config::Value::Kind::kScalar && a.is_quoted != b.is_quoted) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!is_same(a.items[i], b.items[i])) return false;
  return true;
}

bool run(std::string_view input) {
  const auto full = config::read_yaml(input, "x.yaml", kKeys);
  if (!full) check_error(full.error());
  const auto plain = config::read_plain_yaml(input, kKeys);
  if (!plain) return false;
  if (!full) return true;  // for what stands under other keys
  for (const std::string_view key : kKeys) {
    const config::Value* quick = plain->find(key);
    const config::Value* slow = full->find(key);
    FUZZ_CHECK((quick == nullptr) == (slow == nullptr));
    if (quick != nullptr) FUZZ_CHECK(is_same(*quick, *slow));
  }
  return true;
}

GW_FUZZ_TARGET("yaml", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
