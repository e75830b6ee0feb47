// Settings in TOML: a configuration that was read can be written and read again.
#include "apps/config/config_file.h"
#include "apps/config/run_config.h"
#include "tests/fuzz/fuzz.h"

using namespace tapir;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return testing::expect_at_most_an_error([&] {
    const testing::MemoryFile file(testing::as_text(data, size));
    app::RunConfig config;
    app::read_config_file(file.path(), app::settings(config));
    const std::string text = app::config_text(app::settings(config));
    app::RunConfig again;
    app::read_config_file(testing::MemoryFile(text).path(), app::settings(again));
    testing::must(app::config_text(app::settings(again)) == text);
    config.validate();
  });
}
