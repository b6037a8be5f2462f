// See feed.h.
#include "cmds/gangway/top/feed.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/conn/connection.h"
#include "client/show/job_labels.h"
#include "client/why/why_text.h"
#include "cmds/gangway/topo/gpu_uses.h"
#include "wire/convert.h"

namespace gw::cmds::top {

namespace {
constexpr base::Duration kTryAgain = base::seconds(2);
constexpr base::Duration kNodesApart = base::seconds(5);  // where only their sum is shown
constexpr base::Duration kUseApart = base::seconds(3);
constexpr base::Duration kChoicesApart = base::milliseconds(300);  // while somebody goes through the jobs
constexpr base::Duration kLongestUnasked = base::seconds(30);
constexpr int64_t kShare = 10;  // of the time that the questions took
}  // namespace

Feed::Feed(io::Loop& loop, client::ControllerLines& lines, Known& known, std::function<Question()> question,
           std::function<void()> news)
    : loop_(loop), lines_(lines), known_(known), question_(std::move(question)), news_(std::move(news)) {}

void Feed::start() {
  ask_if_due();
  await_change();
}

void Feed::ask(wire::ApiRequest request, ReplyFn done) {
  lines_.ask(std::move(request), [alive = alive_, done = std::move(done)](base::Result<wire::ApiReply> reply) {
    if (*alive) done(std::move(reply));
  });
}

void Feed::await_change() {
  wire::ApiRequest request;
  request.mutable_await_change()->set_version(version_);
  ask(std::move(request), [this](const base::Result<wire::ApiReply>& reply) {
    const uint64_t before = std::exchange(version_, reply ? reply->await_change().version() : 0);
    answered("changes", reply);
    if (!reply) {
      change_timer_ = loop_.after(kTryAgain, [this] { await_change(); });
      return;
    }
    if (version_ != before) is_stale_ = are_nodes_stale_ = true;
    ask_if_due();
    await_change();
  });
}

void Feed::look_again() {
  is_wanted_ = are_nodes_stale_ = true;
  ask_if_due();
}

void Feed::ask_if_due() {
  const base::Duration now = io::Loop::monotonic();
  const Question question = question_();
  const bool is_other = question.chosen != known_.use_of;
  if (question.chosen != 0 && now >= use_asked_ + (is_other ? kChoicesApart : kUseApart)) ask_use(question.chosen);
  if (now >= began_ + kLongestUnasked) is_stale_ = are_nodes_stale_ = true;  // loads change, and reservations begin
  const bool may_ask = open_ == 0 && (is_wanted_ || now >= next_);
  if (may_ask && (is_wanted_ || is_stale_)) ask_all(question);
  const bool are_shown = question.view == View::kNodes || question.view == View::kPartitions;
  if (may_ask && are_nodes_stale_ && (are_shown || now >= nodes_asked_ + kNodesApart)) ask_nodes();
  const base::Duration silent = open_ == 0 ? base::Duration{} : now - began_;
  if (std::exchange(known_.silent, silent) != silent) news_();
  const bool is_soon = (is_stale_ && open_ == 0) || (question.chosen != 0 && question.chosen != known_.use_of);
  ask_timer_ = loop_.after(is_soon ? std::clamp(next_ - now, kChoicesApart, base::seconds(1)) : base::seconds(1),
                           [this] { ask_if_due(); });
}

void Feed::ask_all(const Question& question) {
  is_wanted_ = is_stale_ = false;
  began_ = io::Loop::monotonic();
  wire::ApiRequest ping, jobs, partitions, shares;
  ping.mutable_ping();
  ask_for("ping", std::move(ping), [this](wire::ApiReply& reply) {
    known_.ping = std::move(*reply.mutable_ping());
    known_.ahead = base::Time{known_.ping->now_us()} - base::SystemClock().now();
  });
  if (question.view != View::kQuotas) {
    const bool are_chosen = question.view == View::kJobs;
    *jobs.mutable_list_jobs()->mutable_filter() = are_chosen ? question.jobs : wire::JobFilter();
    ask_for("jobs", std::move(jobs), [this, filter = are_chosen ? question.filter : ""](wire::ApiReply& reply) {
      known_.jobs = std::move(*reply.mutable_list_jobs());
      known_.jobs_of = filter;
    });
  }
  if (question.view == View::kPartitions) {
    partitions.mutable_list_partitions();
    ask_for("partitions", std::move(partitions),
            [this](wire::ApiReply& reply) { known_.partitions = std::move(*reply.mutable_list_partitions()); });
  }
  if (question.view == View::kQuotas) {
    shares.mutable_show_shares();
    ask_for("quotas", std::move(shares),
            [this](wire::ApiReply& reply) { known_.shares = std::move(*reply.mutable_show_shares()); });
  }
}

void Feed::ask_nodes() {
  are_nodes_stale_ = false;
  nodes_asked_ = io::Loop::monotonic();
  if (open_ == 0) began_ = nodes_asked_;
  wire::ApiRequest nodes;
  nodes.mutable_list_nodes();
  ask_for("nodes", std::move(nodes),
          [this](wire::ApiReply& reply) { known_.nodes = std::move(*reply.mutable_list_nodes()); });
}

void Feed::ask_for(const std::string& what, wire::ApiRequest request, std::function<void(wire::ApiReply&)> keep) {
  ++open_;
  ask(std::move(request), [this, what, keep = std::move(keep)](base::Result<wire::ApiReply> reply) {
    if (reply) keep(*reply);
    if (--open_ == 0) {
      const base::Duration now = io::Loop::monotonic();
      next_ = now + base::microseconds((now - began_).us * kShare);
    }
    answered(what, reply);
    if (open_ == 0) ask_if_due();
  });
}

/// Of jobs of others it is refused, and nothing is shown then.
void Feed::ask_use(uint32_t job) {
  use_asked_ = io::Loop::monotonic();
  if (known_.use_of != job) known_.use.Clear();
  known_.use_of = job;
  wire::ApiRequest request;
  request.mutable_step_usage()->set_job_id(job);
  ask(std::move(request), [this, job](base::Result<wire::ApiReply> reply) {
    if (!reply || known_.use_of != job) return;
    known_.use = std::move(*reply->mutable_step_usage());
    news_();
  });
}

/// What is refused stays refused: only who is not reached is asked again at once.
void Feed::answered(const std::string& what, const base::Result<wire::ApiReply>& reply) {
  using base::ErrorCode;
  ++known_.version;
  if (reply)
    troubles_.erase(what);
  else
    troubles_[what] = reply.error().text();
  known_.trouble = troubles_.empty() ? "" : troubles_.begin()->second;
  if (!reply && (reply.error().code == ErrorCode::kUnavailable || reply.error().code == ErrorCode::kTimeout))
    is_stale_ = true;
  news_();
}

void Feed::change(wire::ApiRequest request, std::function<void(base::Status)> done) {
  request.set_client_id(client::make_uuid());
  ask(std::move(request), [this, done = std::move(done)](const base::Result<wire::ApiReply>& reply) {
    look_again();
    if (!reply) return done(tl::unexpected(reply.error()));
    const auto& faults = reply->has_cancel() ? reply->cancel().faults() : reply->jobs().faults();
    if (!faults.empty()) return done(tl::unexpected(wire::from_wire(faults[0].error())));
    done({});
  });
}

void Feed::explain(uint32_t job, TextFn done) {
  wire::ApiRequest why;
  why.mutable_why_job()->set_id(job);
  why.mutable_why_job()->set_offers(true);
  const auto answer = std::make_shared<client::WhyAnswer>();
  const auto tell = [answer, done] { done(client::why_text(*answer)); };
  const auto ask_label = [this, answer, tell] {
    wire::ApiRequest labels;
    google::protobuf::RepeatedPtrField<wire::Job> one;
    *one.Add() = answer->why.job();
    if (!client::ask_for_labels(one, *labels.mutable_show_shares())) return tell();
    ask(std::move(labels), [answer, tell](base::Result<wire::ApiReply> reply) {
      if (reply) {
        const client::JobLabels list(std::move(*reply->mutable_show_shares()));
        if (const wire::JobLabel* label = list.of(answer->why.job())) answer->label = *label;
      }
      tell();
    });
  };
  const auto ask_life = [this, job, answer, ask_label, done] {
    wire::ApiRequest shown;
    shown.mutable_show_job()->set_id(job);
    shown.mutable_show_job()->set_history(true);
    ask(std::move(shown), [answer, ask_label, done](base::Result<wire::ApiReply> reply) {
      if (!reply) return done(tl::unexpected(reply.error()));
      answer->shown = std::move(*reply->mutable_show_job());
      *answer->why.mutable_job() = answer->shown.job();
      ask_label();
    });
  };
  ask(std::move(why), [answer, tell, ask_life](base::Result<wire::ApiReply> reply) {
    if (reply) answer->why = std::move(*reply->mutable_why_job());
    // One that ended is in the store alone: it has a history.
    if (reply && answer->why.job().status().has_waiting()) return tell();
    ask_life();
  });
}

void Feed::draw_node(const std::string& node, size_t columns, Look look, TextFn done) {
  wire::ApiRequest request;
  request.mutable_list_nodes()->set_topology(true);
  request.mutable_list_nodes()->add_names(node);
  ask(std::move(request), [columns, look, done = std::move(done)](const base::Result<wire::ApiReply>& reply) {
    if (!reply) return done(tl::unexpected(reply.error()));
    if (reply->list_nodes().nodes().empty() || !reply->list_nodes().nodes(0).has_topology())
      return done(base::fail(base::ErrorCode::kUnavailable, "the node has not told its topology yet"));
    const wire::Node& told = reply->list_nodes().nodes(0);
    const auto topology = wire::from_wire(told.topology());
    if (!topology) return done(tl::unexpected(topology.error()));
    done(topo::draw(*topology, gpu_uses(told), static_cast<int>(columns), look.colour, look.unicode));
  });
}

}  // namespace gw::cmds::top
