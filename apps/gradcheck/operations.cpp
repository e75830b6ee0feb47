#include <algorithm>

#include "apps/gradcheck/targets.h"
#include "autograd/op_cases.h"

namespace tapir::app {
namespace {

// Operations without a gradient stand in the table for their values only.
bool has_gradient(const GradcheckCase& one) {
  Tape tape;
  return !one.tensors.empty() && one.function().requires_grad();
}

void run_cases(const std::string& op, const GradcheckSetup& setup,
               const std::function<void(const GradcheckCase&)>& check) {
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op != op) continue;
    const std::vector<Tensor> inputs =
        make_inputs(op_case, setup.options.seed, setup.dtype, setup.device);
    GradcheckCase result{op_case.variant, [&] { return op_case.run(inputs); }, {}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].requires_grad()) {
        result.tensors.push_back({fmt::format("input {}", i), inputs[i]});
      }
    }
    if (has_gradient(result)) check(result);
  }
}

}  // namespace

void add_operation_targets(std::vector<GradcheckTarget>& targets) {
  for (const OpCase& op_case : op_cases()) {
    const std::string& op = op_case.op;
    const bool known = std::any_of(targets.begin(), targets.end(),
                                   [&](const GradcheckTarget& t) { return t.name == op; });
    if (known) continue;
    targets.push_back(
        {op, "operation", "the cases of its table",
         [op](const GradcheckSetup& setup, const auto& check) { run_cases(op, setup, check); }});
  }
}

}  // namespace tapir::app
