// Checks that a user's mistake is an Error with the right message.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/error.h"

namespace tapir::testing {

// `run` must throw Error, and the message must contain every one of `parts`.
template <typename Function>
void expect_error(Function&& run, const std::vector<std::string>& parts) {
  try {
    run();
  } catch (const Error& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "message: " << error.what() << "\n  lacks: " << part;
    }
    return;
  }
  ADD_FAILURE() << "no Error, expected one with: " << (parts.empty() ? "" : parts.front());
}

}  // namespace tapir::testing
