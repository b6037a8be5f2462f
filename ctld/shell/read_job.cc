// See read_job.h.
#include "ctld/shell/read_job.h"

#include <fmt/format.h>

namespace gw::ctld {
namespace {

base::Status take_ended(store::Reader& reader, const ReadStored& read, wire::ShowJobReply& show) {
  GW_TRY(row, reader.ended_job(read.job));
  if (!read.seen.has(row.uid, row.qos)) return base::fail(base::ErrorCode::kNotFound, "not to be seen");
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

base::Status take_events(store::Reader& reader, const store::EventFilter& filter,
                         google::protobuf::RepeatedPtrField<wire::HistoryEvent>& to) {
  GW_TRY(rows, reader.events(filter));
  for (const store::EventRow& row : rows) {
    wire::HistoryEvent& event = *to.Add();
    event.set_seq(row.seq);
    event.set_time_us(row.event.at.us);
    event.set_kind(row.event.kind);
    event.set_text(row.event.text);
    event.set_job(row.event.job.value);
    event.set_node(row.event.node);
    if (row.event.uid) event.set_uid(*row.event.uid);
  }
  return {};
}

base::Status take_audit(store::Reader& reader, const store::AuditFilter& filter, wire::ListAuditReply& to) {
  GW_TRY(rows, reader.audit(filter));
  for (const store::AuditRow& row : rows) {
    wire::AuditRecord& record = *to.add_records();
    record.set_seq(row.seq);
    record.set_time_us(row.audit.at.us);
    if (row.audit.uid) record.set_uid(*row.audit.uid);
    record.set_kind(row.audit.kind);
    record.set_object(row.audit.object);
    record.set_text(row.audit.text);
    record.set_is_refusal(row.audit.is_refusal);
  }
  return {};
}

}  // namespace

base::Status complete(store::Reader& reader, ReadStored& read) {
  if (read.reply.has_list_audit()) return take_audit(reader, read.audit, *read.reply.mutable_list_audit());
  if (read.reply.has_list_events()) {
    if (!read.seen.all && read.job) {
      GW_TRY(row, reader.ended_job(read.job));
      if (!read.seen.has(row.uid, row.qos)) return base::fail(base::ErrorCode::kNotFound, "not to be seen");
    }
    auto& events = *read.reply.mutable_list_events()->mutable_events();
    GW_TRY_STATUS(take_events(reader, read.events, events));
    return events.empty() && !read.if_no_events.what.empty() ? tl::unexpected(read.if_no_events) : base::Status{};
  }
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
  return read.events.most > 0 ? take_events(reader, read.events, *show.mutable_history()) : base::Status{};
}

}  // namespace gw::ctld
