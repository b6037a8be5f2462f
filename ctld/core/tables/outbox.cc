// See outbox.h.
#include "ctld/core/tables/outbox.h"

#include <fmt/format.h>

#include "base/text.h"
#include "wire/convert.h"

namespace gw::ctld {

namespace {
constexpr size_t kLineBytes = 500;
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
  note(fmt::format("job {}: {}{}{}", job.id.value, kind, text.empty() ? "" : ": ", base::printable(text, kLineBytes)));
}

void Outbox::event(const std::string& kind, const std::string& text, Actor uid) {
  write(store::Event{now_, {}, {}, kind, text, uid});
  note(kind + ": " + base::printable(text, kLineBytes));
}

void Outbox::node_event(const model::Node& node, const std::string& kind, const std::string& text, Actor uid) {
  write(store::Event{now_, {}, node.config.name, kind, text, uid});
  note(fmt::format("node {}: {}: {}", node.config.name, kind, text), kind != "registered");
}

}  // namespace gw::ctld
