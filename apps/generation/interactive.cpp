#include "apps/generation/interactive.h"

#include <iostream>

#include <unistd.h>

#include "apps/cli/output.h"
#include "apps/cli/setting.h"
#include "apps/cli/suggest.h"
#include "apps/generation/writer_settings.h"
#include "apps/signals.h"

namespace tapir::app {
namespace {

constexpr std::string_view kHelp =
    "Type a text to continue. /NAME VALUE sets an option, /NAME shows it, /quit ends.\n";

class Conversation {
 public:
  Conversation(const LoadedModel& model, WriterOptions& options)
      : model_(model), options_(options), settings_(writer_settings(options)) {}

  void run() {
    write_message(kHelp);
    for (std::string line; read_line(line) && line != "/quit";) {
      try {
        if (line.starts_with('/')) {
          command(line.substr(1));
        } else {
          answer(line);
        }
      } catch (const Error& error) {
        print_message("{}\n", error.what());
      }
    }
  }

 private:
  static bool read_line(std::string& line) {
    if (isatty(STDIN_FILENO) == 1) write_message("> ");
    return static_cast<bool>(std::getline(std::cin, line));
  }

  void command(const std::string& text) {
    const size_t space = text.find(' ');
    const std::string name = text.substr(0, space);
    if (name == "help") return help();
    const Setting* setting = find_setting(settings_, name);
    require(setting != nullptr, "/" + name, "there is no such option{}; /help lists them",
            did_you_mean(name, names_of(settings_)));
    if (space != std::string::npos) {
      std::vector<std::string> values = {text.substr(space + 1)};
      if (values[0].empty() && is_list(*setting)) values.clear();  // how a list becomes empty
      set(*setting, values);
    }
    print_message("{} = {}\n", name, fmt::join(values_of(*setting), " "));
  }

  // Keeps the value that was there when the new one is of no use.
  void set(const Setting& setting, const std::vector<std::string>& values) {
    const WriterOptions before = options_;
    try {
      assign(setting, values, "/" + setting.name);
    } catch (const Error&) {
      options_ = before;
      throw;
    }
  }

  void help() {
    write_message(kHelp);
    for (const Setting& setting : settings_) {
      print_message("  /{:<20} {} [{}]\n", setting.name, setting.help,
                    fmt::join(values_of(setting), " "));
    }
  }

  void answer(const std::string& prompt) {
    const StopSignals signals;
    write_output(harmless(prompt));
    write_samples(model_, prompt, options_,
                  {.text = [](int64_t, std::string_view text) { write_output(harmless(text)); },
                   .stop = StopSignals::stop_requested});
    write_output("\n");
    ++options_.seed;  // so that repeating differs
  }

  const LoadedModel& model_;
  WriterOptions& options_;
  std::vector<Setting> settings_;
};

}  // namespace

void run_interactive(const LoadedModel& model, WriterOptions options) {
  options.samples = 1;
  Conversation(model, options).run();
}

}  // namespace tapir::app
