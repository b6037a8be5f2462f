// The screens of `gangway top`.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "client/show/display.h"
#include "client/show/node_view.h"
#include "cmds/gangway/top/screen.h"

namespace gw::cmds::top {

namespace {

using client::Tone;

constexpr size_t kHeadRows = 3;  // the cluster, its GPUs, the views
constexpr size_t kLeastColumns = 40, kLeastRows = 10;
constexpr Style kBold{.is_bold = true}, kReverse{.is_reverse = true}, kFaint{.tone = Tone::kFaint};

/// "12:04:31", local.
std::string clock_of(base::Time now) {
  const std::string text = base::format_time(now);  // 2027-01-15T08:00:00
  return text.size() > 11 ? text.substr(11, 8) : text;
}

void put_right(Grid& grid, size_t row, const std::string& text, Style style) {
  const size_t width = client::display_width(text);
  grid.put(row, grid.columns() > width ? grid.columns() - width : 0, text, style);
}

}  // namespace

/// Has the controller said what this view shows, with this filter?
bool Screen::is_told() const {
  switch (view_) {
    case View::kJobs:
      return known_.jobs_of == filter_.text;
    case View::kNodes:
      return known_.nodes.has_value();
    case View::kPartitions:
      return known_.partitions.has_value();
    case View::kQuotas:
      return known_.shares.has_value();
  }
  return false;
}

void Screen::make_rows(size_t columns) {
  static const Known kNothing;
  columns_ = columns;
  if (rows_ != nullptr && made_of_ == known_.version && made_for_ == columns) return;
  made_of_ = known_.version;
  made_for_ = columns;
  switch (view_) {
    case View::kJobs:
      rows_ = job_rows(is_told() ? known_ : kNothing, filter_, order_, look_);
      break;
    case View::kNodes:
      rows_ = node_rows(known_, filter_, look_);
      break;
    case View::kPartitions:
      rows_ = partition_rows(known_, filter_, look_);
      break;
    case View::kQuotas:
      rows_ = quota_rows(known_, filter_, look_, columns);
      break;
  }
  follow_choice();
}

/// The chosen row may stand elsewhere now, or be gone: then the one in its place is, and says so before a key acts on
/// it.
void Screen::follow_choice() {
  Place& p = place();
  const size_t size = rows_->size();
  if (size == 0) {
    p.row = 0;
    if (is_told()) p.name.clear();
    return;
  }
  for (size_t i = 0; !p.name.empty() && i < size; ++i)
    if (rows_->name(i) == p.name) {
      p.row = i;
      return;
    }
  is_choice_new_ = !p.name.empty() && view_ == View::kJobs;
  p.row = std::min(p.row, size - 1);
  p.name = rows_->name(p.row);
}

void Screen::draw_head(Grid& grid, base::Time now) const {
  std::string name = "gangway top";
  std::string counts = "no answer yet";
  if (known_.ping) {
    name += "  " + base::printable(known_.ping->cluster(), 40);
    counts = fmt::format("{} of {} nodes up, {} jobs run, {} wait", known_.ping->nodes_up(), known_.ping->nodes(),
                         known_.ping->running(), known_.ping->pending());
  }
  const size_t at = grid.put(0, 0, name, kBold);
  grid.put(0, at + 2, counts);
  put_right(grid, 0, known_.ping ? clock_of(now) : "", {});
  client::GpuCounts gpus;
  for (const wire::Node& node : told(known_.nodes).nodes()) gpus += client::gpu_counts(node);
  const uint32_t all = gpus.free + gpus.used + gpus.offline;
  constexpr size_t kBar = 20;
  constexpr base::Duration kLong = base::seconds(3);
  if (known_.trouble.empty() && known_.silent > kLong)
    grid.put(1, 0, fmt::format("no answer for {} s", known_.silent.us / 1'000'000),
             {.tone = Tone::kBad, .is_bold = true});
  else if (!known_.trouble.empty())
    grid.put(1, 0, base::printable(known_.trouble, 300), {.tone = Tone::kBad, .is_bold = true});
  else if (all > 0)
    grid.put(1, 0,
             fmt::format("GPUs {} {} in use, {} free, {} offline", bar(gpus.used, all, kBar, look_), gpus.used,
                         gpus.free, gpus.offline));
}

void Screen::draw_tabs(Grid& grid, size_t row) const {
  constexpr std::string_view kNames[] = {" 1 Jobs ", " 2 Nodes ", " 3 Partitions ", " 4 Quotas "};
  size_t at = 0;
  for (size_t i = 0; i < std::size(kNames); ++i)
    at = grid.put(row, at, kNames[i], i == static_cast<size_t>(view_) ? kReverse : kFaint);
  if (!filter_.is_empty()) grid.put(row, at + 2, "only " + base::printable(filter_.text, 200), {.tone = Tone::kWaits});
}

void Screen::draw_rows(Grid& grid, size_t from, size_t to, base::Time now) {
  make_rows(grid.columns());
  Place& p = place();
  std::vector<std::string> about;
  if (rows_->size() > 0) about = rows_->about(p.row, grid.columns(), now);
  const size_t room = to - from;
  const size_t most_about = room * 2 / 5;  // the rows have the larger part
  if (about.size() > most_about) about.resize(most_about);
  const size_t below = about.empty() ? 0 : about.size() + 1;
  page_rows_ = std::max<size_t>(room - below - 1, 1);  // one is the header
  if (p.row < p.first) p.first = p.row;
  if (p.row >= p.first + page_rows_) p.first = p.row - page_rows_ + 1;
  if (rows_->size() <= page_rows_) p.first = 0;
  const size_t last = std::min(p.first + page_rows_, rows_->size());
  const RowView::Table table = rows_->table(p.first, last, grid.columns(), now);
  grid.put(from, 0, table.header, kBold);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    grid.put(from + 1 + i, 0, table.rows[i]);
    if (p.first + i == p.row && view_ != View::kQuotas) grid.restyle(from + 1 + i, kReverse);
  }
  if (rows_->size() == 0)
    grid.put(from + 1, 0,
             !is_told()           ? "Asking the controller."
             : filter_.is_empty() ? "There are none."
                                  : "Nothing fits.",
             kFaint);
  for (size_t i = 0; i < about.size(); ++i) grid.put(to - about.size() + i, 0, about[i]);
  if (below > 0) {
    std::string line;
    for (size_t i = 0; i < grid.columns(); ++i) line += look_.unicode ? "\u2500" : "-";
    grid.put(to - below, 0, line, kFaint);
    put_right(grid, to - below, fmt::format(" {} of {} ", p.row + 1, rows_->size()), kFaint);
  }
}

void Screen::draw_page(Grid& grid, size_t from, size_t to) {
  grid.put(from, 0, page_->title, kBold);
  page_rows_ = to - from - 1;
  for (size_t i = 0; i < page_rows_ && page_->first + i < page_->lines.size(); ++i)
    grid.put(from + 1 + i, 0, page_->lines[page_->first + i]);
}

void Screen::draw_last_line(Grid& grid) const {
  const size_t row = grid.rows() - 1;
  if (question_) {
    grid.put(row, 0, question_->text, {.tone = Tone::kWaits, .is_bold = true});
  } else if (typed_) {
    const size_t at = grid.put(row, 0, "/" + base::printable(typed_->text, SIZE_MAX), kBold);
    grid.put(row, at, " ", kReverse);
  } else if (!said_.empty()) {
    grid.put(row, 0, base::printable(said_, 500), {.tone = is_said_bad_ ? Tone::kBad : Tone::kGood, .is_bold = true});
  } else if (page_) {
    grid.put(row, 0, "Up Down: scroll   any other key: back", kFaint);
  } else {
    const bool are_jobs = view_ == View::kJobs;
    grid.put(row, 0,
             are_jobs                ? "q leave  ? keys  / filter  m mine  s order  w why  c cancel  h hold  r release"
             : view_ == View::kNodes ? "q leave  ? keys  / filter  Enter drawing"
                                     : "q leave  ? keys  / filter",
             kFaint);
  }
}

Grid Screen::draw(size_t columns, size_t rows, base::Time now) {
  Grid grid(columns, rows);
  if (columns < kLeastColumns || rows < kLeastRows) {
    grid.put(0, 0, fmt::format("{}x{} at least", kLeastColumns, kLeastRows));
    return grid;
  }
  draw_head(grid, now);
  draw_tabs(grid, 2);
  if (page_)
    draw_page(grid, kHeadRows, rows - 1);
  else
    draw_rows(grid, kHeadRows, rows - 1, now);
  draw_last_line(grid);
  return grid;
}

}  // namespace gw::cmds::top
