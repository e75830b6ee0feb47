// Module: the base of every layer. A layer lists its fields once, in visit(); names, state dict,
// parameter lists, conversion and counts all come from that one list.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "autograd/state_dict.h"
#include "autograd/tensor.h"
#include "backends/scope.h"

namespace tapir::nn {

class Module;

// Receives the fields of one module.
class Visitor {
 public:
  virtual ~Visitor() = default;

  virtual void parameter(std::string_view name, Tensor& tensor) = 0;
  // A tensor that follows from the configuration, so that no state dict holds it.
  virtual void buffer(std::string_view name, Tensor& tensor) = 0;
  virtual void child(std::string_view name, Module& module) = 0;

  // A layer that may be absent, one of several kinds, or a list numbered from 0.
  template <typename Layer>
  void child(std::string_view name, std::optional<Layer>& layer) {
    if (layer) child(name, *layer);
  }
  template <typename... Layers>
  void child(std::string_view name, std::variant<Layers...>& layer) {
    std::visit([&](auto& kind) { child(name, kind); }, layer);
  }
  template <typename Layer>
  void children(std::string_view name, std::vector<Layer>& layers) {
    for (size_t i = 0; i < layers.size(); ++i) child(fmt::format("{}.{}", name, i), layers[i]);
  }
};

// A module moves but does not copy: a copy would share its tensors and look independent. There is
// no training mode; a layer that needs randomness is given a Generator.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Lists every parameter, buffer and child. A parameter without a value (an absent bias) is
  // skipped by all that follows.
  virtual void visit(Visitor& visitor) = 0;

  // Parameters in the order of visit(), named by their path ("layers.0.attn.q_proj.weight"). One
  // that is reachable by two names (tied weights) appears once, under the first.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<Tensor> parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  int64_t parameter_count() const;

  // The parameters by name, sharing storage with the module.
  StateDict state_dict() const;
  // Copies values in, converting dtype and device. Missing, unexpected and mis-shaped keys are one
  // Error that lists them all, before anything is written. A second name of a tied parameter may
  // be present if its values are the same.
  void load_state_dict(const StateDict& state);

  // Replaces the parameters by converted ones and makes the buffers anew. Optimizers keep the
  // tensors that they were given, so convert first.
  void to(DType dtype);
  void to(Device device);

  // Tells every layer its path, for errors and the tape. The outermost module calls this at the
  // end of its constructor.
  void name_layers(const std::string& path = "");
  // This layer's path; empty for the outermost module and for a layer on its own.
  std::string_view layer_path() const { return path_ ? std::string_view(*path_) : ""; }

  // Computes the buffers for parameters of that dtype on that device.
  virtual void make_buffers(DType, Device) {}

 protected:
  // Every layer's operator() starts with `const Scope scope = enter();`.
  [[nodiscard]] Scope enter() const { return Scope(path_ ? path_ : Scope::shared_path()); }

 private:
  template <typename Convert>
  void convert(Convert&& to_target);

  Scope::Path path_;
};

// Calls a layer whose kind was chosen at run time.
template <typename... Layers>
Tensor forward(const std::variant<Layers...>& layer, const Tensor& x) {
  return std::visit([&](const auto& kind) { return kind(x); }, layer);
}

}  // namespace tapir::nn
