// See outbox.h.
#include "ctld/core/tables/outbox.h"

#include <fmt/format.h>

#include "base/text.h"
#include "wire/convert.h"

namespace gw::ctld {

namespace {
constexpr size_t kLineBytes = 500;

/// As logfmt has it: in quotation marks unless it is one plain word.
std::string value_of(const std::string& text) {
  std::string shown = base::printable(text, kLineBytes);
  if (!shown.empty() && shown.find_first_of(" =\"\\") == std::string::npos) return shown;
  std::string out = "\"";
  for (const char c : shown) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// One line of an event: what happened to what, who did it, and what there is to say of it.
std::string line_of(const std::string& kind, const std::string& what, const std::string& text, Outbox::Actor uid) {
  return fmt::format("event={}{}{}{}", value_of(kind), what, uid ? fmt::format(" by={}", *uid) : "",
                     text.empty() ? "" : " text=" + value_of(text));
}
}  // namespace

void Outbox::reply(ConnId conn, uint64_t request_id, wire::ApiReply message) {
  message.set_id(request_id);
  out_.push_back(Reply{conn, std::move(message)});
}

void Outbox::refuse(ConnId conn, uint64_t request_id, const base::Error& error) {
  wire::ApiReply message;
  *message.mutable_error() = wire::to_wire(error);
  reply(conn, request_id, std::move(message));
}

void Outbox::refuse_at_once(ConnId conn, uint64_t request_id, const base::Error& error) {
  Reply message{conn, {}, /*at_once=*/true};
  message.reply.set_id(request_id);
  *message.reply.mutable_error() = wire::to_wire(error);
  out_.push_back(std::move(message));
}

void Outbox::job_event(const model::Job& job, const std::string& kind, const std::string& text, Actor uid) {
  write(store::Event{now_, job.id, {}, kind, text, uid});
  note_event(line_of(
      kind, fmt::format(" job={} user={} qos={}", job.id.value, value_of(job.spec.user), value_of(job.spec.qos)), text,
      uid));
}

void Outbox::event(const std::string& kind, const std::string& text, Actor uid) {
  write(store::Event{now_, {}, {}, kind, text, uid});
  note_event(line_of(kind, "", text, uid));
}

void Outbox::node_event(const model::Node& node, const std::string& kind, const std::string& text, Actor uid) {
  write(store::Event{now_, {}, node.config.name, kind, text, uid});
  note_event(line_of(kind, " node=" + value_of(node.config.name), text, uid), kind != "registered");
}

}  // namespace gw::ctld
