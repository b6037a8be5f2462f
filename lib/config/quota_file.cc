// See quota_file.h.
#include "config/quota_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "config/read.h"

namespace gw::config {
namespace {

using model::Qos;
using model::QuotaUser;

const Key<QuotaUser> kUserKeys[] = {
    {{"name", Kind::kText, Reload::kLive, "Name of the user."}, [](QuotaUser& u) -> Ref { return &u.name; }},
    {{"default_qos", Kind::kName, Reload::kLive, "QOS of jobs that name none."},
     [](QuotaUser& u) -> Ref { return &u.default_qos; }},
    {{"budget", Kind::kBudget, Reload::kLive, "GPU-hours of all its jobs in a period."},
     [](QuotaUser& u) -> Ref { return &u.budget; }},
};

std::span<const Key<QuotaUser>> user_keys() { return kUserKeys; }

/// Goes down from the root and counts off what it came by.
class Walk {
 public:
  explicit Walk(const std::vector<Qos>& qos) : qos_(qos), seen_(qos.size()) {
    for (size_t i = 0; i < qos.size(); ++i)
      (qos[i].name == model::kRootQos ? roots_ : children_[qos[i].parent]).push_back(i);
    for (auto& [parent, list] : children_)
      std::sort(list.begin(), list.end(), [&](size_t a, size_t b) { return qos[a].name < qos[b].name; });
  }

  std::vector<TreePlace> run() {
    for (size_t i : roots_) take(i, 0);
    go_down("", 1);
    for (size_t i = 0; i < qos_.size(); ++i)
      if (!seen_[i]) take(i, 1);
    return std::move(out_);
  }

 private:
  void take(size_t index, size_t depth) {
    seen_[index] = true;
    out_.push_back({index, depth});
  }

  void go_down(const std::string& parent, size_t depth) {
    const auto list = children_.find(parent);
    if (list == children_.end()) return;
    for (size_t i : list->second) {
      if (seen_[i]) continue;
      take(i, depth);
      go_down(qos_[i].name, depth + 1);
    }
  }

  const std::vector<Qos>& qos_;
  std::vector<bool> seen_;
  std::vector<size_t> roots_;
  std::map<std::string, std::vector<size_t>> children_;
  std::vector<TreePlace> out_;
};

class Reader {
 public:
  Reader(const Value& root, Problems& problems, const RoleCheck& check)
      : root_(root), problems_(problems), check_(check) {}

  QuotaFile read() {
    check_top();
    read_list("qos", qos_keys(), file_.qos, qos_places_);
    read_list("users", user_keys(), file_.users, user_places_);
    for (size_t i = 0; i < file_.qos.size(); ++i) check_qos(file_.qos[i], *qos_places_[i]);
    for (size_t i = 0; i < file_.users.size(); ++i) check_user(file_.users[i], *user_places_[i]);
    if (!problems_.has_errors()) check_tree();
    return std::move(file_);
  }

 private:
  void check_top() {
    const std::string known[] = {"qos", "users"};
    MapKeys seen;
    for (size_t i = 0; i + 1 < root_.items.size(); i += 2) {
      const Value& name = root_.items[i];
      if (seen.is_new(name, problems_) && std::find(std::begin(known), std::end(known), name.text) == std::end(known))
        tell_unknown(name, known, problems_);
    }
    if (root_.find("qos") == nullptr)
      problems_.error(root_, "the file has no list qos:", "write `qos: []` for a tree without QOS");
  }

  template <typename T>
  void read_list(std::string_view key, std::span<const Key<T>> keys, std::vector<T>& to,
                 std::vector<const Value*>& places) {
    std::map<std::string, uint32_t> lines;
    for (const Value& item : list_items(root_, key, problems_)) {
      T one;
      if (item.kind != Value::Kind::kMap) {
        problems_.error(item, fmt::format("an entry of {} is a map", key), "write `- name: NAME`");
        continue;
      }
      const size_t before = problems_.errors();
      read_map(keys, "", item, one, problems_);
      if (one.name.empty()) {
        if (problems_.errors() == before)
          problems_.error(item, fmt::format("this entry of {} has no name", key), "write `name: NAME`");
        continue;
      }
      if (const auto [first, is_new] = lines.emplace(one.name, item.line); !is_new) {
        problems_.error(item,
                        fmt::format("{} is there twice, first in line {}", base::printable(one.name), first->second),
                        "leave one");
        continue;
      }
      to.push_back(std::move(one));
      places.push_back(&item);
    }
  }

  void check_qos(Qos& q, const Value& at) {
    if (q.parent == model::kRootQos) q.parent.clear();
    check_roles(q.users, place_of(at, "users"));
    check_roles(q.operators, place_of(at, "operators"));
    if (q.name != model::kRootQos) return;
    Qos roles_only;
    roles_only.name = q.name;
    roles_only.users = q.users;
    roles_only.operators = q.operators;
    if (q != roles_only)
      problems_.error(at, fmt::format("the root of the tree ({}) has users and operators only", model::kRootQos),
                      "leave the other keys out");
  }

  void check_roles(const std::vector<std::string>& names, const Value& at) {
    for (const std::string& name : names)
      if (const base::Status known = check_(name); !known)
        problems_.host_error(at, known.error().what, known.error().hint);
  }

  void check_user(const QuotaUser& user, const Value& at) {
    if (const base::Status known = check_(user.name); !known)
      problems_.host_error(at, known.error().what, known.error().hint);
    if (user.budget && user.budget->borrows)
      problems_.error(place_of(at, "budget"), "only the budget of a QOS can say :borrow");
    if (user.default_qos.empty() && user.budget) return;
    if (user.default_qos.empty())
      return problems_.error(at, fmt::format("user {} has neither default_qos nor budget", base::printable(user.name)),
                             "leave the entry out");
    std::vector<std::string> names;
    for (const Qos& q : file_.qos) names.push_back(q.name);
    if (user.default_qos == model::kRootQos || std::find(names.begin(), names.end(), user.default_qos) == names.end())
      problems_.error(place_of(at, "default_qos"), fmt::format("no QOS \"{}\"", user.default_qos),
                      problems_.wants_hints() ? base::did_you_mean(user.default_qos, names) : "");
  }

  void check_tree() {
    std::vector<Qos> tree;
    for (const Qos& q : file_.qos)
      if (q.name != model::kRootQos) tree.push_back(q);
    const auto fault = model::check_qos_tree(tree);
    if (!fault) return;
    for (size_t i = 0; i < file_.qos.size(); ++i)
      if (file_.qos[i].name == fault->qos) problems_.error(place_of(*qos_places_[i], "parent"), fault->error);
  }

  const Value& root_;
  Problems& problems_;
  const RoleCheck& check_;
  QuotaFile file_;
  std::vector<const Value*> qos_places_, user_places_;
};

template <typename T>
void write_entry(std::string& out, std::span<const Key<T>> keys, const T& object) {
  for (const Key<T>& key : keys) {
    const std::string text = yaml(key, object);
    if (is_name_key(key.info.name))
      out += fmt::format("  - {}: {}\n", key.info.name, text);
    else if (text != yaml(key, T{}))
      out += fmt::format("    {}: {}\n", key.info.name, text);
  }
}

}  // namespace

std::vector<TreePlace> tree_order(const std::vector<Qos>& qos) { return Walk(qos).run(); }

base::Result<QuotaFile> parse_quota_file(std::string_view text, const std::string& path, const RoleCheck& check) {
  GW_TRY(root, read_yaml(text, path));
  Problems problems(path);
  QuotaFile read = Reader(root, problems, check).read();
  if (problems.has_errors()) return tl::unexpected<base::Error>(problems.to_error());
  QuotaFile out;
  for (const TreePlace& place : tree_order(read.qos)) out.qos.push_back(std::move(read.qos[place.index]));
  out.users = std::move(read.users);
  std::sort(out.users.begin(), out.users.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::string quota_file_text(const QuotaFile& file) {
  std::string out = "# Quotas of Gangway. Keys are those of qos: in docs/config.md; gacctmgr load reads this file.\n";
  out += file.qos.empty() ? "qos: []\n" : "qos:\n";
  for (const TreePlace& place : tree_order(file.qos)) write_entry(out, qos_keys(), file.qos[place.index]);
  std::vector<QuotaUser> users = file.users;
  std::sort(users.begin(), users.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (!users.empty()) out += "users:\n";
  for (const QuotaUser& user : users) write_entry(out, user_keys(), user);
  return out;
}

}  // namespace gw::config
