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
  if (uid && *uid != job.spec.uid) audit(kind, fmt::format("job {} of {}", job.id.value, job.spec.user), text, uid);
}

void Outbox::event(const std::string& kind, const std::string& text, Actor uid) {
  write(store::Event{now_, {}, {}, kind, text, uid});
  if (uid) audit(kind, "", text, uid);
  note_event(line_of(kind, "", text, uid));
}

void Outbox::node_event(const model::Node& node, const std::string& kind, const std::string& text, Actor uid) {
  write(store::Event{now_, {}, node.config.name, kind, text, uid});
  note_event(line_of(kind, " node=" + value_of(node.config.name), text, uid), kind != "registered");
  if (uid) audit(kind, "node " + node.config.name, text, uid);
}

void Outbox::audit(const std::string& kind, const std::string& object, const std::string& text, Actor uid,
                   bool is_refusal) {
  constexpr size_t kMostNamed = 20;
  const bool is_same = !deeds_.empty() && deeds_.back().row.kind == kind && deeds_.back().row.text == text &&
                       deeds_.back().row.uid == uid && deeds_.back().row.is_refusal == is_refusal;
  if (!is_same) deeds_.push_back({{now_, uid, kind, "", text, is_refusal}});
  Deed& deed = deeds_.back();
  if (!object.empty() && deed.objects.size() < kMostNamed) deed.objects.push_back(object);
  ++deed.count;
}

void Outbox::write_deeds() {
  for (Deed& deed : std::exchange(deeds_, {})) {
    deed.row.object = base::join(deed.objects, ", ");
    if (deed.count > deed.objects.size() && !deed.objects.empty())
      deed.row.object += fmt::format(" and {} more", deed.count - deed.objects.size());
    const std::string who = deed.row.uid ? fmt::format(" uid={}", *deed.row.uid) : "";
    const std::string what = deed.row.object.empty() ? "" : " object=" + value_of(deed.row.object);
    send(Audited{fmt::format("audit={}{}{}{}{}", value_of(deed.row.kind), deed.row.is_refusal ? " refused=true" : "",
                             who, what, deed.row.text.empty() ? "" : " text=" + value_of(deed.row.text)),
                 deed.row.is_refusal});
    write(std::move(deed.row));
  }
}

}  // namespace gw::ctld
