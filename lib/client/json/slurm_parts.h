// What the JSON of Slurm's commands is made of, in the shape of 23.11 (data_parser/v0.0.40): numbers that may be unset
// or infinite, ends of processes, and what stands around every answer. Programs read these names and types.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "client/json/asked.h"

namespace gw::client::slurm {

using Json = nlohmann::ordered_json;

/// {"set": true, "infinite": false, "number": N}
Json number(int64_t value);
Json unset();
Json infinite();
/// Unset where it is zero.
Json number_or_unset(int64_t value);
/// Seconds since the epoch; 0 where there is none, as Slurm has it.
Json moment(base::Time time);
/// Minutes, rounded up; infinite without a limit.
Json minutes(base::Duration length);
/// {"status": ["SIGNALED"], "return_code": ..., "signal": {"id": ..., "name": "SIGTERM"}}
Json process_end(int code, int signo);
/// The words between commas.
Json words(const std::string& text);

/// An object that is made field by field: each is new, so that none is looked for among the others.
class Fields {
 public:
  Fields() { all_.reserve(kMany); }
  Json& operator[](std::string name) {
    return static_cast<std::vector<Json::object_t::value_type>&>(all_).emplace_back(std::move(name), nullptr).second;
  }
  Json done() && { return Json(std::move(all_)); }

 private:
  static constexpr size_t kMany = 160;  // a job has some 130
  Json::object_t all_;
};

/// Takes text on its way out; false: nobody reads it any more.
using Sink = std::function<bool(std::string_view)>;

/// Names with commas between them.
template <typename Names>
std::string joined(const Names& names) {
  const std::vector<std::string> list(names.begin(), names.end());
  return base::join(list, ",");
}
/// A list of names.
template <typename Names>
Json strings(const Names& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(name);
  return list;
}

/// The whole answer: `body` with "meta", "errors" and "warnings", two spaces deep, and a newline.
std::string answer(Json body, const Asked& asked);
/// The same with a list of many records in front, under `name`: `next` gives one after the other, null behind the last.
/// They go out as they are made. False: the sink takes no more.
bool answer(const std::string& name, const std::function<Json()>& next, Json body, const Asked& asked, const Sink& out);

}  // namespace gw::client::slurm
