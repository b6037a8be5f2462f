// See script_server.h.
#include "ctld/gscriptd/script_server.h"

#include <spdlog/spdlog.h>

#include <csignal>
#include <utility>

#include "base/text.h"
#include "ctld/gscriptd/job_call.h"
#include "ctld/gscriptd/mail_call.h"
#include "ctld/gscriptd/submit_call.h"

namespace gw::ctld {

namespace {

constexpr size_t kMostAnswer = 4 << 20;

wire::FromScripts plain(const program::ProgramResult& result) {
  wire::FromScripts message;
  message.set_exit_code(result.exit_code);
  message.set_output(base::printable(result.text, 1'000));
  return message;
}

}  // namespace

ScriptServer::ScriptServer(config::Config config) : config_(std::move(config)) {}

base::Status ScriptServer::listen() {
  io::ListenOptions options;
  options.address = "unix:" + config::script_socket(config_);
  options.unix_mode = 0600;
  options.max_connections = 4;
  GW_TRY(listener, io::Listener::open(loop_, options, [this](std::shared_ptr<io::Stream> stream) {
           const uint64_t number = next_++;
           stream->on_closed(
               [this, number](const std::string&) { loop_.defer([this, number] { connections_.erase(number); }); });
           stream->on_data([this, number](std::string_view bytes) { on_data(number, bytes); });
           connections_.emplace(number, Connection{std::move(stream), wire::FrameDecoder(wire::kMaxFrame)});
         }));
  listener_ = std::move(listener);
  return {};
}

void ScriptServer::run() {
  loop_.on_signal(SIGTERM, [this] { loop_.stop(); });
  loop_.on_signal(SIGINT, [this] { loop_.stop(); });
  loop_.on_signal(SIGHUP, [this] { (void)reload(); });
  loop_.run();
}

base::Status ScriptServer::reload() {
  auto fresh = config::load(config_.path);
  if (!fresh) {
    spdlog::error("the configuration cannot be read again, the old one stays: {}", fresh.error().text());
    return tl::unexpected(fresh.error());
  }
  config_ = std::move(*fresh);
  spdlog::info("configuration read again");
  return {};
}

void ScriptServer::on_data(uint64_t number, std::string_view bytes) {
  const auto it = connections_.find(number);
  if (it == connections_.end()) return;
  it->second.decoder.feed(bytes);
  for (;;) {
    auto payload = it->second.decoder.next();
    if (!payload) return it->second.stream->close(payload.error().text());
    if (!*payload) return;
    wire::ToScripts message;
    if (!message.ParseFromString(**payload)) return it->second.stream->close("a message cannot be read");
    on_message(number, message);
  }
}

void ScriptServer::on_message(uint64_t number, const wire::ToScripts& message) {
  switch (message.what_case()) {
    case wire::ToScripts::kMail:
      return run_mail(number, message.id(), message.mail());
    case wire::ToScripts::kSubmit:
      return run_submit(number, message.id(), message.submit());
    case wire::ToScripts::kJob:
      return run_job(number, message.id(), message.job());
    case wire::ToScripts::kReload: {
      const base::Status done = reload();
      return answer(number, message.id(), done ? plain({0, ""}) : plain({-1, done.error().text()}));
    }
    default:
      return answer(number, message.id(), plain({-1, "this version does not know what is asked for"}));
  }
}

void ScriptServer::run_mail(uint64_t number, uint64_t id, const wire::ScriptMail& mail) {
  run(mail_programs_, number, id, mail_call(mail, config_), plain);
}

void ScriptServer::run_submit(uint64_t number, uint64_t id, const wire::ScriptSubmit& submit) {
  const auto call = submit_call(submit, config_);
  if (!call && call.error().code == base::ErrorCode::kInvalid) {  // by what the user sent
    wire::FromScripts message;
    message.mutable_verdict()->set_refusal(call.error().text());
    return answer(number, id, std::move(message));
  }
  run(submit_programs_, number, id, call, [submit](const program::ProgramResult& result) {
    auto verdict = read_verdict(submit, result);
    if (!verdict) return plain({result.exit_code == 0 ? -1 : result.exit_code, verdict.error().text()});
    wire::FromScripts message;
    *message.mutable_verdict() = std::move(*verdict);
    return message;
  });
}

void ScriptServer::run_job(uint64_t number, uint64_t id, const wire::ScriptJob& job) {
  run(job_programs_, number, id, job_call(job, config_), plain);
}

void ScriptServer::run(program::ProgramPool& pool, uint64_t number, uint64_t id,
                       const base::Result<program::ProgramCall>& call,
                       std::function<wire::FromScripts(const program::ProgramResult&)> make) {
  if (!call) return answer(number, id, plain({-1, call.error().text()}));
  if (waiting_ >= kMostWaiting) {
    wire::FromScripts busy = plain({-1, "too many programs run or wait already"});
    busy.set_not_taken(true);
    return answer(number, id, std::move(busy));
  }
  ++waiting_;
  pool.add([this, number, id, call = *call, make = std::move(make), poster = loop_.poster()] {
    const program::ProgramResult result = program::run_program(call);
    poster.post([this, number, id, make, result] {
      --waiting_;
      answer(number, id, make(result));
    });
  });
}

void ScriptServer::answer(uint64_t number, uint64_t id, wire::FromScripts message) {
  const auto it = connections_.find(number);
  if (it == connections_.end()) return;
  if (message.ByteSizeLong() > kMostAnswer) message = plain({-1, "the answer is too long"});
  message.set_id(id);
  std::string frame;
  wire::append_frame(frame, message.SerializeAsString());
  it->second.stream->send(frame);
}

}  // namespace gw::ctld
