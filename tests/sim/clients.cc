// Requests until they are answered. See clients.h.
#include "tests/sim/clients.h"

#include "base/result.h"

namespace gw::sim_cluster {
namespace {

/// The same request may be taken later.
bool is_for_now(const wire::ApiReply& reply) {
  const auto code = static_cast<base::ErrorCode>(reply.error().code());
  return reply.has_error() && (code == base::ErrorCode::kUnavailable || reply.error().retry_after_ms() > 0);
}

}  // namespace

void Clients::ask(uint32_t uid, wire::ApiRequest request, std::function<void(const wire::ApiReply&)> then) {
  request.set_id(7);
  request.set_client_id("ask" + std::to_string(asked_.size()));
  asked_.push_back({uid, std::move(request), box_.now(), 0, {}, std::move(then)});
  ++open_;
  send(asked_.size() - 1);
}

void Clients::send(size_t which) {
  Asked& asked = asked_[which];
  if (asked.answer) return;
  ++asked.times;
  const bool is_lost = box_.has_faults && box_.random.chance(4);
  if (!is_lost) box_.agenda.after(box_.delay(300, 20'000), [this, which] { arrive(which); });
  const bool is_doubled = box_.has_faults && box_.random.chance(5);
  if (is_doubled) box_.agenda.after(box_.delay(300, 20'000), [this, which] { arrive(which); });
  box_.agenda.after(box_.random.between(base::seconds(5), base::seconds(20)), [this, which] { send(which); });
}

void Clients::arrive(size_t which) {
  if (!service_.is_open()) return;
  const ConnId conn = ++last_;
  by_conn_[conn] = which;
  const uint32_t uid = asked_[which].uid;
  const wire::ApiRequest request = asked_[which].request;
  service_.on_request(asked_[which]);
  service_.serve(conn, uid, request);
  // A client that has waited long enough, or whose connection broke, is gone; then it asks again.
  const Duration patience = box_.has_faults && box_.random.chance(10) ? box_.delay(500, 100'000) : base::seconds(60);
  box_.agenda.after(patience, [this, conn] {
    pieces_.erase(conn);
    if (by_conn_.erase(conn) > 0 && service_.is_open()) service_.client_left(conn);
  });
}

void Clients::on_crash() {
  by_conn_.clear();
  pieces_.clear();
}

void Clients::on_reply(ConnId conn, const wire::ApiReply& piece) {
  const auto it = by_conn_.find(conn);
  if (it == by_conn_.end()) return;
  pieces_[conn].MergeFrom(piece);
  if (piece.more())
    return box_.agenda.after(box_.delay(100, 2'000), [this, conn, id = piece.id()] {
      if (by_conn_.contains(conn)) service_.piece_taken(conn, id);
    });
  const size_t which = it->second;
  by_conn_.erase(it);
  const wire::ApiReply reply = std::move(pieces_.extract(conn).mapped());
  service_.on_answer(asked_[which], reply);
  if (box_.has_faults && box_.random.chance(4)) return;  // lost on its way
  box_.agenda.after(box_.delay(100, 10'000), [this, which, reply] { answer_arrives(which, reply); });
}

void Clients::answer_arrives(size_t which, const wire::ApiReply& reply) {
  Asked& asked = asked_[which];
  if (asked.answer || is_for_now(reply)) return;
  asked.answer = reply;
  --open_;
  const auto then = std::move(asked.then);
  if (then) then(reply);
}

std::string Clients::open_text() const {
  std::string out;
  for (const Asked& asked : asked_)
    if (!asked.answer) out += asked.request.client_id() + ": " + std::to_string(asked.request.kind_case()) + "; ";
  return out;
}

}  // namespace gw::sim_cluster
