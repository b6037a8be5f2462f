// An administrator: changes quotas, partitions, reservations, nodes and the configuration, each thing one change after
// the other, and remembers what holds since it was acknowledged; lists must show that, whatever happened meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ctld/core/settings.h"
#include "tests/sim/box.h"
#include "tests/sim/clients.h"

namespace gw::sim_cluster {

/// What it can do beside asking the controller.
class Operator {
 public:
  virtual ~Operator() = default;
  virtual void cut_power(const std::string& node) = 0;
  virtual void change_configuration(ctld::Settings settings) = 0;
  virtual const ctld::Settings& configuration() const = 0;
};

class Admin {
 public:
  Admin(Box& box, Clients& clients, Operator& hands, std::vector<std::string> nodes)
      : box_(box), random_(box.random.fork()), clients_(clients), hands_(hands), nodes_(std::move(nodes)) {}
  void begin();
  /// Changes nothing any more.
  void leave() { is_there_ = false; }
  /// From now on somebody else changes things: nothing is to be expected.
  void forget() { expects_ = false; }
  /// Asks for the lists, and compares.
  void look();
  /// It has said so and has no answer yet.
  bool says_dead(const std::string& node) const { return dead_.contains(node); }

 private:
  using Facts = std::map<std::string, std::string>;
  /// One thing that is changed: "qos a", "node n1".
  struct Subject {
    Facts facts;                 ///< That were acknowledged.
    Time until = Time::never();  ///< Then it goes by itself.
    uint32_t version = 0;        ///< Grows with each request and each answer.
    bool is_open = false;        ///< A change is asked for and not answered.
  };
  /// What has become so once the request was taken; an empty text: that is not known any more.
  void change(const std::string& subject, const wire::ApiRequest& request, const Facts& facts,
              Time until = Time::never());
  void change_quotas();
  void change_partition();
  void change_reservation();
  void create_reservation(const std::string& name);
  void change_node();
  void change_configuration();
  std::map<std::string, uint32_t> versions() const;
  void compare(const std::string& kind, const std::map<std::string, uint32_t>& asked,
               const std::map<std::string, Facts>& found) const;

  std::set<std::string> dead_;
  Box& box_;
  Random random_;
  Clients& clients_;
  Operator& hands_;
  std::vector<std::string> nodes_;
  bool is_there_ = true, expects_ = true;
  std::map<std::string, Subject> subjects_;
};

}  // namespace gw::sim_cluster
