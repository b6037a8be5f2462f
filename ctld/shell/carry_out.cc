// The effects of the core, carried out.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/cluster/quota_answers.h"
#include "ctld/shell/read_job.h"
#include "ctld/shell/server.h"
#include "ctld/shell/settings.h"
#include "program/run_program.h"
#include "wire/convert.h"
#include "wire/fragments.h"

namespace gw::ctld {

/// An answer that cannot be sent whole ends the connection: its client must not take a part for the whole.
void Server::EffectRunner::carry_out(Reply& reply) {
  const auto it = server_.queue_.clients.find(reply.conn);
  if (it == server_.queue_.clients.end()) return;  // it left: a retry gets the answer that was kept
  Client& client = it->second;
  keep_private(client.caller, reply);
  const uint64_t id = reply.reply.id();
  const bool has_more = reply.reply.more();
  for (const std::string& frame : wire::in_frames(serialised(std::move(reply)), id, link::kMaxMessage)) {
    const base::Status sent = client.link->send(frame);
    if (sent) continue;
    spdlog::debug("reply not sent: {}", sent.error().text());
    return client.link->close("an answer could not be sent: " + sent.error().text());
  }
  if (client.awaited == id) {
    client.awaited.reset();
    server_.want_turn(it->first, client);
  }
  if (!has_more) return;
  client.list = id;
  client.is_piece_on_its_way = true;
}

void Server::EffectRunner::carry_out(const ListReady& ready) {
  const auto it = server_.queue_.clients.find(ready.conn);
  if (it == server_.queue_.clients.end()) return;
  it->second.list = ready.request_id;
  it->second.is_piece_wanted = true;
  server_.want_turn(it->first, it->second);
}

/// Whatever made the answer, nothing private leaves with it.
void Server::EffectRunner::keep_private(const Caller& caller, Reply& reply) {
  const Privacy privacy = server_.core_->privacy();
  if (!privacy.hides_anything(caller)) return;
  if (!reply.bytes.empty() || reply.shared) {
    const uint64_t id = reply.reply.id();
    const bool has_more = reply.reply.more();
    const std::string bytes = serialised(std::move(reply));
    if (!reply.reply.ParseFromString(bytes)) {
      reply.reply.Clear();
      *reply.reply.mutable_error() = wire::to_wire({base::ErrorCode::kInternal, "the answer cannot be read", ""});
    }
    reply.bytes.clear();
    reply.shared.reset();
    reply.reply.set_id(id);
    reply.reply.set_more(reply.reply.more() || has_more);
  }
  privacy.keep(caller, reply.reply);
}

void Server::EffectRunner::answer_error(ConnId conn, uint64_t request_id, const base::Error& error,
                                        base::Duration retry_after) {
  Reply reply;
  reply.conn = conn;
  reply.reply.set_id(request_id);
  *reply.reply.mutable_error() = wire::to_wire(error);
  reply.reply.mutable_error()->set_retry_after_ms(static_cast<uint32_t>(retry_after.milliseconds()));
  carry_out(reply);
}

void Server::EffectRunner::carry_out(ToNode& message) {
  const auto it = server_.nodes_.links.find(message.link);
  if (it == server_.nodes_.links.end()) return;  // the node is told again when it is back
  if (message.message.has_start_step()) {
    const auth::Bytes32& key = server_.ticket_key_->public_key();
    message.message.mutable_start_step()->set_ticket_key(std::string(key.begin(), key.end()));
  }
  if (message.script_hash.empty()) return send_to(*it->second, message);
  const std::string* script = server_.disk_.blobs->find(message.script_hash);
  const std::string* environment = server_.disk_.blobs->find(message.env_hash);
  if (script == nullptr || environment == nullptr) return fetch_launch(message);
  put_launch(message, *script, *environment);
  send_to(*it->second, message);
}

/// Of two settings of a variable the last one holds.
void Server::EffectRunner::put_launch(ToNode& message, const std::string& script, const std::string& environment) {
  wire::Prepare& prepare = *message.message.mutable_prepare();
  prepare.set_script(script);
  prepare.set_environment(environment + '\0' + prepare.environment());
  message.script_hash.clear();
}

/// Later messages may go to the node before this one: a node that is told to stop a run refuses to start it afterwards.
void Server::EffectRunner::fetch_launch(const ToNode& message) {
  constexpr uint32_t kNobody = UINT32_MAX;
  server_.disk_.reading->ask(kNobody, [this, message]() -> Worker::Then {
    auto script = server_.disk_.reader->blob(message.script_hash);
    auto environment = server_.disk_.reader->blob(message.env_hash);
    return
        [this, message = ToNode(message), script = std::move(script), environment = std::move(environment)]() mutable {
          if (!script || !environment) {
            const base::Error& why = (script ? environment : script).error();
            return fail_prepare(message, why, why.code == base::ErrorCode::kNotFound);
          }
          server_.disk_.blobs->put(message.script_hash, *script);
          server_.disk_.blobs->put(message.env_hash, *environment);
          put_launch(message, *script, *environment);
          carry_out(message);
        };
  });
}

void Server::EffectRunner::send_to(link::SecureLink& link, const ToNode& message) {
  const base::Status sent = link.send(message.message.SerializeAsString());
  if (sent) return;
  spdlog::warn("message to a node not sent: {}", sent.error().text());
  // Over a link that has closed it is said again when the node is back.
  if (message.message.has_prepare() && sent.error().code == base::ErrorCode::kInvalid)
    fail_prepare(message, sent.error(), true);
}

void Server::EffectRunner::fail_prepare(const ToNode& message, const base::Error& why, bool is_final) {
  const wire::Prepare& prepare = message.message.prepare();
  spdlog::error("job {} cannot be sent to its nodes: {}", prepare.job(), why.text());
  // Not from inside the release of effects.
  server_.loop_.defer([this, job = JobId(prepare.job()), attempt = prepare.attempt(), text = why.text(), is_final] {
    server_.core_->on_prepare_unsent(server_.read_clocks(), job, attempt, text, is_final);
    server_.pump();
  });
}

void Server::EffectRunner::carry_out(CloseLink& close) {
  const auto it = server_.nodes_.links.find(close.link);
  if (it != server_.nodes_.links.end()) it->second->close(close.reason);
}

void Server::EffectRunner::carry_out(ReadStored& read) {
  const auto it = server_.queue_.clients.find(read.conn);
  if (it == server_.queue_.clients.end()) return;
  ++it->second.reads;
  server_.disk_.reading->ask(read.reader_uid, [this, read]() mutable -> Worker::Then {
    const base::Status done = complete(*server_.disk_.reader, read);
    if (done) read.bytes = read.reply.SerializeAsString();  // it may be long: here, not on the loop
    return [this, read = std::move(read), done]() mutable { answer_read(read, done); };
  });
}

void Server::EffectRunner::answer_read(ReadStored& read, const base::Status& done) {
  const auto it = server_.queue_.clients.find(read.conn);
  if (it == server_.queue_.clients.end()) return;
  --it->second.reads;
  if (!done) {
    base::Error error = done.error();
    if (error.code == base::ErrorCode::kNotFound && read.job)
      error.what = "Invalid job id specified: " + read.job.text();
    answer_error(read.conn, read.reply.id(), error);
  } else {
    Reply reply;
    reply.conn = read.conn;
    reply.reply.set_id(read.reply.id());
    reply.bytes = std::move(read.bytes);
    carry_out(reply);
  }
  server_.want_turn(it->first, it->second);
}

void Server::EffectRunner::carry_out(FetchEnded& fetch) {
  const auto it = server_.queue_.clients.find(fetch.conn);
  if (it == server_.queue_.clients.end()) return;
  ++it->second.reads;
  server_.disk_.reading->ask(it->second.caller.uid, [this, fetch]() -> Worker::Then {
    auto row = server_.disk_.reader->ended_job(fetch.job);
    return [this, fetch, row = std::move(row)]() mutable { take_ended(fetch, std::move(row)); };
  });
}

void Server::EffectRunner::take_ended(const FetchEnded& fetch, base::Result<store::JobRow> row) {
  const auto it = server_.queue_.clients.find(fetch.conn);
  if (it == server_.queue_.clients.end()) return;
  --it->second.reads;
  server_.want_turn(fetch.conn, it->second);
  if (row) {
    server_.core_->on_ended_job(server_.read_clocks(), fetch.conn, it->second.caller, fetch.request, *row);
    return server_.pump();
  }
  base::Error error = row.error();
  if (error.code == base::ErrorCode::kNotFound) error.what = "Invalid job id specified: " + fetch.job.text();
  answer_error(fetch.conn, fetch.request.id(), error);
}

void Server::EffectRunner::carry_out(ReadRecords& read) {
  const auto it = server_.queue_.clients.find(read.conn);
  if (it == server_.queue_.clients.end()) return;
  it->second.awaited.reset();
  it->second.records = std::make_shared<RecordList>(read);
  read_records(it->first, it->second);
}

void Server::EffectRunner::read_records(ConnId conn, Client& client) {
  ++client.reads;
  server_.disk_.accounting->ask(client.records->uid(), [this, conn, list = client.records]() -> Worker::Then {
    auto piece = list->next(*server_.disk_.records);
    return [this, conn, list, piece = std::move(piece)]() mutable { answer_records(conn, *list, std::move(piece)); };
  });
}

void Server::EffectRunner::answer_records(ConnId conn, const RecordList& list, base::Result<std::string> piece) {
  const auto it = server_.queue_.clients.find(conn);
  if (it == server_.queue_.clients.end()) return;
  Client& client = it->second;
  --client.reads;
  if (!piece || !list.has_more()) client.records.reset();
  if (!piece) {
    answer_error(conn, list.request_id(), piece.error());
  } else {
    Reply reply;
    reply.conn = conn;
    reply.reply.set_id(list.request_id());
    reply.reply.set_more(list.has_more());
    reply.bytes = std::move(*piece);
    carry_out(reply);
  }
  server_.want_turn(conn, client);
}

void Server::EffectRunner::carry_out(SumRecords& sum) {
  const auto it = server_.queue_.clients.find(sum.conn);
  if (it == server_.queue_.clients.end()) return;
  ++it->second.reads;
  sum_on(sum.conn, std::make_shared<RecordSum>(sum));
}

/// Page by page, so that others' questions are answered between two pages.
void Server::EffectRunner::sum_on(ConnId conn, const std::shared_ptr<RecordSum>& sum) {
  server_.disk_.accounting->ask(sum->uid(), [this, conn, sum]() -> Worker::Then {
    const base::Status read = sum->add_page(*server_.disk_.records);
    const std::string bytes = read && sum->is_done() ? sum->reply() : std::string();
    return [this, conn, sum, read, bytes] {
      const auto it = server_.queue_.clients.find(conn);
      if (it == server_.queue_.clients.end()) return;
      if (read && !sum->is_done()) return sum_on(conn, sum);
      --it->second.reads;
      if (!read) {
        answer_error(conn, sum->request_id(), read.error());
      } else {
        Reply reply;
        reply.conn = conn;
        reply.reply.set_id(sum->request_id());
        reply.bytes = bytes;
        carry_out(reply);
      }
      server_.want_turn(it->first, it->second);
    };
  });
}

void Server::EffectRunner::carry_out(SignTicket& asked) {
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
  asked.reply.mutable_step()->set_ticket(auth::sign_ticket(*server_.ticket_key_, ticket));
  Reply reply;
  reply.conn = asked.conn;
  reply.reply = std::move(asked.reply);
  carry_out(reply);
}

void Server::EffectRunner::carry_out(MakeBackup& backup) {
  const base::Status begun = server_.keeping_.backups->start(
      backup.path, [this, conn = backup.conn, id = backup.request_id](const auto& done) {
        if (!done) return answer_error(conn, id, done.error());
        Reply reply;
        reply.conn = conn;
        reply.reply.set_id(id);
        reply.reply.mutable_backup()->set_bytes(*done);
        carry_out(reply);
      });
  if (!begun) answer_error(backup.conn, backup.request_id, begun.error());
}

/// Until it is known who that is, its other requests wait.
void Server::EffectRunner::carry_out(ActFor& act) {
  const auto it = server_.queue_.clients.find(act.conn);
  if (it == server_.queue_.clients.end()) return;
  ++it->second.reads;
  server_.users_->find(act.uid, act.gid, [this, act = std::move(act)](const base::Result<Caller>& found) mutable {
    const auto there = server_.queue_.clients.find(act.conn);
    if (there == server_.queue_.clients.end()) return;
    Client& client = there->second;
    --client.reads;
    if (found) {
      client.caller = *found;
      client.caller.token = act.token;
      Reply reply;
      reply.conn = act.conn;
      reply.reply = std::move(act.reply);
      carry_out(reply);
    } else {
      answer_error(act.conn, act.reply.id(), found.error());
    }
    server_.want_turn(act.conn, client);
  });
}

void Server::EffectRunner::carry_out(TakeSnapshot& take) {
  const base::Status begun =
      server_.planning_.snapshots->start([this, conn = take.conn, id = take.request_id](const auto& bytes) {
        if (!bytes) return answer_error(conn, id, bytes.error());
        constexpr size_t kPiece = 1 << 20;
        std::vector<Outgoing> pieces;
        for (size_t at = 0; at < bytes->size(); at += kPiece) {
          wire::ApiReply piece;
          piece.set_id(id);
          piece.set_piece(static_cast<uint32_t>(at / kPiece + 1));
          piece.set_more(at + kPiece < bytes->size());
          piece.mutable_snapshot()->add_pieces(bytes->substr(at, kPiece));
          pieces.push_back(Reply{conn, {}, false, piece.SerializeAsString()});
        }
        server_.keeping_.committer->add({}, std::move(pieces));  // what it shows may not be durable yet
      });
  if (!begun) answer_error(take.conn, take.request_id, begun.error());
}

void Server::EffectRunner::carry_out(AskScheduler& ask) {
  server_.planning_.scheduler->inspect(
      [this, ask](const sched::ClusterView& view, base::Time now) -> std::function<void()> {
        wire::ApiReply answer =
            answer_from(view, now, ask.request, ask.planned ? *ask.planned : std::vector<sched::PlannedStart>());
        answer.set_id(ask.request.id());
        return [this, conn = ask.conn, id = ask.request.id(), bytes = answer.SerializeAsString()] {
          std::vector<Outgoing> out;
          Reply answered{conn, {}, false, bytes};
          answered.reply.set_id(id);
          out.push_back(std::move(answered));
          server_.keeping_.committer->add({}, std::move(out));  // what it shows may not be durable yet
        };
      });
}

void Server::EffectRunner::carry_out(AskOutlooks& ask) {
  const ConnId conn = ask.conn;
  const uint64_t id = ask.reply.id();
  if (!server_.planning_.questions->ask(std::move(ask)))
    answer_error(conn, id,
                 {base::ErrorCode::kUnavailable, "as many questions of this user wait for the scheduler as may",
                  "ask again once they are answered"},
                 base::milliseconds(50));
}

void Server::EffectRunner::carry_out(ShowFigures& show) {
  const PassReport passes = server_.planning_.scheduler->counts();
  wire::ShowFiguresReply& shown = *show.reply.mutable_show_figures();
  shown.set_connections(server_.queue_.clients.size() + server_.nodes_.links.size());
  server_.metrics_.requests.put(passes, shown);
  const Committer::Figures commits = server_.keeping_.committer->figures();
  shown.set_commits(commits.commits);
  shown.set_committed_rows(commits.rows);
  shown.set_most_committed_rows(commits.most_rows);
  shown.set_all_commits_us(static_cast<uint64_t>(commits.all.us));
  shown.set_longest_commit_us(static_cast<uint64_t>(commits.longest.us));
  shown.set_waiting_commits(commits.waiting);
  for (const auto& [conn, client] : server_.queue_.clients)
    shown.set_waiting_requests(shown.waiting_requests() + client.inbox.size());
  shown.set_waiting_questions(server_.planning_.questions->waiting());
  if (show.do_reset) {
    server_.metrics_.requests.reset(passes);
    server_.planning_.scheduler->forget_longest();
  }
  Reply answer{show.conn, std::move(show.reply), false, {}};
  carry_out(answer);
}

void Server::EffectRunner::carry_out(Fence& fence) {
  if (!server_.fencing_.under_way.insert(fence.node).second) return;  // the last attempt is still under way
  server_.fencing_.programs.add([this, node = fence.node, since = fence.since, program = server_.config_.fence_program,
                                 poster = server_.loop_.poster()] {
    const program::ProgramResult result = program::run_program({program, {node}});
    poster.post([this, node, since, result] {
      server_.fencing_.under_way.erase(node);
      server_.core_->on_fenced(server_.read_clocks(), node, since, result.exit_code == 0, result.text);
      server_.pump();
    });
  });
}

void Server::EffectRunner::carry_out(RunJobProgram& run) {
  server_.scripts_.jobs->run(run, [this, id = run.job, attempt = run.attempt, which = run.program](ProgramEnd end) {
    // Not from inside the release of effects.
    server_.loop_.defer([this, id, attempt, which, end = std::move(end)] {
      server_.core_->on_program_ended(server_.read_clocks(), id, attempt, which, end);
      server_.pump();
    });
  });
}

void Server::EffectRunner::carry_out(SendMail& mail) {
  server_.scripts_.mails->send(std::move(mail), server_.clock_.now());
}

void Server::EffectRunner::carry_out(Reload& reload) {
  constexpr uint32_t kNobody = UINT32_MAX;
  server_.disk_.loading->ask(kNobody, [this, reload, path = server_.config_.path]() -> Worker::Then {
    auto fresh = config::load(path);
    base::Result<Settings> settings =
        fresh ? settings_of(*fresh) : base::Result<Settings>(tl::unexpected(fresh.error()));
    return [this, reload, fresh = std::move(fresh), settings = std::move(settings)]() mutable {
      if (settings) return reconfigure(reload, std::move(*fresh), std::move(*settings));
      spdlog::error("reconfigure refused, the old configuration stays: {}", settings.error().text());
      if (reload.conn != 0) answer_error(reload.conn, reload.request_id, settings.error());
    };
  });
}

void Server::EffectRunner::reconfigure(const Reload& reload, config::Config fresh, Settings settings) {
  std::vector<std::string> warnings = fresh.warnings;
  const std::vector<std::string> changes = config::diff(server_.config_, fresh);
  for (const std::string& key : config::restart_needed(server_.config_, fresh))
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
  server_.config_ = std::move(fresh);
  server_.planning_.forecaster->set_pause(server_.config_.forecast_every);
  server_.scripts_.mails->reload();
  server_.scripts_.submissions->set(server_.config_);
  server_.scripts_.jobs->set(server_.config_);
  server_.core_->on_reconfigured(server_.read_clocks(), std::move(settings), reload, changes, warnings);
  server_.pump();
}

void Server::EffectRunner::carry_out(SetLogLevel& set) {
  spdlog::set_level(spdlog::level::from_str(set.level));
  spdlog::default_logger()->log(spdlog::level::info, "event=\"log level\" text={}", set.level);
}

void Server::EffectRunner::carry_out(Audited& audited) {
  constexpr RequestRate::Limits kMost = {.per_period = 100, .burst = 1'000};
  uint64_t& left_out = audit_left_out_[audited.uid];
  if (audit_rate_.take(server_.clock_.now(), audited.uid, kMost).us > 0) {
    ++left_out;
    return;
  }
  if (left_out > 0)
    audit_.write(fmt::format("audit=\"lines left out\" uid={} count={} text=\"gcontrol show audit has them\"",
                             audited.uid, left_out));
  audit_left_out_.erase(audited.uid);
  audit_.write(audited.text);
}

void Server::EffectRunner::carry_out(Note& note) {
  const auto left_out = note.is_in_history ? log_.take(server_.clock_.now(), note.is_warning) : 0;
  if (!left_out) return;
  if (*left_out > 0)
    spdlog::warn("event=\"lines left out\" count={} text=\"too many at once; gcontrol show events has them\"",
                 *left_out);
  if (note.is_warning)
    spdlog::warn("{}", note.text);
  else
    spdlog::info("{}", note.text);
}

}  // namespace gw::ctld
