// Where the controller's state comes from. See lineage.h.
#include "ctld/core/tables/lineage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gw::ctld {

namespace {

constexpr char kRootRow[] = "state_root";
constexpr char kStartsRow[] = "state_starts";  // "NAME FIRST_COMMIT", one a line
constexpr char kCommitRow[] = "commit";

/// More commits than were ever made since the last start; and so many that some are left to be made.
constexpr uint64_t kLeap = uint64_t{1} << 40;
constexpr int64_t kMostCommits = INT64_MAX >> 1;

bool is_name(std::string_view text) {
  constexpr size_t kLongest = 200;
  return text.size() <= kLongest && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

std::vector<std::string> Lineage::restore(const std::vector<store::NamedBytes>& meta) {
  std::vector<std::string> unread;
  bool is_count_lost = false;
  for (const store::NamedBytes& row : meta) {
    if (row.name == kRootRow) {
      if (is_name(row.bytes))
        root_ = row.bytes;
      else
        unread.push_back(row.name);
    }
    if (row.name == kCommitRow) {
      const auto commit = base::parse_int(row.bytes, 0, kMostCommits, kCommitRow);
      if (commit)
        commit_ = static_cast<uint64_t>(*commit);
      else
        unread.push_back(row.name);
      is_count_lost = !commit;
    }
    if (row.name == kStartsRow && !read_starts(row.bytes)) unread.push_back(row.name);
  }
  if (is_count_lost) {
    for (const auto& [name, first] : starts_) commit_ = std::max(commit_, first);
    commit_ += kLeap;
  }
  return unread;
}

/// False: some line says nothing. The others are taken.
bool Lineage::read_starts(const std::string& lines) {
  bool is_whole = true;
  for (const std::string& line : base::split(lines, '\n')) {
    const size_t space = line.find(' ');
    if (line.empty()) continue;
    const auto first = space == std::string::npos
                           ? base::Result<int64_t>(base::invalid("no number"))
                           : base::parse_int(line.substr(space + 1), 0, kMostCommits, kStartsRow);
    if (first && is_name(line.substr(0, space)))
      starts_.emplace_back(line.substr(0, space), static_cast<uint64_t>(*first));
    else
      is_whole = false;
  }
  return is_whole;
}

void Lineage::begin(const std::string& incarnation) {
  if (incarnation.empty()) return;
  if (root_.empty()) root_ = incarnation;
  starts_.emplace_back(incarnation, commit_ + 1);
  if (starts_.size() > kMostStarts) starts_.erase(starts_.begin());
  is_saved_ = false;
}

store::Batch Lineage::unsaved() {
  if (std::exchange(is_saved_, true)) return {};
  std::string starts;
  for (const auto& [name, first] : starts_) starts += fmt::format("{} {}\n", name, first);
  return {store::PutMeta{kRootRow, root_}, store::PutMeta{kStartsRow, std::move(starts)}};
}

store::PutMeta Lineage::commit_row() const { return {kCommitRow, std::to_string(commit_)}; }

model::StateMark Lineage::mark() const {
  return root_.empty() ? model::StateMark{} : model::StateMark{root_, starts_.back().first, commit_};
}

model::StateMark Lineage::mark_of_next() const {
  model::StateMark mark = this->mark();
  if (mark.says_anything()) ++mark.commit;
  return mark;
}

Kin Lineage::kin(const model::StateMark& mark) const {
  if (!mark.says_anything() || root_.empty()) return Kin::kOurs;
  if (mark.root != root_) return Kin::kOther;
  const auto start =
      std::find_if(starts_.begin(), starts_.end(), [&](const auto& s) { return s.first == mark.incarnation; });
  if (start == starts_.end()) return Kin::kNewer;
  // With the next start begins what this store has not seen of the one before.
  const auto next = start + 1;
  return next == starts_.end() || mark.commit < next->second ? Kin::kOurs : Kin::kNewer;
}

}  // namespace gw::ctld
