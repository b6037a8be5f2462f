// See held_rows.h.
#include "ctld/core/tables/held_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"

namespace gw::ctld {

namespace {

constexpr std::string_view kJob = store::word_of(store::RowKind::kJob);
constexpr size_t kFewNodes = 64;  // so many are written down again and again

}  // namespace

std::string held_reply_name(uint32_t uid, const std::string& client_id) {
  return fmt::format("{}/{}", uid, base::printable(client_id, 100));
}

uint32_t job_of_held(const store::HeldRow& row) {
  if (row.kind != kJob) return 0;
  const auto id = base::parse_int(row.name, 1, UINT32_MAX, "job");
  return id ? static_cast<uint32_t>(*id) : 0;
}

void HeldRows::add(store::HeldRow row) {
  if (const uint32_t job = job_of_held(row); job != 0)
    if (const auto names = base::expand_hostlist(row.nodes))
      for (const std::string& node : *names) {
        jobs_on_[node].insert(job);
        nodes_of_[job].insert(node);
        stored_[job] = nodes_of_[job].size();
      }
  Key key{row.kind, row.name};
  rows_[std::move(key)] = std::move(row);
}

bool HeldRows::erase(std::string_view kind, std::string_view name) {
  const auto it = rows_.find(Key(kind, name));
  if (it == rows_.end()) return false;
  const uint32_t job = job_of_held(it->second);
  rows_.erase(it);
  if (job == 0) return true;
  for (const std::string& node : nodes_of_[job]) {
    const auto on = jobs_on_.find(node);
    on->second.erase(job);
    if (on->second.empty()) jobs_on_.erase(on);
  }
  nodes_of_.erase(job);
  stored_.erase(job);
  return true;
}

const store::HeldRow* HeldRows::find(std::string_view kind, std::string_view name) const {
  if (rows_.empty()) return nullptr;
  const auto it = rows_.find(Key(kind, name));
  return it == rows_.end() ? nullptr : &it->second;
}

bool HeldRows::has_jobs() const {
  const auto it = rows_.lower_bound(Key(kJob, ""));
  return it != rows_.end() && it->first.first == kJob;
}

std::string HeldRows::free_name(std::string_view kind, const std::string& name) const {
  std::string found = name;
  for (int n = 2; find(kind, found) != nullptr; ++n) found = fmt::format("{}#{}", name, n);
  return found;
}

std::set<uint32_t> HeldRows::jobs_on(const std::string& node) const {
  const auto it = jobs_on_.find(node);
  return it == jobs_on_.end() ? std::set<uint32_t>() : it->second;
}

const store::HeldRow* HeldRows::set_on(const std::string& node, uint32_t job, bool may_run) {
  const auto row = rows_.find(Key(kJob, std::to_string(job)));
  if (row == rows_.end()) return nullptr;
  const auto on = jobs_on_.find(node);
  if ((on != jobs_on_.end() && on->second.contains(job)) == may_run) return nullptr;
  if (may_run) {
    jobs_on_[node].insert(job);
    nodes_of_[job].insert(node);
  } else {
    on->second.erase(job);
    if (on->second.empty()) jobs_on_.erase(on);
    nodes_of_[job].erase(node);
  }
  const size_t nodes = nodes_of_[job].size(), stored = stored_[job];
  const bool is_due = nodes <= kFewNodes || nodes >= 2 * stored || 2 * nodes <= stored;
  if (!is_due) return nullptr;
  stored_[job] = nodes;
  set_nodes(row->second, job);
  return &row->second;
}

const store::HeldRow& HeldRows::complete(const store::HeldRow& row) {
  const uint32_t job = job_of_held(row);
  if (job == 0) return row;
  store::HeldRow& kept = rows_.at(Key(row.kind, row.name));
  set_nodes(kept, job);
  return kept;
}

void HeldRows::set_nodes(store::HeldRow& row, uint32_t job) {
  const std::set<std::string>& names = nodes_of_[job];
  row.nodes = base::compress_hostlist({names.begin(), names.end()});
}

std::string HeldRows::text_on(const std::string& node) const {
  constexpr size_t kShown = 10;
  std::string out;
  size_t n = 0;
  for (const uint32_t job : jobs_on(node)) {
    if (n == kShown) return out + ", ...";
    out += fmt::format("{}job {}", n++ > 0 ? ", " : "", job);
  }
  return out;
}

}  // namespace gw::ctld
