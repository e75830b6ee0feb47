// Learning rate as a function of the step.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapir::optim {

// All warm up linearly from 0: step t < warmup has rate t / warmup * lr_max. After that
//   constant             lr_max
//   linear               a straight line from lr_max at step `warmup` to lr_min at step `cycle`
//   cosine               half a cosine between the same points (Loshchilov and Hutter 2017)
//   warmup_stable_decay  lr_max, and a straight line to lr_min over the last `decay` steps before
//                        `cycle` (Hu et al. 2024, "MiniCPM")
// and, except for constant, lr_min from step `cycle` on.
enum class ScheduleKind : uint8_t { constant, linear, cosine, warmup_stable_decay };

// "constant", "linear", "cosine", "wsd".
std::string_view name_of(ScheduleKind kind);
ScheduleKind parse_schedule_kind(std::string_view name);

struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double lr_max = 1e-3;
  double lr_min = 0.0;
  int64_t warmup = 0;
  int64_t cycle = 0;  // total steps; not used by constant
  int64_t decay = 0;  // of warmup_stable_decay

  // The rate of step t, counted from 0.
  double at(int64_t step) const;
  // An Error that names the first field with an impossible value.
  void validate() const;
};

}  // namespace tapir::optim
