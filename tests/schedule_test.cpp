// Learning-rate schedules against tests/golden/schedules.py, and their edges.
#include "optim/schedule.h"

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

namespace tapir::optim {
namespace {

using tapir::testing::expect_error;

TEST(Schedule, MatchesGoldenValues) {
  for (const auto& golden : tapir::testing::golden_cases("optim", "schedule")) {
    const auto& options = golden.options;
    Schedule schedule;
    const std::string kind = options["schedule"];
    schedule.kind = parse_schedule_kind(kind == "warmup_stable_decay" ? "wsd" : kind);
    schedule.lr_max = options["lr_max"];
    schedule.lr_min = options.value("lr_min", 0.0);
    schedule.warmup = options.value("warmup_steps", 0);
    schedule.cycle = options.value("cycle_steps", 0);
    schedule.decay = schedule.cycle - options.value("decay_start", 0);
    schedule.validate();
    const std::vector<int32_t> steps = golden.get("in.step", DType::f64).to_ints();
    const std::vector<double> expected = golden.get("out", DType::f64).to_vector();
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_NEAR(schedule.at(steps[i]), expected[i], 1e-15 + 1e-12 * expected[i])
          << golden.name << " at step " << steps[i];
    }
  }
}

TEST(Schedule, WarmsUpFromZeroAndEndsAtTheMinimum) {
  for (const auto kind :
       {ScheduleKind::linear, ScheduleKind::cosine, ScheduleKind::warmup_stable_decay}) {
    const Schedule schedule{kind, 1.0, 0.1, 4, 20, 6};
    EXPECT_EQ(schedule.at(0), 0.0) << name_of(kind);
    EXPECT_EQ(schedule.at(1), 0.25) << name_of(kind);
    EXPECT_EQ(schedule.at(4), 1.0) << name_of(kind);
    EXPECT_EQ(schedule.at(20), 0.1) << name_of(kind);
    EXPECT_EQ(schedule.at(1000000), 0.1) << name_of(kind);
    for (int64_t step = 5; step <= 20; ++step) {
      EXPECT_LE(schedule.at(step), schedule.at(step - 1)) << name_of(kind) << " rises at " << step;
    }
  }
}

TEST(Schedule, NamesReadBack) {
  for (const auto kind : {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine,
                          ScheduleKind::warmup_stable_decay}) {
    EXPECT_EQ(parse_schedule_kind(name_of(kind)), kind);
  }
  expect_error([] { parse_schedule_kind("step"); },
               {"schedule: there is no 'step'", "constant, linear, cosine, wsd"});
}

TEST(Schedule, ImpossibleValuesAreErrors) {
  const Schedule good{ScheduleKind::warmup_stable_decay, 1.0, 0.1, 4, 20, 6};
  good.validate();
  const auto bad = [&](auto change, const std::string& message) {
    Schedule schedule = good;
    change(schedule);
    expect_error([&] { schedule.validate(); }, {"schedule: " + message});
  };
  bad([](Schedule& s) { s.lr_max = -1; }, "lr_max is -1");
  bad([](Schedule& s) { s.lr_max = NAN; }, "lr_max is nan");
  bad([](Schedule& s) { s.lr_min = 2; }, "lr_min is 2, must be in [0, lr_max = 1]");
  bad([](Schedule& s) { s.warmup = -1; }, "warmup is -1");
  bad([](Schedule& s) { s.cycle = 3; }, "cycle is 3, must be at least warmup = 4");
  bad([](Schedule& s) { s.decay = 17; }, "decay is 17, must be in [0, cycle - warmup = 16]");
}

}  // namespace
}  // namespace tapir::optim
