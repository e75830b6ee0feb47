#include "optim/schedule.h"

#include <cmath>
#include <numbers>

#include "backends/enum_names.h"

namespace tapir::optim {
namespace {

constexpr EnumNames<ScheduleKind, 4> kScheduleKinds{{{ScheduleKind::constant, "constant"},
                                                     {ScheduleKind::linear, "linear"},
                                                     {ScheduleKind::cosine, "cosine"},
                                                     {ScheduleKind::warmup_stable_decay, "wsd"}}};

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  return name_in(kScheduleKinds, kind);
}
ScheduleKind parse_schedule_kind(std::string_view name) {
  return parse_name(kScheduleKinds, "schedule", name);
}

double Schedule::at(int64_t step) const {
  if (step < warmup) return static_cast<double>(step) / static_cast<double>(warmup) * lr_max;
  if (kind == ScheduleKind::constant) return lr_max;
  if (step >= cycle) return lr_min;
  const int64_t start = kind == ScheduleKind::warmup_stable_decay ? cycle - decay : warmup;
  if (step <= start) return lr_max;
  // How far along the way down, in (0, 1).
  const double progress = static_cast<double>(step - start) / static_cast<double>(cycle - start);
  const double height = kind == ScheduleKind::cosine
                            ? 0.5 * (1.0 + std::cos(std::numbers::pi * progress))
                            : 1.0 - progress;
  return lr_min + height * (lr_max - lr_min);
}

void Schedule::validate() const {
  constexpr std::string_view kOp = "schedule";
  require(std::isfinite(lr_max) && lr_max >= 0, kOp, "lr_max is {}, must be finite and at least 0",
          lr_max);
  require(warmup >= 0, kOp, "warmup is {}, must be at least 0", warmup);
  if (kind == ScheduleKind::constant) return;
  require(lr_min >= 0 && lr_min <= lr_max, kOp, "lr_min is {}, must be in [0, lr_max = {}]", lr_min,
          lr_max);
  require(cycle >= warmup, kOp, "cycle is {}, must be at least warmup = {}", cycle, warmup);
  if (kind != ScheduleKind::warmup_stable_decay) return;
  require(decay >= 0 && decay <= cycle - warmup, kOp,
          "decay is {}, must be in [0, cycle - warmup = {}]", decay, cycle - warmup);
}

}  // namespace tapir::optim
