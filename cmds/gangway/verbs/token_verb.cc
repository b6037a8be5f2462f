// gangway token make | list | revoke.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "auth/token_secret.h"
#include "base/text.h"
#include "base/time.h"
#include "client/show/show_json.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"

namespace gw::cmds {
namespace {

using Json = nlohmann::ordered_json;

const client::CommandDoc kMakeDoc = {
    "make a token, by which a program acts for you",
    "[OPTIONS]",
    "Prints a secret, once: a program that shows it to gwebd, the server of the web page and its API, may read, "
    "submit, "
    "cancel, hold, release and requeue as you may, until the token ends or is revoked. Whoever has the secret can do "
    "so: "
    "keep it in a file that only you can read. The controller keeps its hash alone. root makes no tokens.",
    {{"0", "the secret is on standard output"}, {"1", "bad words, too many tokens, or no answer"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway token make --name notebook > ~/.gangway-token", "for twelve hours"},
     {"gangway token make --lifetime 30d --read-only", "for a dashboard"}},
    {},
};
const client::CommandDoc kListDoc = {
    "list your tokens, without their secrets",
    "[OPTIONS]",
    "Those that have ended are not shown. Administrators see those of all users with --all.",
    {{"0", "the list is printed"}, {"1", "bad words, not allowed, or no answer"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway token list", "which are there, and until when?"}},
    {},
};
const client::CommandDoc kRevokeDoc = {
    "end tokens at once",
    "[OPTIONS] ID...",
    "IDs are those of gangway token list. Administrators may end tokens of others. All that are named, or none: one "
    "that "
    "is not there is an error.",
    {{"0", "they are of no more use"}, {"1", "bad words, no such token, or no answer"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway token revoke 3fa9c204be11", "that one"}, {"gangway token revoke --all", "all of yours"}},
    {},
};

Json object_of(const wire::Token& t) {
  return {{"id", t.id()},
          {"name", t.name()},
          {"user", t.user()},
          {"user_id", t.uid()},
          {"read_only", t.read_only()},
          {"made", base::Time{t.made_us()}.seconds()},
          {"expires", base::Time{t.expires_us()}.seconds()}};
}

int print_json(const Json& j) {
  return client::print_out(j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n") ? client::kExitOk
                                                                                         : client::kExitFailed;
}

int make(const Invocation& call) {
  std::string name, lifetime;
  bool read_only = false, json = false;
  std::vector<std::string> operands;
  if (const auto code =
          parse_verb(call, kMakeDoc,
                     {text_option("name", 'n', "NAME", "what you call it", name),
                      text_option("lifetime", 't', "TIME", "it ends after so long (30m, 12h, 7d); 12h", lifetime),
                      flag("read-only", 'r', "it changes nothing", read_only),
                      flag("json", 0, "as JSON, with schema_version", json)},
                     operands))
    return *code;
  if (!operands.empty())
    return failed(call.program, {base::ErrorCode::kInvalid,
                                 "make takes no words, but " + base::printable(operands[0], 60), "--name NAME"});
  wire::ApiRequest request;
  wire::MakeTokenRequest& make = *request.mutable_make_token();
  if (!lifetime.empty()) {
    const auto time = base::parse_duration(lifetime);
    if (!time) return failed(call.program, {time.error().code, "--lifetime: " + time.error().what, time.error().hint});
    if (time->us <= 0)
      return failed(call.program, {base::ErrorCode::kInvalid, "--lifetime: it ends before it begins", "30m, 12h, 7d"});
    make.set_lifetime_us(time->us);
  }
  const std::string secret = auth::make_token_secret();
  make.set_hash(auth::token_hash(secret));
  make.set_name(name);
  make.set_read_only(read_only);
  const auto reply = ask_controller(call.program, request);
  if (!reply) return failed(call.program, reply.error());
  const wire::Token& token = reply->list_tokens().tokens(0);
  if (json) {
    Json j{{"schema_version", client::kSchemaVersion}, {"secret", secret}};
    j["token"] = object_of(token);
    return print_json(j);
  }
  client::print_note(call.program, fmt::format("token {} ends at {}; its secret is shown this once", token.id(),
                                               base::format_time({token.expires_us()})));
  return client::print_out(secret + "\n") ? client::kExitOk : client::kExitFailed;
}

std::string table_of(const wire::ListTokensReply& list, bool all) {
  size_t users = 4, names = 4;
  for (const wire::Token& t : list.tokens()) {
    users = std::max(users, base::printable(t.user()).size());
    names = std::max(names, base::printable(t.name()).size());
  }
  const auto row = [&](const std::string& id, const std::string& user, const std::string& name, const std::string& may,
                       const std::string& ends) {
    return fmt::format("{:<12} {}{:<{}} {:<6} {}\n", id, all ? fmt::format("{:<{}} ", user, users) : "", name, names,
                       may, ends);
  };
  std::string out = row("ID", "USER", "NAME", "MAY", "UNTIL");
  for (const wire::Token& t : list.tokens())
    out += row(base::printable(t.id()), base::printable(t.user()), base::printable(t.name()),
               t.read_only() ? "read" : "change", base::format_time({t.expires_us()}));
  return out;
}

int list(const Invocation& call) {
  bool all = false, json = false;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kListDoc,
                                   {flag("all", 'a', "those of all users, for administrators", all),
                                    flag("json", 0, "as JSON, with schema_version", json)},
                                   operands))
    return *code;
  if (!operands.empty())
    return failed(call.program,
                  {base::ErrorCode::kInvalid, "list takes no words, but " + base::printable(operands[0], 60), ""});
  wire::ApiRequest request;
  request.mutable_list_tokens()->set_all_users(all);
  const auto reply = ask_controller(call.program, request);
  if (!reply) return failed(call.program, reply.error());
  if (!json) return client::print_out(table_of(reply->list_tokens(), all)) ? client::kExitOk : client::kExitFailed;
  Json j{{"schema_version", client::kSchemaVersion}};
  j["tokens"] = Json::array();
  for (const wire::Token& t : reply->list_tokens().tokens()) j["tokens"].push_back(object_of(t));
  j["last_update"] = base::Time{reply->list_tokens().now_us()}.seconds();
  return print_json(j);
}

int revoke(const Invocation& call) {
  bool all = false;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kRevokeDoc, {flag("all", 'a', "all of yours", all)}, operands)) return *code;
  if (all != operands.empty())
    return failed(call.program,
                  {base::ErrorCode::kInvalid, "name tokens, or --all, and not both", "gangway token list shows them"});
  wire::ApiRequest request;
  request.mutable_revoke_tokens()->set_all(all);
  for (const std::string& id : operands) request.mutable_revoke_tokens()->add_ids(id);
  const auto reply = ask_controller(call.program, request);
  return reply ? client::kExitOk : failed(call.program, reply.error());
}

constexpr Verb kTokenVerbs[] = {
    {"make", "", "make a token, by which a program acts for you", make},
    {"list", "", "list your tokens, without their secrets", list},
    {"revoke", "ID...", "end tokens at once", revoke},
};

}  // namespace

int token_verb(const Invocation& call) {
  return run_verb(call.program, "Tokens, by which programs act for you through gwebd.", kTokenVerbs, call.args);
}

}  // namespace gw::cmds
