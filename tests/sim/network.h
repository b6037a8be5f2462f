// The network between controller and node daemons. What goes wrong in it, and why just that:
// * A link is an encrypted stream: within one, messages arrive in order and once, or the link is over; the real
//   transport makes everything else impossible. So messages are late, are held up in one direction or in both (a cut,
//   a one-way cut), and are lost with their link from some place on, of which either end learns later, or never.
// * Across links everything comes: a node that dialled again may be heard before what it said over its earlier link,
//   which may still be under way; the same report comes twice, over two links; what was cut off arrives after the cut.
// * Clients' requests (clients.h) go over a connection each: lost, answered into the void, repeated, out of order.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ctld/core/effects.h"
#include "tests/sim/box.h"

namespace gw::sim_cluster {

using ctld::LinkId;

/// Who is at the ends.
class NetworkEnds {
 public:
  virtual ~NetworkEnds() = default;
  virtual bool is_controller_up() const = 0;
  virtual void node_hears(const std::string& node, const wire::ControllerToNode& message) = 0;
  virtual void node_is_linked(const std::string& node) = 0;
  virtual void node_lost_link(const std::string& node, const std::string& why) = 0;
  virtual void controller_hears(LinkId link, const std::string& node, const wire::NodeToController& message) = 0;
  virtual void controller_lost_link(LinkId link, const std::string& why) = 0;
};

class Network {
 public:
  Network(Box& box, NetworkEnds& ends) : box_(box), ends_(ends) {}

  /// A node wants a link; it is told at some time whether it has one.
  void dial(const std::string& node);
  void from_node(const std::string& node, const wire::NodeToController& message);
  /// The name of the node at the other end; empty: there is none.
  std::string from_controller(LinkId link, const wire::ControllerToNode& message);
  void node_hangs_up(const std::string& node);
  void controller_hangs_up(LinkId link);
  /// Its machine lost the power, or the daemon died: the other end hears of it, or has to find out by the silence.
  void node_dies(const std::string& node, bool is_silent);
  void controller_dies(bool is_silent);

  /// From now on nothing passes.
  void cut(const std::string& node, bool down, bool up);
  void heal(const std::string& node);
  bool is_cut(const std::string& node) const { return cut_down_.contains(node) || cut_up_.contains(node); }
  /// Links that are there lose what is under way and are over; the ends hear of it at some time.
  void tear(const std::string& node);

 private:
  template <typename Message>
  struct Way {
    std::deque<Message> under_way;
    bool is_planned = false;  ///< The arrival of the next one is on the agenda.
  };
  struct Link {
    std::string node;
    Way<wire::ControllerToNode> down;
    Way<wire::NodeToController> up;
    bool has_node = true, has_controller = true;  // the end is open
    bool is_torn = false;                         // nothing passes any more
  };

  void plan_down(LinkId id);
  void plan_up(LinkId id);
  void arrive_down(LinkId id);
  void arrive_up(LinkId id);
  void tell_node(LinkId id, Duration after, const std::string& why);
  void tell_controller(LinkId id, Duration after, const std::string& why);
  void forget_if_over(LinkId id);
  Link* open_link_of(const std::string& node, LinkId* id = nullptr);

  Box& box_;
  NetworkEnds& ends_;
  std::map<LinkId, Link> links_;
  std::set<std::string> cut_down_, cut_up_, dialing_;
  LinkId last_ = 0;
};

}  // namespace gw::sim_cluster
