// A list of records on its way to a client: pieces, each made from a page of the database by the thread that reads it.
// Invariants: pieces are numbered from 1, and the last one says that it is; a row that cannot be read is listed with
// what its columns say.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "ctld/core/effects.h"
#include "ctld/shell/record_match.h"
#include "model/task_set.h"
#include "store/records.h"

namespace gw::ctld {

class RecordList {
 public:
  explicit RecordList(const ReadRecords& asked);

  uint32_t uid() const { return asked_.uid; }
  uint64_t request_id() const { return asked_.request_id; }
  /// The next piece, serialised. Only while it has more. Errors: of the database.
  base::Result<std::string> next(store::RecordReader& reader);
  bool has_more() const { return has_more_; }

 private:
  ReadRecords asked_;
  RecordMatch match_;
  std::map<uint32_t, model::TaskSet> tasks_;  // that were named, by their array
  store::RecordPlace place_;

  bool is_named(const wire::JobRecord& record) const;
  uint32_t pieces_ = 0;
  bool has_more_ = true;
};

}  // namespace gw::ctld
