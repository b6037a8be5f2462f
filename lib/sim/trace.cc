// See trace.h.
#include "sim/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/text.h"
#include "sim/csv.h"
#include "sim/sacct_rows.h"
#include "sim/trace_columns.h"

namespace gw::sim {
namespace {

using base::Duration;
using base::Result;

constexpr size_t kMaxErrors = 100;
constexpr double kMaxSeconds = 1e11;
constexpr size_t kNoField = SIZE_MAX;

// ---- Single values

base::Error bad(std::string_view text, std::string_view what) {
  return {base::ErrorCode::kInvalid, fmt::format("\"{}\" is not {}", base::printable(text, 60), what), ""};
}

Result<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value)) return tl::unexpected(bad(text, "a number"));
  return value;
}

Result<int64_t> parse_whole(std::string_view text, int64_t min, int64_t max) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at != end) {  // "8.0" counts as 8
    const auto number = parse_number(text);
    if (!number || *number != std::floor(*number) || std::abs(*number) > 9e15)
      return tl::unexpected(bad(text, "a whole number"));
    value = static_cast<int64_t>(*number);
  } else if (error != std::errc()) {
    return tl::unexpected(bad(text, "a whole number"));
  }
  if (value < min || value > max) return tl::unexpected(bad(text, fmt::format("between {} and {}", min, max)));
  return value;
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar. Source: Hinnant, "chrono-compatible low-level date
/// algorithms".
int64_t days_from_civil(int64_t y, int64_t m, int64_t d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400, year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719'468;
}

/// "2017-10-09 07:01:55" (or with a T) as seconds since 1970, as if it were UTC.
std::optional<double> parse_wall_clock(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T')) return std::nullopt;
  if (text[13] != ':' || text[16] != ':') return std::nullopt;
  std::array<int64_t, 6> parts{};
  constexpr std::pair<size_t, size_t> kPlaces[] = {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}};
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view digits = text.substr(kPlaces[i].first, kPlaces[i].second);
    const auto number = parse_whole(digits, 0, 9999);
    if (!number) return std::nullopt;
    parts[i] = *number;
  }
  const auto& [year, month, day, hour, minute, second] = parts;
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return static_cast<double>(days_from_civil(year, month, day) * 86'400 + hour * 3600 + minute * 60 + second);
}

Result<Duration> to_duration(double seconds, std::string_view text, bool may_be_negative) {
  if ((seconds < 0 && !may_be_negative) || std::abs(seconds) > kMaxSeconds)
    return tl::unexpected(bad(text, "a length of time"));
  return base::microseconds(std::llround(seconds * 1e6));
}

Result<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return tl::unexpected(bad(text, "true or false"));
}

// ---- Rows

class Reader {
 public:
  Reader(const std::string& path, const TraceOptions& options, const TraceFormat& format)
      : path_(path), options_(options), format_(format), scale_(options.scale_time.value_or(format.scale_time)) {
    places_.fill(kNoField);
  }

  base::Status read_header(const std::vector<std::string_view>& header, uint32_t line);
  void read_row(const std::vector<std::string_view>& fields, uint32_t line);
  void tell(uint32_t line, const std::string& what);
  void warn(const std::string& what) { trace_.warnings.push_back(path_ + ": " + what); }
  Result<Trace> finish();

 private:
  const std::string& path_;
  const TraceOptions& options_;
  const TraceFormat& format_;
  const double scale_;
  std::array<size_t, kColumnCount> places_;
  size_t width_ = 0;
  uint32_t rows_ = 0, bad_rows_ = 0;
  bool has_wall_clock_ = false;
  std::vector<std::string> errors_;
  std::unordered_map<std::string, uint32_t> lines_;
  Trace trace_;

  std::string name_of(Column column) const;
  bool has(Column column) const { return places_[static_cast<size_t>(column)] != kNoField; }
  void warn_of_unused(const std::vector<std::string_view>& header);
  base::Status check_needed(uint32_t line) const;
  std::string_view field(const std::vector<std::string_view>& fields, Column column) const;
  Result<Duration> time_in(const std::vector<std::string_view>& fields, Column column);
  Result<Duration> duration_in(const std::vector<std::string_view>& fields);
  base::Status fill_times(const std::vector<std::string_view>& fields, TraceJob& job);
  base::Status fill_size(const std::vector<std::string_view>& fields, TraceJob& job) const;
  base::Status fill_rest(const std::vector<std::string_view>& fields, TraceJob& job) const;
  base::Status fill_stages(const std::vector<std::string_view>& fields, TraceJob& job) const;
  template <typename T>
  base::Status fill(const std::vector<std::string_view>& fields, Column column, int64_t min, int64_t max, T& to) const;
};

/// What the file calls a column; empty: it is not looked for.
std::string Reader::name_of(Column column) const {
  const auto mapped = options_.map.find(std::string(name(column)));
  if (mapped != options_.map.end()) return mapped->second;
  for (const ColumnName& c : format_.columns)
    if (c.column == column) return std::string(c.name);
  return format_.only_listed ? std::string() : std::string(name(column));
}

base::Status Reader::read_header(const std::vector<std::string_view>& header, uint32_t line) {
  width_ = header.size();
  for (size_t c = 0; c < kColumnCount; ++c) {
    const std::string wanted = name_of(static_cast<Column>(c));
    const auto found = std::find(header.begin(), header.end(), wanted);
    if (!wanted.empty() && found != header.end()) {
      places_[c] = static_cast<size_t>(found - header.begin());
    } else if (options_.map.contains(std::string(name(static_cast<Column>(c))))) {
      const std::vector<std::string> known(header.begin(), header.end());
      const std::string hint = base::did_you_mean(wanted, known);
      return base::invalid(fmt::format("{}:{}: no column \"{}\"", path_, line, base::printable(wanted)),
                           hint.empty() ? "columns: " + base::join(known, ", ") : hint);
    }
  }
  if (!format_.only_listed) warn_of_unused(header);
  return check_needed(line);
}

/// Columns that look like ours, but are not: other words are the file's own affair.
void Reader::warn_of_unused(const std::vector<std::string_view>& header) {
  const std::vector<std::string> known = column_names();
  for (size_t i = 0; i < header.size(); ++i) {
    if (std::find(places_.begin(), places_.end(), i) != places_.end()) continue;
    std::string meant;
    for (const std::string& name : known)
      if (name == std::string(header[i]) + "_s" || name == std::string(header[i]) + "_mb") meant = name;
    if (meant.empty()) meant = base::nearest(header[i], known);
    if (!meant.empty() && meant.substr(0, 2) == header[i].substr(0, 2))
      trace_.warnings.push_back(
          fmt::format("{}:1: column {} is not used (did you mean \"{}\"?)", path_, base::printable(header[i]), meant));
  }
}

base::Status Reader::check_needed(uint32_t line) const {
  std::vector<std::string> missing;
  const auto need = [&](Column column, bool is_there) {
    if (!is_there) missing.push_back(name_of(column).empty() ? std::string(name(column)) : name_of(column));
  };
  need(Column::kJobId, has(Column::kJobId) || format_.numbers_rows);
  need(Column::kSubmit, has(Column::kSubmit));
  need(has(Column::kEnd) ? Column::kStart : Column::kDuration,
       has(Column::kDuration) || (has(Column::kStart) && has(Column::kEnd)));
  need(Column::kGpus, has(Column::kGpus) || format_.is_swf);
  if (missing.empty()) return {};
  return base::invalid(fmt::format("{}:{}: no column {}", path_, line, base::join(missing, ", ")),
                       "--map COLUMN=NAME says what the file calls it, --trace-format which format it has");
}

std::string_view Reader::field(const std::vector<std::string_view>& fields, Column column) const {
  const size_t place = places_[static_cast<size_t>(column)];
  return place == kNoField ? std::string_view() : fields[place];
}

Result<Duration> Reader::time_in(const std::vector<std::string_view>& fields, Column column) {
  const std::string_view text = field(fields, column);
  if (const auto wall = parse_wall_clock(text)) {
    has_wall_clock_ = true;
    return to_duration(*wall, text, true);
  }
  GW_TRY(number, parse_number(text));
  return to_duration(number * scale_, text, false);
}

Result<Duration> Reader::duration_in(const std::vector<std::string_view>& fields) {
  const std::string_view text = field(fields, Column::kDuration);
  if (has(Column::kDuration) && !(text.empty() && has(Column::kEnd))) {
    GW_TRY(number, parse_number(text));
    return to_duration(number * scale_, text, false);
  }
  const bool never_started = field(fields, Column::kStart).empty();
  GW_TRY(from, time_in(fields, never_started ? Column::kSubmit : Column::kStart));
  GW_TRY(to, time_in(fields, Column::kEnd));
  if (to < from) return base::invalid("it ended before it began");
  return to - from;
}

template <typename T>
base::Status Reader::fill(const std::vector<std::string_view>& fields, Column column, int64_t min, int64_t max,
                          T& to) const {
  const std::string_view text = field(fields, column);
  if (text.empty()) return {};
  const auto value = parse_whole(text, min, max);
  if (!value) return base::invalid(fmt::format("{}: {}", name_of(column), value.error().what));
  to = static_cast<uint32_t>(*value);
  return {};
}

base::Status named(const std::string& column, const base::Error& error) {
  return base::invalid(fmt::format("{}: {}", column, error.what));
}

base::Status Reader::fill_times(const std::vector<std::string_view>& fields, TraceJob& job) {
  const auto submit = time_in(fields, Column::kSubmit);
  if (!submit) return named(name_of(Column::kSubmit), submit.error());
  const auto duration = duration_in(fields);
  if (!duration) return named(name_of(has(Column::kDuration) ? Column::kDuration : Column::kEnd), duration.error());
  job.submit = *submit;
  job.duration = *duration;
  const std::string_view limit = field(fields, Column::kTimeLimit);
  if (limit.empty() || (format_.is_swf && limit.starts_with('-'))) return {};  // SWF: -1 is unknown
  const auto time_limit = time_in(fields, Column::kTimeLimit);
  if (!time_limit) return named(name_of(Column::kTimeLimit), time_limit.error());
  if (*time_limit > Duration{}) job.time_limit = *time_limit;
  return {};
}

base::Status Reader::fill_size(const std::vector<std::string_view>& fields, TraceJob& job) const {
  constexpr int64_t kMost = 1'000'000;
  if (has(Column::kGpus) && field(fields, Column::kGpus).empty())
    return base::invalid(name_of(Column::kGpus) + " is empty");
  GW_TRY_STATUS(fill(fields, Column::kGpus, 0, kMost, job.gpus));
  GW_TRY_STATUS(fill(fields, Column::kNodes, 1, kMost, job.nodes));
  GW_TRY_STATUS(fill(fields, Column::kTasks, 1, kMost, job.tasks));
  GW_TRY_STATUS(fill(fields, Column::kCpus, 0, kMost, job.cpus));
  std::optional<uint32_t> milli;
  GW_TRY_STATUS(fill(fields, Column::kMilliCpus, 0, 1000 * kMost, milli));
  if (milli) job.cpus = (*milli + 999) / 1000;
  std::optional<uint32_t> memory;
  GW_TRY_STATUS(fill(fields, Column::kMemory, 0, UINT32_MAX, memory));
  job.mem_mb = memory;
  GW_TRY_STATUS(fill(fields, Column::kGpuMilli, 0, model::kWholeGpu, job.gpu_milli));
  if (job.gpus != 1 || job.gpu_milli == 0) job.gpu_milli = model::kWholeGpu;
  if (job.nodes && job.tasks && *job.tasks < *job.nodes) return base::invalid("fewer tasks than nodes");
  return {};
}

base::Status Reader::fill_stages(const std::vector<std::string_view>& fields, TraceJob& job) const {
  constexpr Column kStages[] = {Column::kStorageTime, Column::kCpuTime, Column::kGpuTime, Column::kNetworkTime};
  for (size_t stage = 0; stage < job.stages.size(); ++stage) {
    const std::string_view text = field(fields, kStages[stage]);
    if (text.empty()) continue;
    double time = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
    if (error != std::errc() || end != text.data() + text.size() || !(time >= 0 && time <= 1e12))
      return base::invalid(fmt::format("{}: \"{}\" is no time", name_of(kStages[stage]), base::printable(text)));
    job.stages[stage] = time;
  }
  return {};
}

base::Status Reader::fill_rest(const std::vector<std::string_view>& fields, TraceJob& job) const {
  job.qos = field(fields, Column::kQos);
  job.user = field(fields, Column::kUser);
  job.partition = field(fields, Column::kPartition);
  const std::string_view types = field(fields, Column::kGpuType);
  if (job.gpus > 0 && !types.empty()) job.gpu_types = base::split(base::to_lower(types), '|');
  if (const std::string_view text = field(fields, Column::kPriority); !text.empty()) {
    const auto priority = parse_whole(text, -1'000'000'000, 1'000'000'000);
    if (!priority) return named(name_of(Column::kPriority), priority.error());
    job.priority = *priority;
  }
  job.dependency = field(fields, Column::kDependency);
  if (const std::string_view text = field(fields, Column::kPreemptible); !text.empty()) {
    const auto preemptible = parse_flag(text);
    if (!preemptible) return named(name_of(Column::kPreemptible), preemptible.error());
    job.preemptible = *preemptible;
  }
  return {};
}

void Reader::read_row(const std::vector<std::string_view>& fields, uint32_t line) {
  ++rows_;
  if (fields.size() != width_)
    return tell(line, fmt::format("{} fields, where there are {} columns", fields.size(), width_));
  TraceJob job;
  job.line = line;
  job.id = has(Column::kJobId) ? std::string(field(fields, Column::kJobId)) : std::to_string(rows_);
  if (job.id.empty()) return tell(line, name_of(Column::kJobId) + " is empty");
  if (const auto ok = fill_times(fields, job); !ok) return tell(line, ok.error().what);
  if (const auto ok = fill_size(fields, job); !ok) return tell(line, ok.error().what);
  if (const auto ok = fill_rest(fields, job); !ok) return tell(line, ok.error().what);
  if (const auto ok = fill_stages(fields, job); !ok) return tell(line, ok.error().what);
  const auto [first, is_new] = lines_.emplace(job.id, line);
  if (!is_new)
    return tell(line, fmt::format("job {} stands twice, first in line {}", base::printable(job.id), first->second));
  trace_.jobs.push_back(std::move(job));
}

void Reader::tell(uint32_t line, const std::string& what) {
  ++bad_rows_;
  if (errors_.size() < kMaxErrors) errors_.push_back(fmt::format("{}:{}: {}", path_, line, what));
}

Result<Trace> Reader::finish() {
  if (bad_rows_ > 0 && !options_.skip_bad) {
    if (bad_rows_ > errors_.size()) errors_.push_back(fmt::format("and {} more bad rows", bad_rows_ - errors_.size()));
    return base::invalid(base::join(errors_, "\n"), "--skip-bad leaves such rows out");
  }
  trace_.skipped = bad_rows_;
  std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
  if (has_wall_clock_ && !trace_.jobs.empty()) {
    const Duration first = trace_.jobs.front().submit;
    for (TraceJob& job : trace_.jobs) job.submit = job.submit - first;
  }
  return std::move(trace_);
}

base::Status read_csv(std::string_view text, const std::string& path, Reader& reader) {
  CsvReader csv(text);
  std::vector<std::string_view> fields;
  const auto header = csv.next(fields);
  if (!header) return base::invalid(fmt::format("{}:{}: {}", path, csv.line(), header.error().what));
  if (!*header) return base::invalid(path + ": empty", "the first line names the columns");
  GW_TRY_STATUS(reader.read_header(fields, csv.line()));
  for (;;) {
    const auto row = csv.next(fields);
    if (!row)
      reader.tell(csv.line(), row.error().what);
    else if (!*row)
      return {};
    else
      reader.read_row(fields, csv.line());
  }
}

base::Status read_swf(std::string_view text, Reader& reader) {
  const std::vector<std::string_view> header(swf_fields().begin(), swf_fields().end());
  GW_TRY_STATUS(reader.read_header(header, 1));
  std::vector<std::string_view> fields;
  uint32_t line = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    at = end;
    ++line;
    split_blanks(row, fields);
    if (!fields.empty() && !fields[0].starts_with(';')) reader.read_row(fields, line);
  }
  return {};
}

base::Status read_sacct(std::string_view text, const std::string& path, Reader& reader) {
  std::optional<SacctRows> rows;
  std::vector<std::string_view> fields;
  std::vector<std::string> made;
  size_t width = 0;
  uint32_t line = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = base::trim(text.substr(at, end - at));
    at = end;
    ++line;
    if (row.empty()) continue;
    split_bars(row, fields);
    if (!rows) {
      auto opened = SacctRows::open(fields);
      if (!opened) return base::invalid(fmt::format("{}:{}: {}", path, line, opened.error().what), opened.error().hint);
      rows = std::move(*opened);
      width = fields.size();
      GW_TRY_STATUS(reader.read_header(SacctRows::columns(fields), line));
      continue;
    }
    if (fields.size() != width) {
      reader.tell(line, fmt::format("{} fields, where there are {} columns", fields.size(), width));
      continue;
    }
    const auto is_taken = rows->make(fields, made);
    if (!is_taken) reader.tell(line, is_taken.error().what);
    if (!is_taken || !*is_taken) continue;
    fields.insert(fields.end(), made.begin(), made.end());
    reader.read_row(fields, line);
  }
  if (!rows) return base::invalid(path + ": empty", "the first line names the fields: sacct -P, without -n");
  if (rows->without_run() > 0)
    reader.warn(fmt::format("{} jobs that never ran or have not ended are left out", rows->without_run()));
  if (rows->with_shards() > 0)
    reader.warn(fmt::format("{} jobs have gres/shard: they are replayed without a GPU (gacct trace says what they had)",
                            rows->with_shards()));
  return {};
}

}  // namespace

Result<Trace> read_trace(std::string_view text, const std::string& path, const TraceOptions& options) {
  const TraceFormat* format = find_format(options.format);
  if (format == nullptr)
    return base::invalid(fmt::format("no trace format \"{}\"", base::printable(options.format)),
                         "one of " + base::join(trace_formats(), ", "));
  Reader reader(path, options, *format);
  GW_TRY_STATUS(format->is_swf     ? read_swf(text, reader)
                : format->is_sacct ? read_sacct(text, path, reader)
                                   : read_csv(text, path, reader));
  return reader.finish();
}

std::vector<std::string> trace_formats() {
  std::vector<std::string> names;
  for (const TraceFormat& format : all_formats()) names.emplace_back(format.name);
  return names;
}

base::Status parse_column_map(std::string_view text, std::map<std::string, std::string>& map) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    return base::invalid(fmt::format("\"{}\" is not COLUMN=NAME", base::printable(text)), "such as gpus=num_gpu");
  std::string left(text.substr(0, equals)), right(text.substr(equals + 1));
  if (!parse_column(left) && parse_column(right)) std::swap(left, right);
  if (!parse_column(left)) {
    const std::string hint = base::did_you_mean(left, column_names());
    return base::invalid(fmt::format("no column \"{}\"", base::printable(left)),
                         hint.empty() ? "one of " + base::join(column_names(), ", ") : hint);
  }
  map[left] = right;
  return {};
}

}  // namespace gw::sim
