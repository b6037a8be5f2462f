// gangway offers: what a QOS could have now, once or each time that it changes.
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "client/conn/connection.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/gangway/verbs/offers_words.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kDoc = {
    "say what a QOS could have now",
    "[OPTIONS]",
    "For programs that share GPUs out among work of their own: nodes of which the same is free, until when, and how "
    "many "
    "GPUs of them the QOS can have within its guarantees and its limits. An offer keeps nothing from anybody; `galloc "
    "--from-offer ID` takes one up, is held to all rules, and has it no longer than the offer says. Nodes that are "
    "reserved, or kept for a job by now, are not offered; those that a job is to have later are, until then.\n\n"
    "--watch prints it anew each time that it changes, once in a second at most, until ctrl-C.",
    {{"0", "the answer is printed"}, {"1", "bad words, no such QOS or partition, not yours, or no answer"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway offers -q team-a", "what team-a could have"},
     {"gangway offers --json --watch", "for a scheduler of your own: an object a line"}},
    {},
};

struct Offered {
  bool json = false, watch = false;
  std::string qos, partitions;
  wire::ApiRequest request() const {
    wire::ApiRequest out;
    wire::ListOffersRequest& list = *out.mutable_list_offers();
    list.set_qos(qos);
    if (partitions.empty()) return out;
    for (const std::string& name : base::split(partitions, ',')) list.add_partitions(name);
    return out;
  }
};

/// Until ctrl-C, or until nobody reads. What has changed is asked for when anything in the cluster has.
base::Status watch(client::Connection& connection, const Offered& o) {
  std::string before;
  for (uint64_t version = 0;;) {
    wire::ApiRequest wait;
    wait.mutable_await_change()->set_version(version);
    GW_TRY(changed, connection.call(std::move(wait)));
    version = changed.await_change().version();
    GW_TRY(reply, connection.call(o.request()));
    const std::string text = o.json ? offers_json(reply.list_offers()) : offers_text(reply.list_offers());
    if (text != before && !client::print_out(text))
      return base::fail(base::ErrorCode::kUnavailable, "standard output is closed");
    before = text;
    ::sleep(1);  // a busy cluster changes all the time
  }
}

}  // namespace

int offers_verb(const Invocation& call) {
  Offered o;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(
          call, kDoc,
          {text_option("qos", 'q', "QOS", "of this QOS; your own", o.qos),
           text_option("partition", 'p', "NAMES", "of these partitions; all that take its jobs", o.partitions),
           flag("json", 0, "as JSON, an object a line, with schema_version", o.json),
           flag("watch", 'w', "again each time that it changes", o.watch)},
          operands))
    return *code;
  if (!operands.empty())
    return failed(call.program,
                  {base::ErrorCode::kInvalid, "offers takes no words, but " + base::printable(operands[0], 60),
                   "--qos QOS, --partition NAMES"});
  auto connection = client::connect(call.program);
  if (!connection) return failed(call.program, connection.error());
  if (o.watch) return failed(call.program, watch(*connection, o).error());
  const auto reply = connection->call(o.request());
  if (!reply) return failed(call.program, reply.error());
  const std::string text = o.json ? offers_json(reply->list_offers()) : offers_text(reply->list_offers());
  return client::print_out(text) ? client::kExitOk : client::kExitFailed;
}

}  // namespace gw::cmds
