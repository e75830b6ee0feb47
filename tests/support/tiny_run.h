// Runs of the program that take a fraction of a second.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/support/process.h"

namespace tapir::testing {

// English enough to learn something from, about 4 KB.
inline std::string small_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "The cat number " + std::to_string(i) + " sat on the mat and saw the other cats.\n";
  }
  return text;
}

// `tapir train` with a tiny model and these arguments more.
inline std::vector<std::string> tiny_train(const std::string& data, const std::string& out,
                                           const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "train", "--data",       data, "--out",          out,  "--layers",       "1", "--heads",
      "2",     "--d-model",    "16", "--context",      "16", "--batch",        "4", "--steps",
      "12",    "--eval-every", "6",  "--eval-batches", "2",  "--sample-every", "0", "--threads",
      "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// A run that exists, for tests that only read it.
class TinyRun {
 public:
  TinyRun() : data(folder_.write("text.txt", small_text())), run(folder_ / "run") {
    const ProcessResult result = run_tapir(tiny_train(data, run));
    EXPECT_EQ(result.status, 0) << result.err;
    output = result.out;
  }

  std::string operator/(const std::string& name) const { return folder_ / name; }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;

 public:
  std::string data, run;
  std::string output;
};

inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

inline void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
  }
}

// The program must fail with that status and say all of this on standard error.
inline void expect_failure(const ProcessResult& result, int status,
                           const std::vector<std::string>& parts) {
  EXPECT_EQ(result.status, status) << result.out << result.err;
  EXPECT_EQ(result.err.rfind("tapir", 0), 0u) << result.err;
  expect_contains(result.err, parts);
}

}  // namespace tapir::testing
