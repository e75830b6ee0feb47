// What `tapir inspect` looks at: a layer, block or operation by name, a preset, or a trained model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/config/run_config.h"
#include "autograd/gradcheck.h"

namespace tapir::app {

struct SubjectRequest {
  std::string name = "TransformerLM";  // of a gradcheck target, a preset or the folder of a run
  std::string checkpoint;              // of a run
  std::string prompt;                  // what a language model reads
  ModelConfig model;                   // for presets and what is named by its class
  int64_t batch = 1;
  int64_t time = 16;   // tokens of a layer's input
  int64_t vocab = 11;  // of layers with one
  int64_t seed = 0;
  DType dtype = DType::f32;
  Device device = kCpu;
};

struct Subject {
  std::string name, about;
  std::function<Tensor()> forward;
  std::vector<NamedTensor> tensors;  // whose gradients are asked for
  std::vector<std::string> tokens;   // of the first sequence, if it reads text
};

// Builds it and calls `use`, during which it exists. A name that is nothing of the kind is an
// Error that suggests a near one.
void with_subject(const SubjectRequest& request, const std::function<void(const Subject&)>& use);

}  // namespace tapir::app
