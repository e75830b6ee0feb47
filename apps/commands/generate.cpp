#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/commands/command.h"
#include "apps/data/dataset.h"
#include "apps/generation/interactive.h"
#include "apps/generation/overlap.h"
#include "apps/generation/prompt.h"
#include "apps/generation/writer_settings.h"
#include "apps/interchange/open_model.h"
#include "apps/profile/profiler.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/utf8_stream.h"

namespace tapir::app {
namespace {

constexpr const char* kGenerateExamples = R"(Examples:
  tapir generate runs/book --prompt "Once upon a time"
  tapir generate runs/book --tokens 500 --temperature 0.8 --top-p 0.95 --seed 7
  tapir generate runs/book --prompt "Q:" --samples 4 --stop "Q:" --stop "###"
  echo "It was" | tapir generate runs/book --prompt-file -
  tapir generate runs/book --prompt "A" --logprobs --tokens 3
  tapir generate runs/book --interactive

The text goes to standard output, everything else to standard error.)";

struct GenerateCommand {
  std::string run;
  std::string checkpoint;
  std::string prompt;
  std::string prompt_file;
  WriterOptions options;
  bool no_echo = false;
  bool logprobs = false;
  bool show_tokens = false;
  bool interactive = false;
  bool overlap = false;
  InferenceSettings inference;
  std::string profile;
};

std::vector<Setting> settings(GenerateCommand& c) {
  std::vector<Setting> list = {
      {"prompt", "prompt", &c.prompt, "Text to continue"},
      {"prompt", "prompt-file", &c.prompt_file,
       "Take the text to continue from this file; - is standard input"},
      {"prompt", "no-echo", &c.no_echo, "Leave the prompt out of the output"},
      {"prompt", "interactive", &c.interactive, "Ask for prompts, with the model kept loaded"},
  };
  for (Setting& setting : writer_settings(c.options)) list.push_back(std::move(setting));
  const std::vector<Setting> more = {
      {"generation", "samples", &c.options.samples, "Texts to generate at once", 1, 4096},
      {"output", "logprobs", &c.logprobs,
       "Write JSON lines instead of text: each token with its probability and the likeliest ones"},
      {"output", "show-tokens", &c.show_tokens, "Show the prompt's tokens on standard error"},
      {"output", "overlap", &c.overlap,
       "Show the longest passage that also stands in the training text"},
      {"run", "checkpoint", &c.checkpoint, "best, last or a step; by default best, else last"},
      {"run", "weights", &c.inference.weights,
       "f32, bf16 or int8: fewer bytes make each token faster and less exact"},
      {"run", "device", &c.inference.device, "auto, cpu or cuda"},
      matmul_precision_setting("run", c.inference.matmul_precision),
      {"run", "threads", &c.inference.threads, "CPU threads; 0: as many as physical cores", 0, 256},
      {"run", "profile", &c.profile,
       "Write a trace of where the time goes to this file, for ui.perfetto.dev"},
  };
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

std::string read_prompt(const GenerateCommand& command) {
  if (command.prompt_file.empty()) return command.prompt;
  require(command.prompt.empty(), "generate", "give --prompt or --prompt-file, not both");
  if (command.prompt_file != "-") return read_file(command.prompt_file);
  std::istreambuf_iterator<char> begin(std::cin), end;
  return {begin, end};
}

// Bytes as text that is valid UTF-8.
std::string displayed(std::string_view bytes) {
  Utf8Stream utf8;
  std::string text = utf8.push(bytes);
  return text + utf8.finish();
}

void note_about_prompt(const LoadedModel& model, const std::string& prompt,
                       const std::vector<int32_t>& ids) {
  if (displayed(prompt) != prompt) {
    write_message(
        "tapir: note: the prompt is not valid UTF-8; the model gets its bytes as they "
        "are, and they are shown as U+FFFD\n");
  }
  const auto length = static_cast<int64_t>(ids.size());
  const int64_t context = model.model->config().max_seq_len;
  if (length > context) {
    print_message("tapir: note: the prompt has {} tokens; the model sees only the last {}\n",
                  length, context);
  }
}

void show_tokens(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) {
    print_message("{:>7}  {}\n", id, nlohmann::json(displayed(tokenizer.token_bytes(id))).dump());
  }
}

nlohmann::ordered_json token_json(const Tokenizer& tokenizer, int32_t id, double probability) {
  const std::string bytes = tokenizer.token_bytes(id);
  return {{"id", id},
          {"text", displayed(bytes)},
          {"bytes", std::vector<unsigned char>(bytes.begin(), bytes.end())},
          {"probability", probability},
          {"logprob", std::log(probability)}};
}

void write_token(const Tokenizer& tokenizer, const TokenReport& report) {
  nlohmann::ordered_json line = {{"sample", report.sample}, {"index", report.index}};
  line.update(token_json(tokenizer, report.id, report.probability));
  line["top"] = nlohmann::ordered_json::array();
  for (const TokenReport::Alternative& other : report.likeliest) {
    line["top"].push_back(token_json(tokenizer, other.id, other.probability));
  }
  write_output(line.dump() + "\n");
}

void print_stats(const WriterStats& stats) {
  const auto rate = [](int64_t tokens, double seconds) {
    return tokens > 0 && seconds > 0 ? format_count(static_cast<double>(tokens) / seconds)
                                     : "unknown";
  };
  print_message("prompt: {} tokens, {} tokens/s; generated: {} tokens, {} tokens/s\n",
                stats.prompt_tokens, rate(stats.prompt_tokens, stats.prompt_seconds),
                stats.new_tokens, rate(stats.new_tokens - 1, stats.seconds));
}

// How long a passage of the generated text was seen in training.
void print_overlap(const LoadedModel& model, const std::string& text) {
  OverlapFinder finder(text);
  int64_t bytes = 0;
  read_training_text(
      model.info.config.data, *model.tokenizer,
      [&](std::string_view portion) {
        finder.search(portion);
        bytes += static_cast<int64_t>(portion.size());
      },
      [&] { finder.end_text(); });
  print_message("longest passage that is also in the {} of training text: {} of {} bytes, {}\n",
                format_bytes(static_cast<double>(bytes)), finder.longest().size(), text.size(),
                nlohmann::json(displayed(finder.longest())).dump());
}

// A terminal is not to be driven by what a model writes; a file gets all of it.
std::string for_output(std::string_view text) {
  return output_is_terminal() ? harmless(text) : std::string(text);
}

// One sample is shown as it comes; several one after the other when all are done.
WriterStats write_texts(const LoadedModel& model, const std::string& prompt,
                        const GenerateCommand& command) {
  const std::string echo = command.no_echo ? "" : displayed(prompt);
  const bool streaming = command.options.samples == 1;
  std::string generated;
  std::vector<std::string> texts(static_cast<size_t>(command.options.samples), echo);
  if (streaming) write_output(for_output(echo));
  const WriterStats stats = write_samples(model, prompt, command.options,
                                          {.text = [&](int64_t sample, std::string_view text) {
                                            generated += text;
                                            if (streaming) {
                                              write_output(for_output(text));
                                            } else {
                                              texts[static_cast<size_t>(sample)] += text;
                                            }
                                          }});
  if (streaming) {
    write_output("\n");
  } else {
    for (size_t i = 0; i < texts.size(); ++i) {
      print_output("{}{}\n", i == 0 ? "" : "----------------\n", for_output(texts[i]));
    }
  }
  if (command.overlap) print_overlap(model, generated);
  return stats;
}

// Flags of which one would have no effect.
void refuse_contradictions(const GenerateCommand& c) {
  struct Given {
    const char* flag;
    bool given;
  };
  const auto alone = [](Given first, std::initializer_list<Given> others) {
    for (const Given& other : others) {
      require(!first.given || !other.given, "generate", "{} does not go with {}", other.flag,
              first.flag);
    }
  };
  const Given overlap{"--overlap", c.overlap}, logprobs{"--logprobs", c.logprobs};
  alone({"--interactive", c.interactive}, {{"--prompt", !c.prompt.empty()},
                                           {"--prompt-file", !c.prompt_file.empty()},
                                           {"--samples", c.options.samples > 1},
                                           {"--show-tokens", c.show_tokens},
                                           overlap,
                                           logprobs});
  alone(logprobs, {overlap});
}

int generate(GenerateCommand& command) {
  refuse_contradictions(command);
  const std::string prompt = read_prompt(command);
  command.options.sampling.validate();
  const LoadedModel model = open_model(command.run, command.checkpoint, command.inference);
  if (command.interactive) {
    run_interactive(model, command.options);
    return 0;
  }
  const std::vector<int32_t> ids =
      encode_prompt(*model.tokenizer, model.info.documents, prompt, command.options.special());
  note_about_prompt(model, prompt, ids);
  if (command.show_tokens) show_tokens(*model.tokenizer, ids);
  Profiling profiling(command.profile, model.model->token_embeddings.weight.device());
  if (command.logprobs) {
    const auto write = [&](const TokenReport& report) { write_token(*model.tokenizer, report); };
    print_stats(write_samples(model, prompt, command.options,
                              {.text = [](int64_t, std::string_view) {}, .token = write}));
  } else {
    print_stats(write_texts(model, prompt, command));
  }
  profiling.finish();
  return 0;
}

}  // namespace

void add_generate_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = program.add_subcommand("generate", "Write text with a trained model");
  command->add_option("run", options->run, "Folder of a run, or of one checkpoint")->required();
  set_action(*command, options, settings(*options), kGenerateExamples, generate, chosen);
}

}  // namespace tapir::app
