// See tokens.h.
#include "ctld/core/api/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ctld/core/authorize.h"
#include "ctld/core/rows/row_rules.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/listing.h"
#include "ctld/core/shared/replies.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;

namespace {

constexpr size_t kMostTokens = 100;  // of a user
constexpr base::Duration kUsualLifetime = base::hours(12);
constexpr size_t kIdLetters = 12;  // of the hash

base::Error denied(std::string what, std::string hint = {}) {
  return {ErrorCode::kDenied, std::move(what), std::move(hint)};
}

/// As it is told: whoever knew the hash could look for it in a stolen database, and no more; nobody need know it.
wire::Token told(wire::Token token) {
  token.clear_hash();
  token.clear_gid();
  return token;
}

void drop_token(Core& core, const std::string& id) {
  core.tokens.remove(id);
  core.out.write(store::DropToken{id});
}

/// Some at a time, each time that one is made.
void drop_ended(Core& core) {
  constexpr int kAtOnce = 200;
  for (int i = 0; i < kAtOnce; ++i) {
    const std::string id = core.tokens.ended(core.now);
    if (id.empty()) return;
    drop_token(core, id);
  }
}

base::Result<wire::Token> token_of(const Core& core, const Caller& caller, const wire::MakeTokenRequest& q) {
  if (caller.uid == 0)
    return tl::unexpected(denied("root makes no tokens", "make one as the user that the program acts for"));
  const base::Duration lifetime = q.lifetime_us() == 0 ? kUsualLifetime : base::Duration{q.lifetime_us()};
  if (core.tokens.of_user(caller.uid).size() >= kMostTokens)
    return base::fail(ErrorCode::kConflict, fmt::format("{} has {} tokens already", caller.user, kMostTokens),
                      "gangway token revoke ID ends one that is needed no longer");
  wire::Token token;
  token.set_hash(q.hash());
  token.set_id(q.hash().substr(0, kIdLetters));
  token.set_uid(caller.uid);
  token.set_gid(caller.gid);
  token.set_user(caller.user);
  token.set_name(q.name());
  token.set_read_only(q.read_only());
  token.set_made_us(core.now.us);
  token.set_expires_us((core.now + lifetime).us);
  GW_TRY_STATUS(check_token_row(token));
  if (core.tokens.all().contains(token.id()))
    return base::fail(ErrorCode::kConflict, "there is a token of this hash", "make another secret");
  return token;
}

void make_token(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  constexpr RequestRate::Limits kMost = {.per_period = 200, .burst = 200, .period = base::hours(1)};
  drop_ended(core);
  auto token = token_of(core, caller, request.make_token());
  if (!token) return core.out.refuse(conn, request.id(), token.error());
  if (core.clients.token_rate.take(core.now, caller.uid, kMost).us > 0)
    return core.out.refuse(conn, request.id(),
                           {ErrorCode::kConflict, caller.user + " has made 200 tokens within an hour",
                            "use one of them again; gangway token list shows which there are"});
  core.out.write(store::PutToken{token->id(), wire::row_bytes(*token)});
  core.out.audit(
      "make_token", "token " + token->id(),
      fmt::format("until {}{}", base::format_time({token->expires_us()}), token->read_only() ? ", to read alone" : ""),
      caller.uid);
  wire::ApiReply out;
  *out.mutable_list_tokens()->add_tokens() = told(*token);
  out.mutable_list_tokens()->set_now_us(core.now.us);
  core.tokens.add(std::move(*token));
  reply_change(core, conn, caller, request, std::move(out));
}

void list_tokens(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const bool are_all = request.list_tokens().all_users();
  if (are_all && !is_admin(core.settings, caller))
    return core.out.refuse(conn, request.id(), denied("tokens of others are listed to administrators alone"));
  std::vector<std::string> own;
  if (!are_all) own.assign(core.tokens.of_user(caller.uid).begin(), core.tokens.of_user(caller.uid).end());
  const auto show = [](const wire::Token& token, Time at, ListPiece& piece) {
    piece.looked_at(1);
    if (token.expires_us() > at.us)
      piece.added((*piece.reply.mutable_list_tokens()->add_tokens() = told(token)).ByteSizeLong());
  };
  auto fill = [&core, are_all, own, show, last = std::string()](Time at, ListPiece& piece) mutable {
    piece.reply.mutable_list_tokens()->set_now_us(at.us);
    if (!are_all) {  // a hundred at most
      for (const std::string& id : own)
        if (const auto it = core.tokens.all().find(id); it != core.tokens.all().end()) show(it->second, at, piece);
      return true;
    }
    for (auto it = core.tokens.all().upper_bound(last); it != core.tokens.all().end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      show(it->second, at, piece);
    }
    return true;
  };
  begin_list(core, conn, request.id(), std::move(fill));
}

/// All of them or none.
base::Result<std::vector<std::string>> to_revoke(const Core& core, const Caller& caller,
                                                 const wire::RevokeTokensRequest& q) {
  std::vector<std::string> ids;
  const std::set<std::string>& own = core.tokens.of_user(caller.uid);
  if (q.all()) ids.assign(own.begin(), own.end());
  const bool may_all = is_admin(core.settings, caller);
  for (const std::string& id : q.ids()) {
    const auto it = core.tokens.all().find(id);
    if (it == core.tokens.all().end() || (it->second.uid() != caller.uid && !may_all))
      return base::fail(ErrorCode::kNotFound, "there is no token " + base::printable(id), "gangway token list");
    ids.push_back(id);
  }
  return ids;
}

void revoke_tokens(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const auto ids = to_revoke(core, caller, request.revoke_tokens());
  if (!ids) return core.out.refuse(conn, request.id(), ids.error());
  for (const std::string& id : *ids) {
    const auto it = core.tokens.all().find(id);
    if (it == core.tokens.all().end()) continue;  // named twice
    core.out.audit("revoke_token", "token " + id, "of " + it->second.user(), caller.uid);
    drop_token(core, id);
  }
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

void act_for(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (!core.settings.web_uid || caller.uid != *core.settings.web_uid)
    return core.out.refuse(conn, request.id(), denied("only gwebd acts for others", "web.user says who that is"));
  const wire::Token* token = core.tokens.of_secret(request.act_for().hash(), core.now);
  if (token == nullptr)
    return core.out.refuse(conn, request.id(),
                           denied("the token is unknown, has ended or was revoked", "gangway token make makes one"));
  ActFor act{conn, token->uid(), token->gid(), token->id(), {}};
  act.reply.set_id(request.id());
  *act.reply.mutable_act_for()->mutable_token() = told(*token);
  core.out.send(std::move(act));
}

}  // namespace

void token_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_make_token()) return make_token(core, conn, caller, request);
  if (request.has_list_tokens()) return list_tokens(core, conn, caller, request);
  if (request.has_revoke_tokens()) return revoke_tokens(core, conn, caller, request);
  act_for(core, conn, caller, request);
}

Status check_token(const Core& core, const Caller& caller, const wire::ApiRequest& request) {
  if (caller.token.empty()) return {};
  const wire::Token* token = core.tokens.find(caller.token, core.now);
  if (token == nullptr || token->uid() != caller.uid || caller.uid == 0)
    return tl::unexpected(denied("the token has ended or was revoked", "gangway token make makes another"));
  if (!wire::is_open_to_tokens(request))
    return tl::unexpected(denied("this is not done by a token", "use the command itself"));
  if (token->read_only() && wire::is_change(request))
    return tl::unexpected(denied("this token only reads", "gangway token make without --read-only makes another"));
  return {};
}

void restore_tokens(Core& core, const store::Snapshot& snapshot) {
  for (const store::NamedBytes& row : snapshot.tokens) {
    auto token = read_token(row);
    if (token && core.tokens.of_secret(token->hash(), {}) != nullptr)
      token = base::fail(ErrorCode::kInternal, "another has its hash");
    if (token)
      core.tokens.add(std::move(*token));
    else
      hold_named(core, store::RowKind::kToken, row.name, token.error().what);
  }
}

}  // namespace gw::ctld
