// Runs every piece of C++ that README.md and docs/ show, and compares what it prints with the page.
#include "tests/docs/snippets.h"

#include <gtest/gtest.h>

namespace {

TEST(DocsTest, SnippetsPrintWhatThePagesSay) {
  ASSERT_GT(kSnippets.size(), 10U);
  for (const Snippet& snippet : kSnippets) {
    SCOPED_TRACE(snippet.place);
    testing::internal::CaptureStdout();
    EXPECT_NO_THROW(snippet.run());
    fflush(stdout);
    const std::string printed = testing::internal::GetCapturedStdout();
    if (snippet.expected[0] != '\0') {
      EXPECT_EQ(printed, snippet.expected);
    }
  }
}

}  // namespace
