// Runs on a file system that has no symbolic links, as FAT and some network shares: the whole
// program in this process, with a symlink() that refuses as theirs does.
#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "apps/files.h"
#include "apps/program.h"
#include "tests/support/tiny_run.h"

namespace {
bool links_are_known = true;
}

// Stands before the C library's.
extern "C" int symlink(const char* target, const char* link) noexcept {
  if (links_are_known) return symlinkat(target, AT_FDCWD, link);
  errno = EPERM;
  return -1;
}

namespace tapir::app {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class WithoutLinks : public ::testing::Test {
 protected:
  WithoutLinks() { links_are_known = false; }
  ~WithoutLinks() override { links_are_known = true; }

  static int run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "tapir");
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    return run_program(static_cast<int>(pointers.size()), pointers.data());
  }

  TemporaryFolder folder_;
  std::string data_ = folder_.write("text.txt", small_text());
  std::string checkpoints_ = folder_ / "run/checkpoints";
};

TEST_F(WithoutLinks, FilesNameTheLastAndTheBestCheckpoint) {
  ASSERT_EQ(run(tiny_train(data_, folder_ / "run", {"--save-every", "2", "--keep", "1"})), 0);
  EXPECT_EQ(read_text(checkpoints_ + "/last"), "step-12\n");
  EXPECT_EQ(link_target(checkpoints_ + "/last"), "step-12");
  const fs::path best = link_target(checkpoints_ + "/best");
  EXPECT_TRUE(fs::exists(checkpoints_ / best / "state.json"));
  // Only those, and as many as --keep says.
  EXPECT_FALSE(fs::exists(checkpoints_ + "/step-2"));
  for (const char* which : {"last", "best"}) {
    EXPECT_EQ(run({"eval", folder_ / "run", "--checkpoint", which, "--batches", "1"}), 0) << which;
  }
  ASSERT_EQ(run({"train", "--resume", folder_ / "run", "--steps", "14"}), 0);
  EXPECT_EQ(read_text(checkpoints_ + "/last"), "step-14\n");
  // Where there are links again, they replace the files.
  links_are_known = true;
  ASSERT_EQ(run({"train", "--resume", folder_ / "run", "--steps", "16"}), 0);
  EXPECT_EQ(fs::read_symlink(checkpoints_ + "/last"), "step-16");
}

TEST_F(WithoutLinks, AFileLeadsNowhereButToACheckpointBesideIt) {
  EXPECT_EQ(link_target(folder_.write("outside", "../../elsewhere\n")), "elsewhere");
  EXPECT_EQ(link_target(folder_.write("empty", "")), "");
  EXPECT_EQ(link_target(folder_.write("line", "step-12\r\n")), "step-12");
  EXPECT_EQ(link_target(folder_.write("no line", "step-12")), "step-12");
  EXPECT_EQ(link_target(folder_.write("long", std::string(1 << 20, 'x'))), "");
  EXPECT_EQ(link_target(folder_ / "missing"), "");
}

}  // namespace
}  // namespace tapir::app
