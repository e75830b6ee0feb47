// What `tapir gradcheck` can check: every operation, layer, block and model, by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/config/run_config.h"
#include "autograd/gradcheck.h"

namespace tapir::app {

// Sizes and options of the checked layers; operations have their own cases.
struct GradcheckSetup {
  ModelConfig model;
  int64_t vocab = 11;
  int64_t batch = 2;
  int64_t time = 5;
  DType dtype = DType::f64;
  Device device = kCpu;
  GradcheckOptions options;
};

// One function and the tensors whose gradients are checked.
struct GradcheckCase {
  std::string about;  // sizes and options
  std::function<Tensor()> function;
  std::vector<NamedTensor> tensors;
};

struct GradcheckTarget {
  std::string
      name;  // of an operation as in ops.h ("rms_norm"), of a layer as its class ("RMSNorm")
  std::string kind;  // "operation", "layer", "block" or "model"
  std::string about;
  // Makes the cases, one at a time so that only one is in memory: calls `check` with each.
  std::function<void(const GradcheckSetup&, const std::function<void(const GradcheckCase&)>& check)>
      run;
};

// All of them: operations in the order of their table, then layers from small to large.
std::vector<GradcheckTarget> gradcheck_targets();

// The two halves of the list.
void add_operation_targets(std::vector<GradcheckTarget>& targets);
void add_layer_targets(std::vector<GradcheckTarget>& targets);

}  // namespace tapir::app
