// See outbox.h.
#include "ctld/core/tables/outbox.h"

#include <fmt/format.h>

#include <algorithm>

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
  const auto is_same = [&](const Deed& deed) {
    return deed.row.kind == kind && deed.row.uid == uid && deed.row.is_refusal == is_refusal;
  };
  auto deed = std::find_if(deeds_.begin(), deeds_.end(), is_same);  // there are few kinds
  if (deed == deeds_.end()) deed = deeds_.insert(deeds_.end(), {.row = {now_, uid, kind, "", "", is_refusal}});
  if (deed->each.size() < kMostNamed) deed->each.emplace_back(object, text);
  ++deed->count;
}

void Outbox::write_deeds() {
  for (Deed& deed : std::exchange(deeds_, {})) {
    const std::string first_text = deed.each.front().second;
    const bool is_alike = std::all_of(deed.each.begin(), deed.each.end(),
                                      [&](const auto& one) { return one.second == first_text && !one.first.empty(); });
    std::vector<std::string> names;
    for (const auto& [object, text] : deed.each)
      names.push_back(is_alike || text.empty() ? object : object.empty() ? text : object + ": " + text);
    std::string all = base::join(names, is_alike ? ", " : "; ");
    if (deed.count > names.size()) all += fmt::format(" and {} more", deed.count - names.size());
    (is_alike ? deed.row.object : deed.row.text) = all;
    if (is_alike) deed.row.text = first_text;
    const std::string who = deed.row.uid ? fmt::format(" uid={}", *deed.row.uid) : "";
    const std::string what = deed.row.object.empty() ? "" : " object=" + value_of(deed.row.object);
    send(Audited{fmt::format("audit={}{}{}{}{}", value_of(deed.row.kind), deed.row.is_refusal ? " refused=true" : "",
                             who, what, deed.row.text.empty() ? "" : " text=" + value_of(deed.row.text)),
                 deed.row.uid.value_or(0)});
    write(std::move(deed.row));
  }
}

}  // namespace gw::ctld
