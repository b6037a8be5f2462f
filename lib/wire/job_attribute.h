// What a row of the table of attributes (job_attributes.h) says of one. Invariant: a row is a constant.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/version.h"
#include "wire/attribute_fields.h"

namespace gw::wire {

/// Whose option it is. All of them stand in directives, too.
enum class Commands : uint8_t {
  kNone,    ///< Nobody's in this version: refused as one of Slurm's that is not there.
  kAsking,  ///< Of every command that asks for resources.
  kBatch,   ///< Of gbatch.
};

/// Who may change it with gcontrol update.
enum class Updater : uint8_t { kNobody, kOwner, kAdmin };

struct JobUpdate {
  std::string_view key = {}, alias = {};  ///< In any case.
  Updater who = Updater::kNobody;
  bool only_pending = false;  ///< Only while the job waits; after it the job has to fit anew.
  bool by_hand = false;  ///< What it does to the job, and what else must hold, ctld/core/admission/update_job.cc says.
  UpdateField field = {};
};

/// A column of gqueue: -o by letter, -O by name.
struct JobColumn {
  char letter = 0;
  std::string_view name = {}, header = {};
};

/// Where show job, JSON and gqueue show it.
enum class Shown : uint8_t {
  kByRow,   ///< Under the row's names (of those that it has) with what the field holds, behind the comment.
  kByHand,  ///< Where, and as what, client/show/job_text.cc, show_json.cc and job_fields.cc say.
};

struct JobAttribute {
  std::string_view name = {};    ///< Of its field in job.proto; empty: several fields, or none of its own.
  std::string_view option = {};  ///< "-J/--job-name"
  Commands commands = Commands::kNone;
  std::string_view value = {}, help = {};
  std::string_view variable = {};  ///< Behind each prefix of the environment; empty: none.
  bool value_is_optional = false;
  bool is_raw = false;        ///< Any bytes; others are UTF-8.
  bool may_be_empty = false;  ///< Of a text: the option takes an empty one.
  JobUpdate update = {};
  std::string_view show_key = {};  ///< gcontrol show job
  std::string_view json_key = {};
  JobColumn column = {};
  Shown shown = Shown::kByRow;
  bool is_per_component = false;  ///< Each component of a heterogeneous job has its own.
  KeptField kept = {};
  int64_t least = 0;  ///< Of a number that is kept.
  uint64_t most = 0;  ///< Of a number that is kept; of a text: bytes.
  std::string_view hint = {};
  /// The version whose node daemon first understood it: to an earlier one no job goes that says it. Of an attribute
  /// that is kept in one field, and that node daemons look at.
  model::Version since = model::kFirstVersion;
};

}  // namespace gw::wire
