#include "apps/selftest/selftest.h"

#include <memory>

#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

constexpr const char* kExplanation = R"(Examples:
  tapir selftest --device cpu

Every operation with its gradients in every dtype, every layer, block and model in f64 and f32,
and five training steps of a small model run on the device and on the CPU. The table shows the
largest difference, what rounding in another order may cost, and the time of both. The
exit status is 1 if a difference is larger.)";

int selftest(const std::string& name) {
  const Device device = choose_device(name);
  print_output("{}: {}\n\n{:<32} {:>10} {:>10} {:>9}\n", device, backend(device).description(),
               "check", "error", "allowed", "seconds");
  int64_t failures = 0, checks = 0;
  run_selftest(device, [&](const SelftestResult& result) {
    ++checks;
    if (!result.passed()) ++failures;
    print_output("{:<32} {:>10.2e} {:>10.2e} {:>9.3f}{}\n", result.name, result.error,
                 result.tolerance, result.seconds, result.passed() ? "" : "  FAIL");
  });
  print_output("\n{} of {} checks passed, {} failed\n", checks - failures, checks, failures);
  return failures > 0 ? 1 : 0;
}

}  // namespace

void add_selftest_command(CLI::App& program, Action& chosen) {
  auto device = std::make_shared<std::string>("auto");
  CLI::App* command =
      program.add_subcommand("selftest", "Compare a device with the CPU, operation by operation");
  command->add_option("--device", *device, "auto, cpu or cuda")->capture_default_str();
  command->footer(kExplanation);
  command->callback([device, &chosen] { chosen = [device] { return selftest(*device); }; });
}

}  // namespace tapir::app
