// See read_job.h.
#include "ctld/shell/read_job.h"

#include <fmt/format.h>

namespace gw::ctld {
namespace {

base::Status take_ended(store::Reader& reader, const ReadJob& read, wire::ShowJobReply& show) {
  GW_TRY(row, reader.ended_job(read.job));
  if ((read.script || read.environment) && row.uid != read.reader_uid && !read.reader_is_admin)
    return base::fail(base::ErrorCode::kDenied,
                      fmt::format("access denied to job {}: it belongs to {}", row.id.value, row.user));
  show.mutable_job()->set_id(row.id.value);
  if (!show.mutable_job()->mutable_spec()->ParseFromString(row.spec) ||
      !show.mutable_job()->mutable_status()->ParseFromString(row.status))
    return base::fail(base::ErrorCode::kInternal, fmt::format("the record of job {} is damaged", row.id.value));
  return {};
}

/// A blob that is gone is no missing job.
base::Result<std::string> blob(store::Reader& reader, const std::string& hash, std::string_view what,
                               std::string_view key) {
  auto bytes = reader.blob(hash);
  if (bytes || bytes.error().code != base::ErrorCode::kNotFound) return bytes;
  return base::fail(base::ErrorCode::kConflict, fmt::format("the {} of the job is not kept any more", what),
                    fmt::format("retention.{} says for how long it is", key));
}

}  // namespace

base::Status complete(store::Reader& reader, ReadJob& read) {
  wire::ShowJobReply& show = *read.reply.mutable_show_job();
  if (!show.has_job()) GW_TRY_STATUS(take_ended(reader, read, show));
  const wire::Launch& launch = show.job().spec().launch();
  if (read.script) {
    GW_TRY(script, blob(reader, launch.script_hash(), "script", "scripts"));
    show.set_script(script);
  }
  if (read.environment) {
    GW_TRY(environment, blob(reader, launch.env_hash(), "environment", "environments"));
    show.set_environment(environment);
  }
  if (!read.history) return {};
  constexpr size_t kMaxLines = 10'000;
  GW_TRY(lines, reader.history(read.job, kMaxLines));
  for (const store::EventRow& line : lines) {
    wire::HistoryEvent& event = *show.add_history();
    event.set_seq(line.seq);
    event.set_time_us(line.event.at.us);
    event.set_kind(line.event.kind);
    event.set_text(line.event.text);
  }
  return {};
}

}  // namespace gw::ctld
