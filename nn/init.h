// How parameters start.
#pragma once

#include "autograd/generator.h"
#include "autograd/tensor.h"

namespace tapir::nn {

// Normal draws are cut at this many standard deviations.
inline constexpr double kInitCut = 3.0;

// A leaf that requires grad, from values that somebody else computed.
Tensor parameter(Tensor values);

// While one lives, layers made in this thread get weights without values, which cost neither time
// nor memory: for models whose weights adopt_state_dict() supplies at once.
class WithoutValues {
 public:
  WithoutValues();
  ~WithoutValues();
  WithoutValues(const WithoutValues&) = delete;
  WithoutValues& operator=(const WithoutValues&) = delete;

 private:
  bool before_;
};

// weight [out, in]: normal with mean 0 and variance 2 / (in + out) before the cut, so that both
// activations and gradients keep their scale. Source: Glorot and Bengio 2010.
Tensor linear_weight(int64_t in, int64_t out, Generator& generator, DType dtype, Device device);

// weight [V, C]: normal with mean 0 and the given standard deviation before the cut.
Tensor embedding_weight(int64_t vocab_size, int64_t width, double std, Generator& generator,
                        DType dtype, Device device);

}  // namespace tapir::nn
