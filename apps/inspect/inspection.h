// What one forward and backward pass did, node by node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/dtype.h"
#include "backends/shape.h"

namespace tapir::app {

// How the values of a tensor are spread.
struct ValueStats {
  int64_t count = 0;
  int64_t nonfinite = 0;
  double low = 0, high = 0, mean = 0, deviation = 0;  // of the finite ones
  std::vector<int64_t> histogram;                     // equal bins from low to high
};

// A tensor that the gradient function of a node holds.
struct SavedTensor {
  std::string what;  // "input 0", "output", "kept beside the output"
  std::string why;   // what the backward pass needs it for
  Shape shape;
  DType dtype = DType::f32;
  int64_t bytes = 0;     // of its storage, which views share
  int64_t storage = 0;   // which of the pass's storages, numbered from 0
  bool lasting = false;  // was there before the pass: a parameter, an input, a table
};

struct NodeInput {
  int64_t node = -1;      // whose output it is; -1: a leaf
  std::string parameter;  // its name, if it is a named leaf
  Shape shape;
};

struct NodeRecord {
  std::string op, layer;
  std::vector<NodeInput> inputs;
  Shape output_shape;
  DType dtype = DType::f32;
  bool view = false;  // the output shares the storage of an input
  std::vector<SavedTensor> saved;
  double forward_seconds = 0, backward_seconds = 0;
  double forward_flops = 0, backward_flops = 0;  // see backends/observed_backend.h
  bool had_gradient = false;                     // the backward pass came by
  double gradient_norm = 0;                      // of the output's gradient
  ValueStats output, gradient;                   // empty unless asked for

  // Bytes that only the tape keeps alive: each storage once, what was there before not.
  int64_t saved_bytes() const;
};

// Memory of the device after a step of the pass, and the most during the step.
struct MemoryPoint {
  int64_t node = 0;
  bool backward = false;
  int64_t bytes = 0, peak = 0;
};

struct ParameterRecord {
  std::string name;
  Shape shape;
  double gradient_norm = 0;
  ValueStats values, gradient;  // empty unless asked for
};

// The attention probabilities of the first sequence, for its first tokens.
struct AttentionMap {
  std::string layer;
  int64_t heads = 0, tokens = 0;
  // For each head the rows of the lower triangle, 1 + 2 + ... + tokens values, 255 for 1.
  std::vector<uint8_t> probabilities;
};

struct Inspection {
  std::vector<NodeRecord> nodes;
  std::vector<MemoryPoint> memory;  // forward steps, then backward ones
  std::vector<ParameterRecord> parameters;
  std::vector<AttentionMap> attention;
  int64_t bytes_before = 0;       // in use before the pass: parameters and what else there is
  double unobserved_seconds = 0;  // of the same pass without anybody watching
  std::optional<double> loss;     // when the output is a single number

  // Of all nodes, each storage once.
  int64_t saved_bytes() const;
  int64_t peak_bytes() const;
  double forward_seconds() const;
  double backward_seconds() const;
  double flops() const;
};

}  // namespace tapir::app
