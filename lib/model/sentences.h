// What Slurm says where something is refused: programs look for these words under its commands' names (base::Error).
#pragma once

namespace gw::model {

constexpr const char* kNodeNameSentence = "Invalid node name specified";
constexpr const char* kFeatureSentence = "Invalid feature specification";
constexpr const char* kNodeCountSentence = "Node count specification invalid";
constexpr const char* kCpuCountSentence = "CPU count specification invalid";
constexpr const char* kTooManyCpusSentence = "More processors requested than permitted";
constexpr const char* kMemorySentence = "Memory required by task is not available";
constexpr const char* kAlreadyDoneSentence = "Job/step already completing or completed";
constexpr const char* kFinishedSentence = "Job has already finished";
constexpr const char* kDeniedSentence = "Access/permission denied";
constexpr const char* kNotPendingSentence = "Job is no longer pending execution";
constexpr const char* kImmediateSentence = "Immediate execution impossible, insufficient priority";
constexpr const char* kNoContactSentence = "Unable to contact slurm controller (connect failure)";

}  // namespace gw::model
