// The effects of the core, carried out.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/quota_answers.h"
#include "ctld/shell/run_program.h"
#include "ctld/shell/server.h"
#include "ctld/shell/settings.h"
#include "wire/convert.h"

namespace gw::ctld {
namespace {

/// An answer that is too long for a message becomes an error that says so.
std::string serialise(const wire::ApiReply& reply) {
  std::string bytes = reply.SerializeAsString();
  if (bytes.size() <= link::kMaxMessage) return bytes;
  wire::ApiReply refusal;
  refusal.set_id(reply.id());
  *refusal.mutable_error() = wire::to_wire(base::Error{
      base::ErrorCode::kInvalid, fmt::format("the answer has {} bytes, too many for one message", bytes.size()),
      "ask for less with filters"});
  return refusal.SerializeAsString();
}

}  // namespace

void Server::carry_out(Reply& reply) {
  const auto it = clients_.find(reply.conn);
  if (it == clients_.end()) return;  // it left: a retry gets the answer that was kept
  const base::Status sent = it->second.link->send(reply.bytes.empty() ? serialise(reply.reply) : reply.bytes);
  if (!sent) spdlog::debug("reply not sent: {}", sent.error().text());
}

void Server::answer_error(ConnId conn, uint64_t request_id, const base::Error& error) {
  Reply reply;
  reply.conn = conn;
  reply.reply.set_id(request_id);
  *reply.reply.mutable_error() = wire::to_wire(error);
  carry_out(reply);
}

void Server::carry_out(ToNode& message) {
  const auto it = nodes_.find(message.link);
  if (it == nodes_.end()) return;  // the node is told again when it is back
  if (message.message.has_start_step()) {
    const auth::Bytes32& key = ticket_key_->public_key();
    message.message.mutable_start_step()->set_ticket_key(std::string(key.begin(), key.end()));
  }
  if (!message.script_hash.empty()) {
    auto script = blobs_->get(message.script_hash);
    auto environment = blobs_->get(message.env_hash);
    if (!script || !environment) {
      const base::Error& why = (script ? environment : script).error();
      return fail_prepare(message, why, why.code == base::ErrorCode::kNotFound);
    }
    wire::Prepare& prepare = *message.message.mutable_prepare();
    prepare.set_script(*script);
    prepare.set_environment(*environment + '\0' + prepare.environment());  // of two settings the last one holds
  }
  const base::Status sent = it->second->send(message.message.SerializeAsString());
  if (sent) return;
  spdlog::warn("message to a node not sent: {}", sent.error().text());
  // Over a link that has closed it is said again when the node is back.
  if (message.message.has_prepare() && sent.error().code == base::ErrorCode::kInvalid)
    fail_prepare(message, sent.error(), true);
}

void Server::fail_prepare(const ToNode& message, const base::Error& why, bool is_final) {
  const wire::Prepare& prepare = message.message.prepare();
  spdlog::error("job {} cannot be sent to its nodes: {}", prepare.job(), why.text());
  // Not from inside the release of effects.
  loop_.defer([this, job = JobId(prepare.job()), attempt = prepare.attempt(), text = why.text(), is_final] {
    core_->on_prepare_unsent(clock_.now(), job, attempt, text, is_final);
    pump();
  });
}

void Server::carry_out(CloseLink& close) {
  const auto it = nodes_.find(close.link);
  if (it != nodes_.end()) it->second->close(close.reason);
}

base::Status Server::complete(ReadJob& read) {
  wire::ShowJobReply& show = *read.reply.mutable_show_job();
  if (!show.has_job()) {
    GW_TRY(row, reader_->ended_job(read.job));
    if ((read.script || read.environment) && row.uid != read.reader_uid && !read.reader_is_admin)
      return base::fail(base::ErrorCode::kDenied,
                        fmt::format("access denied to job {}: it belongs to {}", row.id.value, row.user));
    show.mutable_job()->set_id(row.id.value);
    if (!show.mutable_job()->mutable_spec()->ParseFromString(row.spec) ||
        !show.mutable_job()->mutable_status()->ParseFromString(row.status))
      return base::fail(base::ErrorCode::kInternal, fmt::format("the record of job {} is damaged", row.id.value));
  }
  const wire::Launch& launch = show.job().spec().launch();
  if (read.script) {
    GW_TRY(script, blobs_->get(launch.script_hash()));
    show.set_script(script);
  }
  if (read.environment) {
    GW_TRY(environment, blobs_->get(launch.env_hash()));
    show.set_environment(environment);
  }
  if (!read.history) return {};
  constexpr size_t kMaxLines = 10'000;
  GW_TRY(lines, reader_->history(read.job, kMaxLines));
  for (const store::EventRow& line : lines) {
    wire::HistoryEvent& event = *show.add_history();
    event.set_seq(line.seq);
    event.set_time_us(line.event.at.us);
    event.set_kind(line.event.kind);
    event.set_text(line.event.text);
  }
  return {};
}

void Server::carry_out(ReadJob& read) {
  const base::Status done = complete(read);
  if (!done) {
    base::Error error = done.error();
    if (error.code == base::ErrorCode::kNotFound) error.what = "invalid job id specified: " + read.job.text();
    return answer_error(read.conn, read.reply.id(), error);
  }
  Reply reply;
  reply.conn = read.conn;
  reply.reply = std::move(read.reply);
  carry_out(reply);
}

void Server::carry_out(SignTicket& asked) {
  auth::Ticket ticket;
  ticket.rights = asked.watch ? auth::Rights::kWatch : auth::Rights::kFull;
  ticket.uid = asked.uid;
  ticket.gid = asked.gid;
  ticket.job = asked.job;
  ticket.step = asked.step;
  ticket.attempt = asked.attempt;
  ticket.generation = asked.generation;
  ticket.expiry = asked.now + auth::kTicketLife;
  if (asked.client_key.size() != ticket.client_key.size())
    return answer_error(asked.conn, asked.reply.id(), {base::ErrorCode::kInvalid, "the key of the client is cut", ""});
  std::copy(asked.client_key.begin(), asked.client_key.end(), ticket.client_key.begin());
  ticket.nonce = auth::random_nonce();
  asked.reply.mutable_step()->set_ticket(auth::sign_ticket(*ticket_key_, ticket));
  Reply reply;
  reply.conn = asked.conn;
  reply.reply = std::move(asked.reply);
  carry_out(reply);
}

void Server::carry_out(MakeBackup& backup) {
  const base::Status begun =
      backups_->start(backup.path, [this, conn = backup.conn, id = backup.request_id](const auto& done) {
        if (!done) return answer_error(conn, id, done.error());
        Reply reply;
        reply.conn = conn;
        reply.reply.set_id(id);
        reply.reply.mutable_backup()->set_bytes(*done);
        carry_out(reply);
      });
  if (!begun) answer_error(backup.conn, backup.request_id, begun.error());
}

void Server::carry_out(TakeSnapshot& take) {
  const base::Status begun = snapshots_->start([this, conn = take.conn, id = take.request_id](const auto& bytes) {
    if (!bytes) return answer_error(conn, id, bytes.error());
    constexpr size_t kPiece = 1 << 20;
    std::vector<Outgoing> pieces;
    for (size_t at = 0; at < bytes->size(); at += kPiece) {
      wire::ApiReply piece;
      piece.set_id(id);
      piece.set_more(at + kPiece < bytes->size());
      piece.mutable_snapshot()->add_pieces(bytes->substr(at, kPiece));
      pieces.push_back(Reply{conn, {}, false, piece.SerializeAsString()});
    }
    committer_->add({}, std::move(pieces));  // what it shows may not be durable yet
  });
  if (!begun) answer_error(take.conn, take.request_id, begun.error());
}

void Server::carry_out(AskScheduler& ask) {
  scheduler_->inspect([this, ask](const sched::ClusterView& view, base::Time now) -> std::function<void()> {
    wire::ApiReply answer = answer_from(view, now, ask.request);
    answer.set_id(ask.request.id());
    return [this, conn = ask.conn, bytes = answer.SerializeAsString()] {
      std::vector<Outgoing> out;
      out.push_back(Reply{conn, {}, false, bytes});
      committer_->add({}, std::move(out));  // what it shows may not be durable yet
    };
  });
}

void Server::carry_out(Fence& fence) {
  if (!fencing_.insert(fence.node).second) return;  // the last attempt is still under way
  helpers_.emplace_back(
      [this, node = fence.node, since = fence.since, program = config_.fence_program, poster = loop_.poster()] {
        const ProgramResult result = run_program(program, {node}, base::seconds(60));
        poster.post([this, node, since, result] {
          fencing_.erase(node);
          core_->on_fenced(clock_.now(), node, since, result.exit_code == 0, result.text);
          pump();
        });
      });
}

void Server::carry_out(Reload& reload) {
  const auto refuse = [&](const base::Error& error) {
    spdlog::error("reconfigure refused, the old configuration stays: {}", error.text());
    if (reload.conn != 0) answer_error(reload.conn, reload.request_id, error);
  };
  auto fresh = config::load(config_.path);
  if (!fresh) return refuse(fresh.error());
  auto settings = settings_of(*fresh);
  if (!settings) return refuse(settings.error());
  std::vector<std::string> warnings = fresh->warnings;
  const std::vector<std::string> changes = config::diff(config_, *fresh);
  for (const std::string& key : config::restart_needed(config_, *fresh))
    warnings.push_back(key + " takes effect when gctld is started again");
  if (reload.check_only) {
    Reply reply;
    reply.conn = reload.conn;
    reply.reply.set_id(reload.request_id);
    for (const std::string& c : changes) reply.reply.mutable_reconfigure()->add_changes(c);
    for (const std::string& w : warnings) reply.reply.mutable_reconfigure()->add_warnings(w);
    reply.reply.mutable_reconfigure();
    return carry_out(reply);
  }
  spdlog::info("configuration read again: {} changes", changes.size());
  config_ = std::move(*fresh);
  core_->on_reconfigured(clock_.now(), std::move(*settings), reload, changes, warnings);
  pump();
}

void Server::carry_out(Note& note) {
  if (note.is_warning)
    spdlog::warn("{}", note.text);
  else
    spdlog::info("{}", note.text);
}

}  // namespace gw::ctld
