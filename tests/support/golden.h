// Reads the golden values of tests/golden (see its README) and compares tensors with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "autograd/serialize.h"

namespace tapir::testing {

// One case of a golden file. Tensors are handed out as fresh leaves, floating ones in the dtype
// under test.
struct GoldenCase {
  std::string name;
  std::string layer;
  nlohmann::json options;
  bool f64_only = false;
  std::shared_ptr<const StateDict> tensors;  // of the whole file

  bool has(const std::string& key) const { return tensors->count(name + "/" + key) > 0; }
  // A fresh leaf.
  Tensor get(const std::string& key, DType dtype) const {
    NoGrad pause;
    const Tensor copy = clone(tensors->at(name + "/" + key));
    return is_floating(copy.dtype()) ? to(copy, dtype) : copy;
  }
  // The tensors whose name starts with `prefix`, without it: "param." gives a state dict.
  StateDict under(const std::string& prefix, DType dtype) const {
    StateDict found;
    const std::string start = name + "/" + prefix;
    for (const auto& entry : *tensors) {
      if (!entry.first.starts_with(start)) continue;
      found[entry.first.substr(start.size())] = get(entry.first.substr(name.size() + 1), dtype);
    }
    return found;
  }
};

// All cases of tests/golden/<group>.safetensors, or those of one layer.
inline std::vector<GoldenCase> golden_cases(const std::string& group,
                                            const std::string& layer = "") {
  const SafetensorsFile file =
      load_safetensors(std::string(TAPIR_TEST_DIR) + "/golden/" + group + ".safetensors");
  const auto tensors = std::make_shared<const StateDict>(file.tensors);
  const nlohmann::json listed = nlohmann::json::parse(file.metadata.at("cases"));
  std::vector<GoldenCase> cases;
  for (const auto& entry : listed.items()) {
    const nlohmann::json& value = entry.value();
    if (!layer.empty() && value["layer"] != layer) continue;
    cases.push_back(
        {entry.key(), value["layer"], value["options"], value.contains("f64_only"), tensors});
  }
  return cases;
}

// How far results may be from values computed in f64: rounding of a few dozen operations.
inline double golden_tolerance(DType dtype) {
  return dtype == DType::f64 ? 1e-10 : 1e-5;
}

// The largest difference, relative to the largest expected value. Infinite values must agree.
inline double relative_error(const Tensor& actual, const Tensor& expected) {
  const std::vector<double> a = actual.to_vector(), e = expected.to_vector();
  double scale = 1e-300, worst = 0.0;
  for (const double value : e)
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  for (size_t i = 0; i < e.size(); ++i) {
    if (a[i] == e[i]) continue;
    const double error = std::fabs(a[i] - e[i]) / scale;
    if (!(error <= worst)) worst = std::isfinite(error) ? error : INFINITY;
  }
  return worst;
}

inline void expect_close(const Tensor& actual, const Tensor& expected, double tolerance,
                         const std::string& what) {
  ASSERT_TRUE(actual.defined()) << what << " has no value";
  ASSERT_EQ(actual.shape().to_string(), expected.shape().to_string()) << what;
  EXPECT_LE(relative_error(actual, expected), tolerance)
      << what << "\n  actual   " << actual.to_string() << "\n  expected " << expected.to_string();
}

// Test parameters: every case in f64, and in f32 where that makes sense.
struct GoldenParam {
  GoldenCase golden;
  DType dtype;
};

inline std::vector<GoldenParam> in_f64_and_f32(const std::vector<GoldenCase>& cases) {
  std::vector<GoldenParam> params;
  for (const GoldenCase& golden : cases) {
    params.push_back({golden, DType::f64});
    if (!golden.f64_only) params.push_back({golden, DType::f32});
  }
  return params;
}

inline std::string golden_param_name(const ::testing::TestParamInfo<GoldenParam>& info) {
  return fmt::format("{}_{}", info.param.golden.name, info.param.dtype);
}

inline void PrintTo(const GoldenParam& param, std::ostream* out) {
  *out << param.golden.name;
}

}  // namespace tapir::testing
