// state.json of a checkpoint.
#include <fstream>

#include "apps/training/checkpoint.h"
#include "tests/fuzz/fuzz.h"

using namespace tapir;

namespace {

// A folder of this process, removed at its end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tapir-fuzz-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  std::ofstream(folder.path() / "state.json", std::ios::binary) << testing::as_text(data, size);
  return testing::expect_at_most_an_error([&] {
    const app::CheckpointInfo info = app::read_checkpoint_info(folder.path());
    for (const app::FileRecord& file : info.files) {
      testing::must(file.name.find('/') == std::string::npos);
    }
    app::verify_checkpoint(folder.path());
  });
}
